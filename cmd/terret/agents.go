package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/internal/guard"
	"github.com/terret-dev/terret/internal/proc"
)

func newAgents(a *app) *cobra.Command {
	var asJSON, verbose bool
	list := func(cmd *cobra.Command, _ []string) error { return runAgents(cmd.Context(), a, asJSON, false, false) }
	cmd := &cobra.Command{Use: "agents", Short: "List agents, and what is missing to use them", Args: exactArgs(), RunE: list}
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List agents", Args: exactArgs(), RunE: list}
	doctor := &cobra.Command{Use: "doctor", Short: "Say what is installed, signed in, and how to fix what is not", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		return runAgents(cmd.Context(), a, asJSON, true, verbose)
	}}
	for _, c := range []*cobra.Command{cmd, ls, doctor} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	doctor.Flags().BoolVarP(&verbose, "verbose", "v", false, "also say which variables agents do not see")
	cmd.AddCommand(ls, doctor)
	return cmd
}

// probes asks every driver that can be probed.
func (a *app) probes(ctx context.Context) ([]terret.Probe, error) {
	if err := a.prepare(); err != nil {
		return nil, err
	}
	out := a.harness.Agents.Probe(ctx)
	all.Remember(out, a.harness.Drivers, a.data, a.environ)
	return out, nil
}

func runAgents(ctx context.Context, a *app, asJSON, doctor, verbose bool) error {
	probes, err := a.probes(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(terret.Page[terret.Probe]{Items: probes})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tINSTALLED\tVERSION\tTESTED\tSIGNED IN")
	for _, p := range probes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Agent, yes(p.Found), nonEmpty(printable(p.Version), "-"), nonEmpty(string(p.Tested), "-"), nonEmpty(p.Auth, "-"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, p := range probes {
		if p.Fix != "" {
			fmt.Fprintf(a.out, "\n%s: %s\n", p.Agent, printable(p.Fix))
		}
		if doctor {
			fmt.Fprintf(a.out, "\n%s can:\n", p.Agent)
			for _, name := range terret.AllCapabilities() {
				ability := p.Capabilities.Abilities[name]
				switch {
				case ability.OK:
					fmt.Fprintf(a.out, "  yes  %s (by the %s)\n", name, ability.By)
				case ability.Reason != "":
					fmt.Fprintf(a.out, "  no   %s: %s\n", name, ability.Reason)
				default:
					fmt.Fprintf(a.out, "  no   %s\n", name)
				}
			}
		}
	}
	if doctor {
		a.printSafety(verbose)
	}
	return nil
}

// printSafety says what agents are kept from, and what they are not.
func (a *app) printSafety(verbose bool) {
	if guard.Guaranteed() {
		fmt.Fprintln(a.out, "\nall processes of an agent end with it; cgroups are not used, so one that drops its environment and its parents is missed if Terret and the agent's guard are both killed with -9")
	} else {
		fmt.Fprintln(a.out, "\non this system, ending all processes of an agent is best effort: one that detaches itself may be missed")
	}
	if !verbose {
		return
	}
	kept := proc.FilterEnv(a.environ)
	var out []string
	for _, entry := range a.environ {
		if name, _, _ := strings.Cut(entry, "="); !slices.Contains(kept, entry) {
			out = append(out, printable(name))
		}
	}
	slices.Sort(out)
	fmt.Fprintf(a.out, "\nkept out of the environment of agents, unless they need it to sign in or agents.NAME.env lists it: %s\n", nonEmpty(strings.Join(out, ", "), "nothing"))
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func newModels(a *app) *cobra.Command {
	return newListing(a, "models", "List the models of an agent", func(ctx context.Context, d terret.Driver) ([]terret.Model, bool, error) {
		lister, ok := d.(terret.ModelLister)
		if !ok {
			return nil, false, nil
		}
		models, err := lister.Models(ctx)
		return models, true, err
	}, func(m terret.Model) (string, string) { return m.ID, m.Name })
}

func newCommands(a *app) *cobra.Command {
	return newListing(a, "commands", "List an agent's /commands", func(ctx context.Context, d terret.Driver) ([]terret.Command, bool, error) {
		lister, ok := d.(terret.CommandLister)
		if !ok {
			return nil, false, nil
		}
		commands, err := lister.Commands(ctx)
		return commands, true, err
	}, func(c terret.Command) (string, string) { return "/" + c.Name, c.Description })
}

// newListing makes a command that lists something of an agent's.
func newListing[T any](
	a *app, what, short string, list func(context.Context, terret.Driver) ([]T, bool, error), columns func(T) (name, about string),
) *cobra.Command {
	var agent string
	var asJSON bool
	cmd := &cobra.Command{Use: what, Short: short, Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		ctx := cmd.Context()
		if err := a.prepare(); err != nil {
			return err
		}
		if agent == "" {
			agent = all.Choose(ctx, a.harness.Drivers, a.data, a.environ)
		}
		i := slices.IndexFunc(a.harness.Drivers, func(d terret.Driver) bool { return d.Name() == a.harness.Agents.Name(agent) })
		if i < 0 {
			return terret.Errorf(terret.CodeAgentNotFound, "there is no agent %q; `terret agents` lists them", agent)
		}
		items, ok, err := list(ctx, a.harness.Drivers[i])
		switch {
		case err != nil:
			return err
		case !ok:
			return terret.Errorf(terret.CodeUnsupported, "%s does not list its %s", agent, what)
		case asJSON:
			return a.printJSON(terret.Page[T]{Items: items})
		}
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		for _, item := range items {
			name, about := columns(item)
			fmt.Fprintf(w, "%s\t%s\n", printable(name), cut(printable(about), 100))
		}
		return w.Flush()
	}}
	cmd.Flags().StringVar(&agent, "agent", "", "agent to ask (default: the first one installed and signed in)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

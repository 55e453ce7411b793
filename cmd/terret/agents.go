package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
)

func newAgents(a *app) *cobra.Command {
	var asJSON, verbose bool
	list := func(cmd *cobra.Command, _ []string) error { return runAgents(cmd.Context(), a, asJSON) }
	cmd := &cobra.Command{Use: "agents", Short: "List agents, and what is missing to use them", Args: exactArgs(), RunE: list}
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List agents", Args: exactArgs(), RunE: list}
	doctor := &cobra.Command{
		Use: "doctor [AGENT]", Short: "Say what is installed and signed in, what each agent can do, and how to fix what is missing", Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDoctor(cmd.Context(), a, args, asJSON, verbose)
		},
	}
	for _, c := range []*cobra.Command{cmd, ls, doctor} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	doctor.Flags().BoolVarP(&verbose, "verbose", "v", false, "also say all that agents can do, those that are not installed, too, and which variables agents do not see")
	cmd.AddCommand(ls, doctor, newAgentsAdd(a), newAgentsRemove(a))
	return cmd
}

// probes asks every driver that can be probed.
func (a *app) probes(ctx context.Context) ([]terret.Probe, error) {
	if err := a.prepare(); err != nil {
		return nil, err
	}
	defer a.harness.Agents.Close()
	return a.harness.Agents.Ask(ctx), nil
}

func runAgents(ctx context.Context, a *app, asJSON bool) error {
	probes, err := a.probes(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(terret.Page[terret.Probe]{Items: probes})
	}
	if err := a.printAgents(probes); err != nil {
		return err
	}
	a.note("`%s` says what each can and cannot do, and why", a.commandLine("agents", "doctor"))
	return nil
}

func runDoctor(ctx context.Context, a *app, args []string, asJSON, verbose bool) error {
	probes, err := a.probes(ctx)
	if err != nil {
		return err
	}
	if len(args) > 0 {
		name := a.harness.Agents.Name(args[0])
		probes = slices.DeleteFunc(slices.Clone(probes), func(p terret.Probe) bool { return p.Agent != name })
		if len(probes) == 0 {
			return noAgent(args[0])
		}
	}
	if asJSON {
		return a.printJSON(terret.Page[terret.Probe]{Items: probes})
	}
	if err := a.printAgents(probes); err != nil {
		return err
	}
	left := false
	for _, p := range probes {
		if p.Found || verbose || len(args) > 0 {
			a.printAbilities(p, verbose)
		} else {
			left = true
		}
	}
	if left {
		a.note("`%s` says what an agent that is not installed can do", a.commandLine("agents", "doctor", "NAME"))
	}
	a.printSafety(verbose)
	return nil
}

func noAgent(name string) error {
	return terret.Errorf(terret.CodeAgentNotFound, "there is no agent %q; `terret agents` lists them", name)
}

var agentRows = listing[terret.Probe]{head: "AGENT\tINSTALLED\tVERSION\tTESTED\tSIGNED IN\tRULES COVER", row: func(p terret.Probe) string {
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", printable(p.Agent), yes(p.Found), nonEmpty(printable(p.Version), "-"),
		nonEmpty(string(p.Tested), "-"), nonEmpty(p.Auth, "-"), covers[p.Capabilities.Oversight])
}}

// printAgents prints a line for each agent, and what to do about what is missing.
func (a *app) printAgents(probes []terret.Probe) error {
	if err := agentRows.print(a.out, probes); err != nil {
		return err
	}
	for _, p := range probes {
		if p.Fix != "" {
			fmt.Fprintf(a.out, "\n%s: %s\n", printable(p.Agent), printable(p.Fix))
		}
	}
	return nil
}

// covers says how much of what an agent does passes the rules.
var covers = map[terret.Oversight]string{
	terret.OversightAll: "everything", terret.OversightAsked: "what it asks about", terret.OversightNone: "nothing", "": "nothing",
}

// printAbilities prints what an agent cannot do and why, and if all is wanted also what it
// can do.
func (a *app) printAbilities(p terret.Probe, all bool) {
	if all {
		fmt.Fprintf(a.out, "\n%s can:\n", printable(p.Agent))
	} else {
		fmt.Fprintf(a.out, "\n%s can do everything%s\n", printable(p.Agent), except(p))
	}
	for _, name := range terret.AllCapabilities() {
		ability := p.Capabilities.Abilities[name]
		switch {
		case ability.OK && !all:
		case ability.OK && ability.By == terret.ByHarness:
			fmt.Fprintf(a.out, "  yes  %s (by Terret)\n", name)
		case ability.OK:
			fmt.Fprintf(a.out, "  yes  %s\n", name)
		case ability.Reason != "":
			fmt.Fprintf(a.out, "  no   %s: %s\n", name, printable(ability.Reason))
		default:
			fmt.Fprintf(a.out, "  no   %s\n", name)
		}
	}
	fmt.Fprintf(a.out, "  %s\n", seen[p.Capabilities.Oversight])
}

// except says whether an agent lacks something.
func except(p terret.Probe) string {
	for _, name := range terret.AllCapabilities() {
		if !p.Capabilities.Has(name) {
			return " but:"
		}
	}
	return ""
}

// seen explains oversight.
var seen = map[terret.Oversight]string{
	terret.OversightAll:   "Terret sees every tool use before it runs, so rules and policies cover all of them",
	terret.OversightAsked: "Terret sees the tool uses that the agent asks about; rules and policies cover only those",
	terret.OversightNone:  "Terret sees no tool use before it runs: rules and policies have no effect",
	"":                    "Terret sees no tool use before it runs: rules and policies have no effect",
}

func newAgentsAdd(a *app) *cobra.Command {
	var n assemble.NewAgent
	var place string
	var agreed bool
	cmd := &cobra.Command{
		Use: "add NAME -- PROGRAM [ARGUMENT...] | NAME --registry PLACE", Short: "Add a program that speaks the Agent Client Protocol",
		Long: "Add a program that speaks the Agent Client Protocol (ACP) as an agent. It is\n" +
			"written to your configuration file; a running server can use it at once.\n\n" +
			"With --registry, take the agent of that id from a list in the format of the protocol's\n" +
			"registry: a file, or an address. What would run, and from where it comes, is shown first.",
		Example: "  terret agents add mine -- my-agent --acp\n  terret agents add mine --env MY_API_KEY -- /opt/my-agent/bin/agent acp",
		Args: func(cmd *cobra.Command, args []string) error {
			if place != "" {
				return exactArgs("NAME")(cmd, args)
			}
			return minTwoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if access.Inside(a.environ) {
				return access.ErrInside("only a person can add agents")
			}
			if place != "" {
				n.Name, n.ForceFlag = args[0], "--force"
				return runAgentsRegistered(cmd.Context(), a, n, place, agreed)
			}
			n.Name, n.Argv, n.ForceFlag = args[0], args[1:], "--force"
			return runAgentsAdd(cmd.Context(), a, n)
		},
	}
	cmd.Flags().StringArrayVar(&n.Env, "env", nil, "variable it may see although its name looks secret; NAME* matches a prefix (repeatable)")
	cmd.Flags().StringVar(&place, "registry", "", "list of agents: a file or an address, such as https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json")
	cmd.Flags().BoolVar(&agreed, "yes", false, "with --registry: add it without asking")
	cmd.Flags().BoolVar(&n.Force, "force", false, "add it even if there is no such program yet, or it does not speak ACP")
	return cmd
}

func runAgentsAdd(ctx context.Context, a *app, n assemble.NewAgent) error {
	if err := a.prepare(); err != nil {
		return err
	}
	if strings.ContainsRune(n.Argv[0], filepath.Separator) {
		full, err := filepath.Abs(n.Argv[0])
		if err != nil {
			return terret.Invalid("argv", "%w", err)
		}
		n.Argv = append([]string{full}, n.Argv[1:]...)
	}
	p, err := a.harness.Agents.Add(ctx, n)
	if err != nil {
		return err
	}
	if err := a.printAgents([]terret.Probe{p}); err != nil {
		return err
	}
	a.note("added to %s; `%s` uses it", config.UserFile(a.environ), a.commandLine("chat", "--agent", n.Name))
	return nil
}

func newAgentsRemove(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Aliases: []string{"rm"}, Short: "Remove an agent that was added", Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if access.Inside(a.environ) {
				return access.ErrInside("only a person can remove agents")
			}
			ctx := cmd.Context()
			_, done, err := a.start(ctx, false)
			if err != nil {
				return err
			}
			defer done()
			if err := a.sessions(false).RemoveAgent(ctx, args[0], a.user()); err != nil {
				return err
			}
			a.note("%s is removed; its sessions can still be read", args[0])
			if a.cfg.Agent == args[0] {
				a.note("the setting agent still names it; change it in %s", config.UserFile(a.environ))
			}
			return nil
		},
	}
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
	}, func(m terret.Model) (string, string) { return m.ID, strings.TrimSpace(m.Name + " " + abilities(m)) })
}

// abilities says what a model can and cannot do, as far as that is known.
func abilities(m terret.Model) string {
	var can, cannot []string
	for _, name := range slices.Sorted(maps.Keys(m.Can)) {
		if m.Can[name] {
			can = append(can, name)
		} else {
			cannot = append(cannot, "no "+name)
		}
	}
	if len(m.Can) == 0 {
		return ""
	}
	return "(" + strings.Join(append(can, cannot...), ", ") + ")"
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
		drivers := a.harness.Agents.Drivers()
		if agent == "" {
			agent = all.Choose(ctx, drivers, a.data, a.environ)
		}
		i := slices.IndexFunc(drivers, func(d terret.Driver) bool { return d.Name() == terret.AgentName(drivers, agent) })
		if i < 0 {
			return noAgent(agent)
		}
		items, ok, err := list(ctx, drivers[i])
		switch {
		case err != nil:
			return err
		case !ok:
			return terret.Errorf(terret.CodeUnsupported, "%s lists its %s only in a session", agent, what)
		case asJSON:
			return a.printJSON(terret.Page[T]{Items: items})
		}
		return listing[T]{row: func(item T) string {
			name, about := columns(item)
			return printable(name) + "\t" + fit(printable(about), 100)
		}}.print(a.out, items)
	}}
	cmd.Flags().StringVar(&agent, "agent", "", "agent to ask (default: the first one installed and signed in)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/hooks"
)

func newHook(a *app) *cobra.Command {
	agent := "claude"
	cmd := &cobra.Command{
		Use: "hook EVENT", Short: "Forward an agent's hook to Terret (agents call this)", Args: exactArgs("EVENT"),
		Long: "Forward what an agent's hook gets on standard input to the server that runs, and print\n" +
			"its answer. If none runs, or anything goes wrong, nothing is printed, and the agent goes on\n" +
			"as if there were no hook. `terret hooks install` sets this up.",
		RunE: func(cmd *cobra.Command, args []string) error {
			runHook(cmd.Context(), a, agent, args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&agent, "agent", agent, "the agent that calls")
	return cmd
}

// runHook never fails: an agent in a person's terminal must not notice that we are away.
func runHook(ctx context.Context, a *app, agent, event string) {
	if access.Inside(a.environ) { // the agent's events are in the log already
		return
	}
	about, err := hooks.AgentNamed(agent)
	if err != nil {
		return
	}
	out, err := hooks.Call(ctx, a.home(), about, event, a.in)
	if err != nil {
		switch start := event == "SessionStart"; {
		case errors.Is(err, hooks.ErrHangs) || start && errors.Is(err, hooks.ErrAway):
			a.note("Terret does not see this session until its server answers again: %v", err)
		case start:
			a.note("Terret does not see this session, since no server of it runs (`terret serve`): %v", err)
		}
		return
	}
	_, _ = a.out.Write(out)
}

// answerHooks answers hooks until the server stops, unless another server of this home does.
func (a *app) answerHooks(sv *serving, background *sync.WaitGroup) {
	l, done, err := hooks.Listen(sv.ctx, a.data)
	if err != nil { // the home's path may be too long for a socket
		a.logger.Warn("sessions in other terminals cannot report here", "error", err)
	}
	if l == nil {
		return
	}
	watched := map[string]hooks.Driver{}
	for name, d := range a.harness.Watched {
		watched[name] = d
	}
	s := &hooks.Server{Sessions: sv.engine, Drivers: watched, Log: a.logger}
	background.Go(func() {
		defer done()
		if err := s.Serve(sv.ctx, l); err != nil {
			a.logger.Error("cannot answer hooks", "error", err)
		}
	})
}

func newHooks(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hooks", Short: "See and answer the agents of your own terminals", Args: exactArgs(),
		Long: "Make the sessions of agents that you run in terminals of your own appear in Terret, where\n" +
			"the requests of Claude Code can be answered too, from the web or a phone. Whoever answers\n" +
			"first counts: the dialog in the terminal works as before. Qwen Code and Gemini CLI show\n" +
			"their dialogs only after their hooks, so they are answered in their terminals.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newHooksChange(a, "install", "Put Terret's hooks into an agent's settings", "put into", hooksInstall),
		newHooksChange(a, "uninstall", "Take Terret's hooks out again, and leave the settings as they were", "taken out of", hooksUninstall),
		newHooksList(a),
	)
	return cmd
}

type hooksOptions struct {
	agent         string
	user, project bool
}

func (o *hooksOptions) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.agent, "agent", "claude", "the agent: "+strings.Join(hooks.Names(), ", "))
	cmd.Flags().BoolVar(&o.user, "user", false, "in your own settings, for all projects (the default)")
	cmd.Flags().BoolVar(&o.project, "project", false, "in your own settings of the project in this folder")
	cmd.MarkFlagsMutuallyExclusive("user", "project")
}

// file is the agent, and its settings that the flags name.
func (o hooksOptions) file(a *app) (hooks.Agent, string, error) {
	about, err := hooks.AgentNamed(o.agent)
	if err != nil {
		return about, "", err
	}
	if !o.project {
		path, err := about.UserFile(a.getenv("HOME"), a.getenv)
		return about, path, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return about, "", err
	}
	path, err := about.ProjectFile(dir)
	return about, path, err
}

func hooksInstall(a *app, about hooks.Agent, path string) (hooks.Change, error) {
	program, err := os.Executable()
	if err != nil {
		return hooks.Change{}, err
	}
	return hooks.Install(about, path, program, a.home())
}

func hooksUninstall(a *app, about hooks.Agent, path string) (hooks.Change, error) {
	return hooks.Uninstall(about, path, a.home())
}

func newHooksChange(a *app, name, short, done string, change func(*app, hooks.Agent, string) (hooks.Change, error)) *cobra.Command {
	var o hooksOptions
	cmd := &cobra.Command{
		Use: name, Short: short, Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			if access.Inside(a.environ) {
				return terret.Errorf(terret.CodeForbidden, "an agent may not change which programs other agents run")
			}
			about, path, err := o.file(a)
			if err != nil {
				return err
			}
			c, err := change(a, about, path)
			if err != nil {
				return err
			}
			if len(c.Events) == 0 {
				fmt.Fprintf(a.out, "nothing to do in %s\n", c.Path)
				return nil
			}
			fmt.Fprintf(a.out, "%d hooks %s %s\n", len(c.Events), done, c.Path)
			if name == "install" {
				a.note("sessions of %s that begin from now on appear while `terret serve` runs", about.Name)
			}
			return nil
		},
	}
	o.add(cmd)
	return cmd
}

func newHooksList(a *app) *cobra.Command {
	var o hooksOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the hooks: what each becomes, whether it waits for a decision, and what happens without one", Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			about, path, err := o.file(a)
			if err != nil {
				return err
			}
			installed, err := hooks.Installed(about, path)
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(map[string]any{"agent": about.Name, "path": path, "installed": append([]string{}, installed...), "interactions": about.Interactions})
			}
			yes := map[bool]string{true: "yes", false: "no"}
			l := listing[hooks.Interaction]{
				head: "HOOK\tINSTALLED\tBECOMES\tDECISION\tLIMIT\tIF NONE COMES",
				row: func(i hooks.Interaction) string {
					return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", i.Event, yes[slices.Contains(installed, i.Event)], i.Kind, yes[i.Decides], shortDuration(i.Limit), i.Fallback)
				},
			}
			return l.print(a.out, about.Interactions)
		},
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// shortDuration is a duration without zeros: 24h, 11m, 10s.
func shortDuration(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"0s", "0m"} {
		if rest, ok := strings.CutSuffix(s, zero); ok && rest != "" && strings.HasSuffix(rest, map[string]string{"0s": "m", "0m": "h"}[zero]) {
			s = rest
		}
	}
	return s
}

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
)

// run runs one command line and returns the exit code.
func run(ctx context.Context, a *app, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if closeErr := a.close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = a.out.lost()
	}
	return a.exitCode(err)
}

func newRoot(a *app) *cobra.Command {
	var f workspaceFlags
	root := &cobra.Command{
		Use:   "terret",
		Short: "One harness for every coding agent",
		Long: "Terret drives coding agents behind one set of events and decisions,\n" +
			"and keeps every session in a log that survives crashes. On a terminal, `terret` alone\n" +
			"opens the full-screen workspace.\n\n" +
			"Exit codes: 0 success, 1 internal error, a server or an agent that cannot start, or a replay\n" +
			"that differs, 2 bad input, 3 not found, busy or unsupported, 4 not allowed,\n" +
			"5 agent missing or not signed in, 6 the agent or its model failed, 7 limit on steps or cost\n" +
			"reached, 10 a review's verdict is FAIL, 124 timeout, 130 interrupted, 137 killed.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		// Without a command, the workspace; without a terminal, the help.
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !a.fullScreen() {
				return cmd.Help()
			}
			return runWorkspace(cmd.Context(), a, f, "")
		},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return noCommand(cmd, args[0], "terret help")
			}
			return nil
		},
	}
	root.PersistentFlags().StringVar(&a.data, "data", "", "folder of the database (default $TERRET_HOME, or the platform's data folder)")
	root.PersistentFlags().StringVar(&a.store, "store", "", "PostgreSQL database of a fleet, such as postgres://user@host/database (default $TERRET_STORE, or a file in the data folder)")
	f.add(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasSubCommands() { // those before the flag
			if noSuch := cmd.ValidateArgs(args); noSuch != nil {
				return noSuch // the flag is that of a command that there is not
			}
		}
		if !cmd.HasParent() {
			return terret.Errorf(terret.CodeInvalidRequest, "%w; `terret run PROMPT` asks one thing, `terret chat --continue` goes on, and `terret --help` lists the rest", err)
		}
		return terret.Errorf(terret.CodeInvalidRequest, "%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.SetUsageTemplate(root.UsageTemplate() + "{{if not .HasParent}}\nThe guide is at /docs of a running `terret serve`, and in docs/guide.\n{{end}}")
	root.AddCommand(
		newRun(a), newChat(a), newSessions(a), newSearch(a), newEvents(a), newTail(a), newPending(a), newDecide(a),
		newRules(a), newPersonas(a), newTrust(a), newConfig(a), newToken(a), newKeys(a), newNotify(a), newMCP(a), newAgents(a), newModels(a), newCommands(a), newUsage(a), newTeam(a), newHandoff(a), newWorkflow(a), newReview(a), newRace(a), newBench(a), newReplay(a), newServe(a), newOpen(a), newHooks(a), newHook(a), newAttach(a), newACP(a), newWorker(a), newFleet(a), newSim(a), newDB(a), newService(a), newUpgrade(a), newVersion(a), newReference(),
	)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Args = helpArgs
	}
	a.complete(root)
	return root
}

// exactArgs is cobra's, with an error that says what is wrong.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == len(names):
			return nil
		case len(names) == 0 && cmd.HasSubCommands():
			return noCommand(cmd, args[0], cmd.CommandPath()+" --help")
		}
		return wrongArgs(cmd)
	}
}

// helpArgs accepts the names of a command.
func helpArgs(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) == 0 || !about.HasSubCommands() {
		return err
	}
	lister := about.CommandPath() + " --help"
	if about == cmd.Root() {
		lister = "terret help"
	}
	return noCommand(about, rest[0], lister)
}

// noCommand says that there is no such command, and which one may have been meant.
func noCommand(cmd *cobra.Command, name, lister string) error {
	cmd.SuggestionsMinimumDistance = 2
	if meant := cmd.SuggestionsFor(name); len(meant) > 0 {
		return terret.Invalid("command", "there is no command %q; did you mean %s? `%s` lists them", name, strings.Join(meant, " or "), lister)
	}
	return terret.Invalid("command", "there is no command %q; `%s` lists them", name, lister)
}

// maxOneArg accepts one argument or none.
func maxOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return wrongArgs(cmd)
	}
	return nil
}

// minOneArg accepts one argument or more.
func minOneArg(cmd *cobra.Command, args []string) error {
	if len(args) < 1 {
		return wrongArgs(cmd)
	}
	return nil
}

// minTwoArgs accepts two arguments or more.
func minTwoArgs(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return wrongArgs(cmd)
	}
	return nil
}

func wrongArgs(cmd *cobra.Command) error {
	return terret.Invalid("arguments", "usage: `%s`; see `%s --help`", cmd.UseLine(), cmd.CommandPath())
}

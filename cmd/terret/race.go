package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/work/race"
)

// raceOptions are the options of `terret race`.
type raceOptions struct {
	race.Request
	keep  string
	patch bool
	json  bool
}

func newRace(a *app) *cobra.Command {
	var o raceOptions
	cmd := &cobra.Command{
		Use: "race TASK --agent A --agent B", Short: "Give one task to several agents, and keep what one did",
		Long: "Give one task to several agents, each in a git worktree of its own. When all are done, a\n" +
			"table compares them. `terret race keep` merges what one did, or applies it as a patch,\n" +
			"and removes all worktrees; `terret race drop` removes them all.\n\n" +
			"All agents begin with the last commit, so the folder must have no uncommitted changes.\n\n" +
			"The key worktree of the configuration says which command prepares a worktree (setup)\n" +
			"and which files that git does not track are copied into it (copy). For setup and the\n" +
			"check, the variable PORT holds a port of the worktree's own.",
		Example: "  terret race \"fix the flaky test\" --agent claude --agent codex --check \"go test ./...\"\n" +
			"  terret race keep 0195e0c4 codex-2",
		Args: minOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Task = strings.Join(args, " ")
			if !cmd.Flags().Changed("tools") {
				o.Tools = nil
			}
			return runRace(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&o.Agents, "agent", nil, "agent that takes part (repeatable)")
	fl.StringVar(&o.Model, "model", "", "model, by the agents' name for it")
	fl.StringVar(&o.Check, "check", "", "shell command that judges what an agent did")
	fl.StringVar(&o.Cwd, "cwd", "", "folder to work on (default: this one)")
	fl.StringVar(&o.PermissionMode, "permission-mode", "", "the agents' own permission mode")
	fl.StringSliceVar(&o.Tools, "tools", nil, "the agents' tools, which they use without asking (default: all)")
	fl.StringVar(&o.keep, "keep", "", "racer to keep without asking, or best: the fastest that passes the check")
	fl.BoolVar(&o.patch, "patch", false, "with --keep: apply its changes without a commit")
	fl.BoolVar(&o.json, "json", false, "print JSON")
	cmd.AddCommand(newRaceKeep(a), newRaceDrop(a), newRaceList(a), newRaceShow(a), newRaceResume(a))
	return cmd
}

// withRaces runs fn with what runs races.
func withRaces(ctx context.Context, a *app, acts bool, fn func(ctx context.Context, r *race.Runner) error) error {
	return a.withWork(ctx, work{acts: acts, alone: !a.interactive(), stops: true}, func(ctx context.Context) error {
		return fn(ctx, a.sessions(false).Races(a.environ))
	})
}

func runRace(ctx context.Context, a *app, o raceOptions) error {
	flags := sessionFlags{cwd: o.Cwd}
	if err := flags.into(a, a.interactive()); err != nil {
		return err
	}
	dir, err := flags.folder()
	if err != nil {
		return terret.Invalid("cwd", "%w", err)
	}
	o.Cwd = dir
	return withRaces(ctx, a, true, func(ctx context.Context, r *race.Runner) error {
		o.Setup, o.Copy = a.cfg.Worktree.Setup, a.cfg.Worktree.Copy
		x, err := r.Start(ctx, a.user(), o.Request)
		if err != nil {
			return err
		}
		a.note("race %s; if it is cut off, %s continues it", x.ID[:13], a.commandLine("race", "resume", x.ID[:13]))
		return a.race(ctx, r, x.ID, o)
	})
}

// race runs a race to its finish, shows the table, and keeps a racer if one is named.
func (a *app) race(ctx context.Context, r *race.Runner, id string, o raceOptions) error {
	x, err := r.Get(ctx, id)
	if err != nil {
		return err
	}
	show := newBoard(a.err, a.colour(a.err), a.interactive())
	for _, one := range x.Racers {
		if one.State == race.Running {
			show.add(one.Name, one.Session)
		}
	}
	stop := show.watch(ctx, a.harness.Engine)
	x, err = r.Run(ctx, a.user(), id)
	stop()
	if err != nil {
		return err
	}
	if o.keep != "" {
		name, err := a.racer(x, o.keep)
		if !o.json {
			a.printRace(x)
		} else if err != nil {
			err = errors.Join(err, a.printJSON(x))
		}
		if err != nil {
			return err
		}
		if x, err = r.Keep(ctx, a.user(), id, name, o.patch); err != nil {
			return err
		}
		a.note("kept %s", name)
		if o.json {
			return a.printJSON(x)
		}
		return nil
	}
	failed := a.allFailed(x)
	if o.json {
		return errors.Join(failed, a.printJSON(x))
	}
	a.printRace(x)
	if failed != nil {
		return failed
	}
	if x.State == race.Finished {
		a.note("`%s RACER` keeps one, `%s` drops all", a.commandLine("race", "keep", x.ID[:13]), a.commandLine("race", "drop", x.ID[:13]))
	}
	return nil
}

// allFailed is the error of a race in which every agent failed, and nil of any other.
func (a *app) allFailed(x race.Race) error {
	if kind := x.Failed(); kind != "" && x.State == race.Finished {
		return terret.Errorf(kind, "no agent finished the task; `%s` drops the race", a.commandLine("race", "drop", x.ID[:13]))
	}
	return nil
}

// racer is the name of the racer to keep, where "best" stands for the best.
func (a *app) racer(x race.Race, name string) (string, error) {
	if name != "best" {
		return name, nil
	}
	if best := x.Best(); best != "" {
		return best, nil
	}
	if err := a.allFailed(x); err != nil {
		return "", err
	}
	return "", terret.Errorf(terret.CodeExecutionError, "no agent both changed something and passed the check; `%s` drops the race", a.commandLine("race", "drop", x.ID[:13]))
}

// printRace prints the table of a race, and why agents failed.
func (a *app) printRace(x race.Race) {
	racers := listing[race.Racer]{head: "RACER\tSTATE\tCHECK\tFILES\tLINES\tCOST\tTIME\tSESSION\tDETAIL", row: func(one race.Racer) string {
		return fmt.Sprintf("%s\t%s\t%s\t%d\t+%d -%d\t$%.4f\t%s\t%s\t%s", one.Name, one.State, nonEmpty(one.Check, "-"), one.Files, one.Insertions, one.Deletions,
			one.CostUSD.Dollars(), elapsedMS(one.DurationMS), one.Session[:13], fit(oneLine(one.Answer), 60))
	}}
	_ = racers.print(a.out, x.Racers) // the output remembers errors
	for _, one := range x.Racers {
		if one.Error != "" {
			fmt.Fprintf(a.out, "\n%s: %s\n", one.Name, printable(one.Error))
		}
	}
}

func newRaceKeep(a *app) *cobra.Command {
	var patch bool
	cmd := &cobra.Command{
		Use: "keep RACE RACER", Short: "Merge what one agent did, and drop the rest", Args: exactArgs("RACE", "RACER"),
		Long: "Merge what one agent did into the branch that is checked out, and remove all worktrees.\n\n" +
			"Files that git tracks must have no uncommitted changes: git could not take a merge that\n" +
			"fails back without touching them. Untracked files may stay, unless the agent made a file\n" +
			"in their place. --patch wants none of this, but only that the changes fit.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onRace(cmd.Context(), args[0], true, func(ctx context.Context, r *race.Runner, x race.Race) error {
				name, err := a.racer(x, args[1])
				if err != nil {
					return err
				}
				if _, err = r.Keep(ctx, a.user(), x.ID, name, patch); err == nil {
					a.note("kept %s", name)
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&patch, "patch", false, "apply its changes without a commit")
	return cmd
}

// onRace runs fn with a race by its id or a prefix. If acts is set, it is refused inside an
// agent.
func (a *app) onRace(ctx context.Context, id string, acts bool, fn func(ctx context.Context, r *race.Runner, x race.Race) error) error {
	return withRaces(ctx, a, acts, func(ctx context.Context, r *race.Runner) error {
		s, err := a.resolveWork(ctx, id, "race", "race")
		if err != nil {
			return err
		}
		x, err := r.Get(ctx, s.ID)
		if err != nil {
			return err
		}
		return fn(ctx, r, x)
	})
}

func newRaceDrop(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "drop RACE", Short: "Remove all worktrees of a race, and what was done in them", Args: exactArgs("RACE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onRace(cmd.Context(), args[0], true, func(ctx context.Context, r *race.Runner, x race.Race) error {
				_, err := r.Drop(ctx, a.user(), x.ID)
				return err
			})
		},
	}
}

func newRaceResume(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "resume RACE", Short: "Continue a race that was cut off", Args: exactArgs("RACE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onRace(cmd.Context(), args[0], true, func(ctx context.Context, r *race.Runner, x race.Race) error {
				return a.race(ctx, r, x.ID, raceOptions{})
			})
		},
	}
}

func newRaceShow(a *app) *cobra.Command {
	var diff, asJSON bool
	cmd := &cobra.Command{
		Use: "show RACE", Short: "Show a race", Args: exactArgs("RACE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.onRace(cmd.Context(), args[0], false, func(ctx context.Context, r *race.Runner, x race.Race) error {
				if diff {
					if err := r.Diffs(ctx, &x); err != nil {
						return err
					}
				}
				if asJSON {
					return a.printJSON(x)
				}
				a.printRace(x)
				for _, one := range x.Racers {
					if one.Diff != "" {
						fmt.Fprintf(a.out, "\n%s\n%s\n", one.Name, printable(one.Diff))
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&diff, "diff", false, "show what each agent changed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newRaceList(a *app) *cobra.Command {
	races := listing[race.Race]{head: "RACE\tSTATE\tRACERS\tKEPT\tTASK", row: func(x race.Race) string {
		return fmt.Sprintf("%s\t%s\t%d\t%s\t%s", x.ID[:13], x.State, len(x.Racers), nonEmpty(x.Kept, "-"), fit(oneLine(x.Task), 60))
	}}
	return races.command(a, "List races, the newest first", func(ctx context.Context, show func([]race.Race, error) error) error {
		return withRaces(ctx, a, false, func(ctx context.Context, r *race.Runner) error { return show(r.All(ctx)) })
	})
}

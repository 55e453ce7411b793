package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/work/workflow"
)

func newWorkflow(a *app) *cobra.Command {
	list := newWorkflowList(a)
	cmd := &cobra.Command{
		Use: "workflow", Short: "Run the steps of several agents as one durable run", Args: exactArgs(),
		Long: "Run the steps of several agents as one durable run. A workflow is a YAML file:\n\n" +
			"  name: fix\n" +
			"  steps:\n" +
			"    - id: plan\n" +
			"      agent: claude\n" +
			"      tools: [Read, Grep]\n" +
			"      prompt: \"Plan how to do this: {{input}}\"\n" +
			"    - id: build\n" +
			"      prompt: \"Carry out this plan: {{plan}}\"\n" +
			"      check: go test ./...\n" +
			"      on_failure: retry   # or ask, or stop\n\n" +
			"A run that was cut off, even by kill -9, goes on in the step it was in.",
		RunE: list.RunE,
	}
	cmd.AddCommand(newWorkflowRun(a), list, newWorkflowShow(a), newWorkflowResume(a))
	return cmd
}

// withWorkflows runs fn with what runs workflows.
func withWorkflows(ctx context.Context, a *app, acts bool, fn func(ctx context.Context, r *workflow.Runner) error) error {
	return a.withWork(ctx, work{acts: acts, alone: !a.interactive(), stops: acts}, func(ctx context.Context) error {
		return fn(ctx, a.sessions(false).Workflows(a.environ))
	})
}

func newWorkflowRun(a *app) *cobra.Command {
	var cwd string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "run FILE [INPUT]", Short: "Run a workflow", Args: minOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			flags := sessionFlags{cwd: cwd}
			if err := flags.into(a, a.interactive()); err != nil {
				return err
			}
			dir, err := flags.folder()
			if err != nil {
				return terret.Invalid("cwd", "%w", err)
			}
			file, err := os.ReadFile(args[0])
			if err != nil {
				return terret.Invalid("workflow", "%w", err)
			}
			return withWorkflows(cmd.Context(), a, true, func(ctx context.Context, r *workflow.Runner) error {
				run, err := r.Start(ctx, a.user(), filepath.Base(args[0]), file, dir, strings.Join(args[1:], " "))
				if err != nil {
					return err
				}
				a.note("run %s; if it is cut off, %s continues it", run.ID[:13], a.commandLine("workflow", "resume", run.ID[:13]))
				return a.work(ctx, r, run.ID, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&cwd, "cwd", "", "folder to work in (default: this one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as JSON when it is done")
	return cmd
}

// work works on a run and prints what its last step answered.
func (a *app) work(ctx context.Context, r *workflow.Runner, id string, asJSON bool) error {
	said := map[string]string{}
	r.Progress = func(run workflow.Run) {
		for _, s := range run.Steps {
			line := fmt.Sprintf("%s: %s", s.ID, s.State)
			if s.State == workflow.Running {
				line += fmt.Sprintf(" (%s, attempt %d)", s.Agent, s.Attempts)
			}
			if s.State == workflow.Failed {
				line += ": " + fit(oneLine(s.Error), 200)
			}
			if s.State != workflow.Pending && said[s.ID] != line {
				a.note("%s", line)
			}
			said[s.ID] = line
		}
	}
	run, err := r.Run(ctx, a.user(), id)
	if err != nil {
		return err
	}
	if asJSON {
		if err := a.printJSON(run); err != nil {
			return err
		}
	} else if last := run.Steps[len(run.Steps)-1]; run.State == workflow.Completed && last.Output != "" {
		fmt.Fprintln(a.out, printable(last.Output))
	}
	switch run.State {
	case workflow.Waiting:
		return terret.Errorf(terret.CodeExecutionError, "%s; decide with `%s retry|skip|stop`", run.Detail, a.commandLine("workflow", "resume", run.ID[:13]))
	case workflow.Failed:
		return terret.Errorf(terret.CodeExecutionError, "%s", run.Detail)
	default:
		return nil
	}
}

func newWorkflowResume(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "resume RUN [retry|skip|stop]", Short: "Continue a run that was cut off, or that waits for a decision", Args: minOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 2 {
				return wrongArgs(cmd)
			}
			return withWorkflows(cmd.Context(), a, true, func(ctx context.Context, r *workflow.Runner) error {
				s, err := a.resolveWork(ctx, args[0], "run", "workflow")
				if err != nil {
					return err
				}
				if len(args) == 2 {
					if err := r.Decide(ctx, a.user(), s.ID, args[1]); err != nil {
						return err
					}
				}
				return a.work(ctx, r, s.ID, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as JSON when it is done")
	return cmd
}

func newWorkflowList(a *app) *cobra.Command {
	runs := listing[workflow.Run]{
		none: "there are no runs yet; `terret workflow run FILE` starts one",
		head: "RUN\tNAME\tSTATE\tSTEPS\tCOST\tDETAIL",
		row: func(run workflow.Run) string {
			done := 0
			for _, s := range run.Steps {
				if s.State == workflow.Completed || s.State == workflow.Skipped {
					done++
				}
			}
			return fmt.Sprintf("%s\t%s\t%s\t%d/%d\t$%.4f\t%s", run.ID[:13], oneLine(run.Name), run.State, done, len(run.Steps),
				run.CostUSD.Dollars(), fit(oneLine(run.Detail), 60))
		},
	}
	return runs.command(a, "List runs, the newest first", func(ctx context.Context, show func([]workflow.Run, error) error) error {
		return withWorkflows(ctx, a, false, func(ctx context.Context, r *workflow.Runner) error { return show(r.All(ctx)) })
	})
}

func newWorkflowShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show a run and its steps", Args: exactArgs("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withWorkflows(cmd.Context(), a, false, func(ctx context.Context, r *workflow.Runner) error {
				s, err := a.resolveWork(ctx, args[0], "run", "workflow")
				if err != nil {
					return err
				}
				run, err := r.Get(ctx, s.ID)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(run)
				}
				fmt.Fprintf(a.out, "%s  %s  %s\n", run.ID, oneLine(run.Name), run.State)
				if run.Detail != "" {
					fmt.Fprintln(a.out, printable(run.Detail))
				}
				steps := listing[workflow.StepRun]{head: "STEP\tAGENT\tSTATE\tATTEMPTS\tSESSION\tANSWER", row: func(s workflow.StepRun) string {
					return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", s.ID, nonEmpty(s.Agent, "-"), s.State, s.Attempts, shortID(s.Session),
						fit(oneLine(nonEmpty(s.Output, s.Error)), 60))
				}}
				return steps.print(a.out, run.Steps)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

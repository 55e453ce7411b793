package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/cmd/terret/internal/tasks"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/assemble"
)

// benchOptions are the options of `terret bench`.
type benchOptions struct {
	agent, model, effort, sandbox string
	tasks                         []string
	runs                          int
	maxCost                       float64
	timeout                       time.Duration
	json, list, keep              bool
}

// benchRun is one attempt at a task.
type benchRun struct {
	Task       string       `json:"task"`
	Run        int          `json:"run"`
	Pass       bool         `json:"pass"`
	Error      string       `json:"error,omitempty"`  // of the turn
	Output     string       `json:"output,omitempty"` // of the checker, if the task is not solved
	CostUSD    terret.Cost  `json:"cost_usd"`
	Usage      terret.Usage `json:"usage"`
	DurationMS int64        `json:"duration_ms"`
	Session    string       `json:"session,omitempty"`
	Folder     string       `json:"folder,omitempty"` // if it was kept
}

// benchReport is what all attempts came to.
type benchReport struct {
	Agent       string       `json:"agent"`
	Model       string       `json:"model,omitempty"`
	Interrupted bool         `json:"interrupted,omitempty"`
	Passed      int          `json:"passed"`
	CostUSD     terret.Cost  `json:"cost_usd"`
	Usage       terret.Usage `json:"usage"`
	DurationMS  int64        `json:"duration_ms"`
	Runs        []benchRun   `json:"runs"`
}

func newBench(a *app) *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure an agent on small repository tasks",
		Long: "Measure an agent on small repository tasks, such as fixing a failing test, renaming\n" +
			"across files, or resolving a merge conflict. Each is done in a folder of its own, in which\n" +
			"the agent may do what it likes without asking, and is judged by a checker that the agent\n" +
			"does not see. It needs git, sh and Go. A model that costs money costs money here too.\n" +
			"Ctrl-C stops it, and prints the results so far.",
		Example: "  terret bench --agent claude --task merge-conflict --task nil-map\n" +
			"  terret bench --model ollama/qwen3-coder --runs 3 --json > results.json",
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runBench(cmd.Context(), a, o) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.agent, "agent", "", "agent to use; 'terret agents' lists them")
	fl.StringVar(&o.model, "model", "", "model, by the agent's name for it")
	fl.StringVar(&o.effort, "effort", "", "how much the model thinks")
	fl.StringVar(&o.sandbox, "sandbox", "", "run commands of the native agent without network, in its folder only")
	fl.Lookup("sandbox").NoOptDefVal = string(terret.SandboxWrite)
	fl.StringArrayVar(&o.tasks, "task", nil, "task to do (repeatable; default: all)")
	fl.IntVar(&o.runs, "runs", 1, "how often to do each task")
	fl.Float64Var(&o.maxCost, "max-cost", 0, "maximum cost of one attempt, in dollars")
	fl.DurationVar(&o.timeout, "timeout", 10*time.Minute, "maximum time for one attempt")
	fl.BoolVar(&o.json, "json", false, "print every attempt as JSON")
	fl.BoolVar(&o.list, "list", false, "list the tasks, and do nothing")
	fl.BoolVar(&o.keep, "keep", false, "keep the folders, to look at what the agent did")
	return cmd
}

func runBench(ctx context.Context, a *app, o benchOptions) error {
	list, err := tasks.Named(o.tasks...)
	switch {
	case err != nil:
		return terret.Invalid("task", "%w", err)
	case o.list:
		return a.listTasks(list)
	case o.runs < 1 || o.runs > 1000:
		return terret.Invalid("runs", "%d is not a number from 1 to 1000", o.runs)
	case o.timeout <= 0 || o.maxCost < 0:
		return terret.Invalid("timeout", "limits must not be negative")
	}
	if err := terret.Sandbox(o.sandbox).Validate("sandbox"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := interrupts(func() { cancel(terret.ErrInterrupted) }, func() {})
	defer stop()
	e, closeEngine, err := a.start(ctx, true)
	if err != nil {
		return err
	}
	b := &bench{app: a, engine: e, options: o}
	defer b.tidy() // sessions write to their folders until the engine is closed
	defer closeEngine()
	err = b.all(ctx, list)
	if len(b.report.Runs) > 0 || err == nil {
		if printErr := b.print(); err == nil {
			err = printErr
		}
	}
	return err
}

func (a *app) listTasks(list []tasks.Task) error {
	return listing[tasks.Task]{row: func(t tasks.Task) string { return t.Name + "\t" + fit(oneLine(t.Prompt), 100) }}.print(a.out, list)
}

// bench does tasks.
type bench struct {
	*app
	engine  *engine.Engine
	options benchOptions
	report  benchReport
	folders []string // to remove
}

// tidy removes the folders of the attempts.
func (b *bench) tidy() {
	for _, dir := range b.folders {
		if err := os.RemoveAll(dir); err != nil {
			b.note("%v", err)
		}
	}
}

// all does the tasks, one after the other. The error is that of an interrupt, or of
// something that would fail for every task.
func (b *bench) all(ctx context.Context, list []tasks.Task) error {
	for _, t := range list {
		for n := range b.options.runs {
			r, err := b.one(ctx, t)
			if ctx.Err() != nil {
				b.report.Interrupted = true
				return context.Cause(ctx)
			}
			if err != nil {
				return err
			}
			r.Task, r.Run = t.Name, n+1
			b.add(r)
		}
	}
	return nil
}

// add adds an attempt to the report, and says how it went.
func (b *bench) add(r benchRun) {
	b.report.Runs = append(b.report.Runs, r)
	b.report.CostUSD += r.CostUSD
	b.report.Usage = b.report.Usage.Add(r.Usage)
	b.report.DurationMS += r.DurationMS
	word := "failed"
	if r.Pass {
		word = "passed"
		b.report.Passed++
	}
	b.note("%s: %s (%s, $%.4f) %s", r.Task, word, elapsedMS(r.DurationMS), r.CostUSD.Dollars(), fit(oneLine(nonEmpty(r.Error, lastLine(r.Output))), 80))
}

// one does a task once.
func (b *bench) one(ctx context.Context, t tasks.Task) (r benchRun, err error) {
	dir, err := os.MkdirTemp("", "terret-task-")
	if err != nil {
		return r, err
	}
	if b.options.keep {
		r.Folder = dir
	} else {
		b.folders = append(b.folders, dir)
	}
	if err := t.Prepare(ctx, dir, b.environ); err != nil {
		return r, err
	}
	s, err := b.sessions(false).Create(ctx, terret.Session{
		Agent: b.options.agent, Model: b.options.model, Cwd: dir, Policy: terret.PolicyAutoApprove, Title: "bench: " + t.Name,
		Options: terret.SessionOptions{Effort: b.options.effort, MaxCostUSD: terret.CostOf(b.options.maxCost), Sandbox: terret.Sandbox(b.options.sandbox)},
	}, assemble.CreateOptions{})
	if err != nil {
		return r, err
	}
	b.report.Agent, b.report.Model, r.Session = s.Agent, s.Model, s.ID
	c := &conversation{app: b.app, engine: b.engine, session: s, after: s.LastSeq, timeout: b.options.timeout, render: newRenderer(&screen{words: io.Discard, talk: io.Discard})}
	began := time.Now()
	done, err := c.turn(ctx, t.Prompt)
	c.render.screen.idle()
	r.DurationMS, r.CostUSD, r.Usage = time.Since(began).Milliseconds(), done.CostUSD, done.Usage
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case err != nil && slices.Contains([]terret.ErrorCode{terret.CodeAgentNotFound, terret.CodeNotAuthenticated, terret.CodeUnsupported}, terret.AsError(err).Code):
		return r, err // so it is for every task
	case err != nil:
		r.Error = err.Error()
	}
	judged, err := t.Judge(ctx, dir, b.environ)
	if err != nil {
		return r, err
	}
	if r.Pass = judged.OK; !r.Pass {
		r.Output = judged.Output
	}
	return r, nil
}

// print prints the report.
func (b *bench) print() error {
	if b.options.json {
		return b.printJSON(b.report)
	}
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "TASK\tPASS\tCOST\tTOKENS\tTIME\tSESSION")
	var row benchRun
	passed, n := 0, 0
	flush := func() {
		if n > 0 {
			fmt.Fprintf(w, "%s\t%d/%d\t$%.4f\t%d\t%s\t%s\n", row.Task, passed, n, row.CostUSD.Dollars(), tokens(row.Usage), elapsedMS(row.DurationMS), row.Session[:13])
		}
	}
	for _, r := range b.report.Runs {
		if r.Task != row.Task {
			flush()
			row, passed, n = benchRun{Task: r.Task}, 0, 0
		}
		if r.Pass {
			passed++
		}
		n++
		row.Session, row.CostUSD, row.Usage, row.DurationMS = r.Session, row.CostUSD+r.CostUSD, row.Usage.Add(r.Usage), row.DurationMS+r.DurationMS
	}
	flush()
	total := b.report
	fmt.Fprintf(w, "all\t%d/%d\t$%.4f\t%d\t%s\t%s %s\n", total.Passed, len(total.Runs), total.CostUSD.Dollars(), tokens(total.Usage), elapsedMS(total.DurationMS), total.Agent, total.Model)
	return w.Flush()
}

// tokens are all that were used.
func tokens(u terret.Usage) int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Package workflow runs files of steps: each step is a prompt to an agent, and perhaps a
// command that checks what the agent did. A run is one durable thing. Its log, a session
// in which no agent works, says which attempt of which step has begun and how it ended; a
// process that continues a run after a crash reads it and continues in the same step.
//
// An attempt's turn has an id that is computed from run, step and attempt, so it is never
// begun twice: if it ended before the crash, its answer is read from the session's log.
// If the crash cut it off, the next attempt, in the same session, tells the agent so.
package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/check"
	"github.com/terret-dev/terret/work/team"
)

// maxAttempts bounds the attempts of a step, whatever cuts them off.
const maxAttempts = 20

// Runner runs workflows.
type Runner struct {
	Log
	Providers *team.Providers
	// Env is the environment of checks.
	Env []string
	// Default names the agent of steps that name none; nil means that all must name one.
	Default func(ctx context.Context, cwd string) string
	// Progress, if set, is told about the run after each change.
	Progress func(Run)
}

// Start makes a run. It does nothing yet: Run does.
func (r *Runner) Start(ctx context.Context, by, name string, file []byte, cwd, input string) (Run, error) {
	w, err := Parse(name, file)
	if err != nil {
		return Run{}, err
	}
	def := definition{Name: name, Workflow: string(file), Cwd: cwd, Input: input}
	if r.Default != nil {
		def.Agent = r.Default(ctx, cwd)
	}
	for _, s := range w.Steps {
		switch {
		case s.Agent == "" && def.Agent == "":
			return Run{}, terret.Invalid("agent", "step %s names no agent, and there is no default", s.ID)
		case s.Agent != "":
			if _, err := r.Providers.Get(s.Agent); err != nil {
				return Run{}, err
			}
		}
	}
	id, err := r.Open(ctx, by, taskRun, w.Name, def)
	if err != nil {
		return Run{}, err
	}
	return r.Get(ctx, id)
}

// Get returns a run.
func (r *Runner) Get(ctx context.Context, id string) (Run, error) {
	run, err := r.load(ctx, id)
	if err != nil {
		return Run{}, err
	}
	if run.State == Running {
		alone, err := r.Alone(ctx, id)
		if err != nil {
			return Run{}, err
		}
		if !alone {
			return *run, nil
		}
		if run, err = r.load(ctx, id); err != nil {
			return Run{}, err
		}
		if run.State == Running { // it did not just end
			run.State = Interrupted
		}
	}
	return *run, nil
}

// All lists all runs, the newest first.
func (r *Runner) All(ctx context.Context) ([]Run, error) {
	out := []Run{}
	err := r.Each(ctx, func(id string) error {
		run, err := r.Get(ctx, id)
		if err == nil {
			out = append(out, run)
		}
		return err
	})
	return out, err
}

// Decide says what a run does that waits for a person: retry or skip the step that
// failed, or stop. It does nothing yet: Run does.
func (r *Runner) Decide(ctx context.Context, by, id, decision string) error {
	run, err := r.load(ctx, id)
	if err != nil {
		return err
	}
	failed := ""
	for _, st := range run.Steps {
		if st.State == Failed {
			failed = st.ID
		}
	}
	if run.State != Waiting || failed == "" {
		return terret.Errorf(terret.CodeConflict, "run %s is %s and does not wait for a decision", id, run.State)
	}
	switch decision {
	case Retry:
		return r.Note(ctx, id, by, terret.TaskUpdate{ID: id, Status: Retry, Text: failed})
	case "skip":
		return r.Note(ctx, id, by, terret.TaskUpdate{ID: id, Status: string(Skipped), Text: failed})
	case Stop:
		return r.Note(ctx, id, by, terret.TaskEnd{ID: id, Status: string(Stopped), Summary: run.Detail})
	}
	return terret.Invalid("decision", "%q is not possible; use retry, skip or stop", decision)
}

// Run works on a run until it ends, waits for a person, or the context ends. A run that
// has ended, or waits, stays as it is.
func (r *Runner) Run(ctx context.Context, by, id string) (Run, error) {
	run, err := r.work(ctx, by, id)
	for err == nil && run.State == Waiting {
		// Somebody may have decided while we had the lock, and could not go on then.
		now, err := r.load(ctx, id)
		if err != nil || now.State == Waiting {
			return run, err
		}
		again, err := r.work(ctx, by, id)
		if errors.Is(err, terret.ErrConflict) {
			return run, nil // another process continues it
		}
		if err != nil {
			return again, err
		}
		run = again
	}
	return run, err
}

// work does what Run does, except that nobody looks what was decided meanwhile.
func (r *Runner) work(ctx context.Context, by, id string) (Run, error) {
	lock, err := r.Lock(ctx, id)
	if err != nil {
		return Run{}, err
	}
	defer lock.Close()
	for {
		run, err := r.load(ctx, id) // the log is all that counts
		if err != nil {
			return Run{}, err
		}
		r.tell(*run)
		if run.State.Ended() {
			return *run, os.Remove(lock.Name()) // nobody will lock it again
		}
		if run.State != Running {
			return *run, nil
		}
		if err := r.next(ctx, by, run); err != nil {
			return *run, err
		}
	}
}

func (r *Runner) tell(run Run) {
	if r.Progress != nil {
		r.Progress(run)
	}
}

// next does the next thing that a run needs.
func (r *Runner) next(ctx context.Context, by string, run *Run) error {
	note := func(d ...terret.Data) error { return r.Note(ctx, run.ID, by, d...) }
	for i := range run.Steps {
		st, step := &run.Steps[i], run.workflow.Steps[i]
		switch {
		case st.State == Completed || st.State == Skipped:
			continue
		case st.open:
			return r.attempt(ctx, by, run, st, step, true)
		case st.State == Failed && (step.OnFailure == Stop || step.OnFailure == Retry && st.failures > step.Retries):
			return note(terret.TaskEnd{ID: run.ID, Status: string(Failed), Summary: fmt.Sprintf("step %s failed: %s", st.ID, st.Error)})
		case st.State == Failed && st.failures > step.Retries:
			return note(terret.TaskUpdate{ID: run.ID, Status: string(Waiting), Text: fmt.Sprintf("step %s failed: %s", st.ID, st.Error)})
		case st.Attempts >= maxAttempts:
			return note(terret.TaskEnd{ID: run.ID, Status: string(Failed), Summary: fmt.Sprintf("step %s was tried %d times", st.ID, st.Attempts)})
		}
		agent := step.Agent
		if agent == "" {
			agent = run.agent
		}
		if err := note(terret.TaskStart{ID: fmt.Sprint(st.ID, attemptSep, st.Attempts+1), Type: taskStep, Description: agent}); err != nil {
			return err
		}
		was := *st
		st.Attempts, st.Agent, st.State = st.Attempts+1, agent, Running
		st.Session = team.AskSession(st.ID, run.ID+st.ID)
		r.tell(*run)
		st.cut, st.Error = was.cut, was.Error
		return r.attempt(ctx, by, run, st, step, false)
	}
	return note(terret.TaskEnd{ID: run.ID, Status: string(Completed)})
}

// attempt asks the agent, checks what it did, and notes how it ended.
func (r *Runner) attempt(ctx context.Context, by string, run *Run, st *StepRun, step Step, resumed bool) error {
	limited, cancel := ctx, context.CancelFunc(func() {})
	if step.timeout > 0 {
		late := terret.Errorf(terret.CodeTimeout, "the step took longer than %s and was stopped", step.timeout)
		limited, cancel = context.WithTimeoutCause(ctx, step.timeout, late)
	}
	defer cancel()
	answer, failure := r.ask(ctx, limited, run, st, step)
	if failure == nil && ctx.Err() == nil {
		failure = r.check(limited, run, step)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	status := Completed
	e := ended{Text: answer.Text, CostUSD: answer.CostUSD}
	if failure != nil {
		status, e.Error = Failed, failure.Error()
		if code := terret.AsError(failure).Code; resumed && (code == terret.CodeInterrupted || code == terret.CodeKilled || code == terret.CodeProcessFailed) {
			status = cutOff
		}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return r.Note(ctx, run.ID, by, terret.TaskEnd{ID: fmt.Sprint(st.ID, attemptSep, st.Attempts), Status: string(status), Summary: string(text)})
}

// check runs the command that judges a step, if there is one. The error is how it failed.
func (r *Runner) check(ctx context.Context, run *Run, step Step) error {
	if step.Check == "" {
		return nil
	}
	result, err := check.Run(ctx, run.Cwd, r.Env, step.Check)
	switch {
	case err != nil || result.OK:
		return err
	case result.Output == "":
		return fmt.Errorf("the check `%s` failed with %s", step.Check, result.Exit)
	}
	return fmt.Errorf("the check `%s` failed with %s:\n%s", step.Check, result.Exit, result.Output)
}

// ask has the agent do an attempt. It is stopped when limited ends before ctx.
func (r *Runner) ask(ctx, limited context.Context, run *Run, st *StepRun, step Step) (team.Answer, error) {
	answers := map[string]string{}
	for _, s := range run.Steps {
		answers[s.ID] = s.Output
	}
	prompt := fill(step.Prompt, run.Input, answers)
	switch {
	case st.cut:
		prompt = "You were interrupted while you worked on this. Look at what is done already, and continue.\n\n" + prompt
	case st.Error != "":
		prompt = "Your last attempt failed: " + st.Error + "\n\nTry again. The task was:\n\n" + prompt
	}
	c := team.Config{
		Name: st.ID, Title: run.Name + ": " + st.ID, Type: st.Agent, Model: step.Model, Cwd: run.Cwd, Instructions: step.Instructions, AllowedTools: step.Tools,
		PermissionMode: step.PermissionMode, SettingSources: step.SettingSources, MaxCostUSD: terret.CostOf(step.MaxCostUSD),
	}
	answer, err := team.Ask(limited, r.Providers, c, run.ID+st.ID, st.Attempts-1, prompt)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = errors.Join(context.Cause(limited), team.StopAsked(ctx, r.Host, st.ID, run.ID+st.ID, st.Attempts-1))
	}
	return answer, err
}

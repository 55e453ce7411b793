package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/work/team"
)

// State is where a run or a step is.
type State string

// The states. A run that nobody works on, though it has not ended, is interrupted.
const (
	Pending     State = "pending"
	Running     State = "running"
	Waiting     State = "waiting" // for a person to decide
	Interrupted State = "interrupted"
	Completed   State = "completed"
	Skipped     State = "skipped"
	Failed      State = "failed"
	Stopped     State = "stopped" // by a person
)

// Ended reports whether nothing more will happen.
func (s State) Ended() bool {
	return s == Completed || s == Failed || s == Stopped
}

// Run is a workflow at work, as its log says.
type Run struct {
	ID        string      `json:"id"` // of the session that holds its log
	Name      string      `json:"name"`
	Cwd       string      `json:"cwd"`
	Input     string      `json:"input,omitempty"`
	State     State       `json:"state"`
	Detail    string      `json:"detail,omitempty"` // what there is to say about the state
	Steps     []StepRun   `json:"steps"`
	CostUSD   terret.Cost `json:"cost_usd"`
	CreatedAt terret.Time `json:"created_at"`

	workflow *Workflow
	agent    string
}

// StepRun is a step of a run.
type StepRun struct {
	ID       string      `json:"id"`
	Agent    string      `json:"agent"`
	State    State       `json:"state"`
	Attempts int         `json:"attempts"` // how many have begun
	Session  string      `json:"session,omitempty"`
	Output   string      `json:"output,omitempty"` // what the agent answered
	Error    string      `json:"error,omitempty"`  // of the last attempt that failed
	CostUSD  terret.Cost `json:"cost_usd"`

	open     bool // the last attempt has no end
	failures int
	cut      bool // the last attempt was cut off, by no fault of its own
}

// definition is what a run was started with, in its log.
type definition struct {
	Name     string `json:"name"` // of the file
	Workflow string `json:"workflow"`
	Cwd      string `json:"cwd"`
	Input    string `json:"input,omitempty"`
	Agent    string `json:"agent"`
}

// ended is what the log keeps about an attempt.
type ended struct {
	Text    string      `json:"text,omitempty"`
	Error   string      `json:"error,omitempty"`
	CostUSD terret.Cost `json:"cost_usd,omitempty"`
}

// Kinds of tasks in the log, and what is said about them.
const (
	taskRun    = "workflow"
	taskStep   = "step"
	defined    = "defined"
	cutOff     = "cut"
	attemptSep = "#"
)

// load reads a run from its log.
func (r *Runner) load(ctx context.Context, id string) (*Run, error) {
	var def definition
	s, events, err := r.Read(ctx, taskRun, id, &def)
	if err != nil {
		return nil, err
	}
	w, err := Parse(cmp.Or(def.Name, taskRun), []byte(def.Workflow))
	if err != nil {
		return nil, err
	}
	run := &Run{
		ID: id, State: Running, CreatedAt: s.CreatedAt, Name: w.Name, Cwd: def.Cwd, Input: def.Input, workflow: w, agent: def.Agent, Steps: []StepRun{},
	}
	for _, s := range w.Steps {
		run.Steps = append(run.Steps, StepRun{ID: s.ID, Agent: s.Agent, State: Pending})
	}
	for _, d := range events {
		if err := run.apply(d); err != nil {
			return nil, err
		}
	}
	return run, nil
}

func (run *Run) apply(data terret.Data) error {
	switch d := data.(type) {
	case terret.TaskUpdate:
		if d.ID == run.ID {
			run.changed(d)
		}
	case terret.TaskStart:
		if st, _ := run.step(d.ID); st != nil {
			st.State, st.open, st.Attempts, st.Agent = Running, true, st.Attempts+1, d.Description
			st.Session = team.AskSession(st.ID, run.ID+st.ID)
			run.State, run.Detail = Running, ""
		}
	case terret.TaskEnd:
		if d.ID == run.ID {
			run.State, run.Detail = State(d.Status), d.Summary
			return nil
		}
		st, n := run.step(d.ID)
		if st == nil || n != st.Attempts || !st.open {
			return nil // said twice
		}
		var e ended
		if err := json.Unmarshal([]byte(d.Summary), &e); err != nil {
			return err
		}
		st.open, st.cut, st.Error, st.CostUSD = false, d.Status == cutOff, e.Error, st.CostUSD+e.CostUSD
		run.CostUSD += e.CostUSD
		switch State(d.Status) {
		case Completed:
			st.State, st.Output = Completed, e.Text
		case Failed:
			st.State, st.failures = Failed, st.failures+1
		default:
			st.State = Pending
		}
	}
	return nil
}

// changed takes in news about the run as a whole.
func (run *Run) changed(d terret.TaskUpdate) {
	switch d.Status {
	case string(Waiting):
		run.State, run.Detail = Waiting, d.Text
	case Retry, string(Skipped):
		for i := range run.Steps {
			if st := &run.Steps[i]; st.ID == d.Text && st.State == Failed {
				st.State, st.failures = Pending, 0
				if d.Status == string(Skipped) {
					st.State = Skipped
				}
			}
		}
		run.State, run.Detail = Running, ""
	}
}

// step finds the step of an attempt, and the attempt's number from 1.
func (run *Run) step(id string) (*StepRun, int) {
	name, number, _ := strings.Cut(id, attemptSep)
	n, _ := strconv.Atoi(number) // 0 is no attempt
	for i := range run.Steps {
		if run.Steps[i].ID == name && n > 0 {
			return &run.Steps[i], n
		}
	}
	return nil, 0
}

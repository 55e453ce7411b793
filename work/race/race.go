// Package race gives one task to several agents, each in a git worktree of its own, and
// compares what they did: the diff, a check, cost and time. A person keeps one and drops
// the rest.
//
// A race is a log (see [workflow.Log]). The ids of its worktrees, sessions and turns are
// computed from it, so a race that was cut off can be run again: what was done is not
// done again.
package race

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/worktree"
	"github.com/terret-dev/terret/work/team"
	"github.com/terret-dev/terret/work/workflow"
)

// kind is the kind of log.
const kind = "race"

// State is where a race or a racer is.
type State string

// The states. A race is finished when all agents are done, and ends when one is kept or
// all are dropped.
const (
	Running     State = "running"
	Interrupted State = "interrupted"
	Finished    State = "finished"
	Failed      State = "failed"
	Kept        State = "kept"
	Dropped     State = "dropped"
)

// Request is a race to start.
type Request struct {
	Task   string   `json:"task"`
	Cwd    string   `json:"cwd"`
	Agents []string `json:"agents"`
	Model  string   `json:"model,omitempty"`
	Check  string   `json:"check,omitempty"` // a shell command that judges
	Setup  string   `json:"setup,omitempty"` // a shell command that prepares a worktree
	Copy   []string `json:"copy,omitempty"`  // files to copy into it
	// PermissionMode is the agents' own; empty means that they edit without asking.
	PermissionMode string   `json:"permission_mode,omitempty"`
	Tools          []string `json:"tools,omitzero"`
}

// Race is a race, as its log says.
type Race struct {
	ID        string      `json:"id"` // of the session that holds its log
	Task      string      `json:"task"`
	Cwd       string      `json:"cwd"`
	Check     string      `json:"check,omitempty"`
	State     State       `json:"state"`
	Kept      string      `json:"kept,omitempty"` // the racer
	Racers    []Racer     `json:"racers"`
	CreatedAt terret.Time `json:"created_at"`

	request Request
	base    string
}

// Racer is one of the agents.
type Racer struct {
	Name        string      `json:"name"`
	Agent       string      `json:"agent"`
	State       State       `json:"state"` // running, finished, failed
	Session     string      `json:"session"`
	Dir         string      `json:"dir,omitempty"` // its worktree, while there is one
	Answer      string      `json:"answer,omitempty"`
	Error       string      `json:"error,omitempty"`
	Files       int         `json:"files"`
	Insertions  int         `json:"insertions"`
	Deletions   int         `json:"deletions"`
	Check       string      `json:"check,omitempty"` // passed or failed
	CheckOutput string      `json:"check_output,omitempty"`
	CostUSD     terret.Cost `json:"cost_usd"`
	DurationMS  int64       `json:"duration_ms"`
	Diff        string      `json:"diff,omitempty"` // if it was asked for

	kind     terret.ErrorCode // of Error
	prepared string           // the mark of what its worktree began with
}

// logged is a racer as the log holds it.
type logged struct {
	*Racer
	Kind terret.ErrorCode `json:"kind,omitempty"`
}

// definition is what a race was started with, in its log.
type definition struct {
	Request
	Base string `json:"base"` // the commit that all begin with
}

// Runner runs races. Its log must have a Home, which also holds the worktrees.
type Runner struct {
	workflow.Log
	Providers *team.Providers
	// Env is the environment of checks and of the command that prepares worktrees.
	Env []string
}

// maxRacers bounds a race.
const maxRacers = 10

// Start makes a race. Nothing runs yet: Run does.
func (r *Runner) Start(ctx context.Context, by string, q Request) (Race, error) {
	switch {
	case r.Home == "":
		return Race{}, terret.Invalid("home", "a race needs a data folder for its worktrees, but there is none")
	case q.Task == "":
		return Race{}, terret.Invalid("task", "it is empty; say what the agents should do")
	case len(q.Agents) < 2:
		return Race{}, terret.Invalid("agents", "a race needs at least two agents")
	case len(q.Agents) > maxRacers:
		return Race{}, terret.Invalid("agents", "a race has at most %d agents", maxRacers)
	}
	for _, a := range q.Agents {
		if _, err := r.Providers.Get(a); err != nil {
			return Race{}, err
		}
	}
	base, err := worktree.Head(ctx, q.Cwd)
	if err != nil {
		if ctx.Err() != nil {
			return Race{}, err
		}
		return Race{}, terret.Invalid("cwd", "%w", err)
	}
	id, err := r.Open(ctx, by, kind, q.Task, definition{q, base})
	if err != nil {
		return Race{}, err
	}
	return r.Get(ctx, id)
}

// load reads a race from its log.
func (r *Runner) load(ctx context.Context, id string) (Race, error) {
	var def definition
	s, events, err := r.Read(ctx, kind, id, &def)
	if err != nil {
		return Race{}, err
	}
	out := Race{ID: id, Task: def.Task, Cwd: def.Cwd, Check: def.Check, State: Running, Racers: []Racer{}, CreatedAt: s.CreatedAt, request: def.Request, base: def.Base}
	for i, agent := range def.Agents {
		name := fmt.Sprintf("%s-%d", agent, i+1)
		out.Racers = append(out.Racers, Racer{Name: name, Agent: agent, State: Running, Session: team.AskSession(name, id+name)})
	}
	for _, d := range events {
		if err := out.apply(d); err != nil {
			return out, err
		}
	}
	if out.State == Running && !slices.ContainsFunc(out.Racers, func(x Racer) bool { return x.State == Running }) {
		out.State = Finished
	}
	return out, nil
}

func (x *Race) apply(data terret.Data) error {
	switch d := data.(type) {
	case terret.TaskStart:
		if i := x.find(d.ID); i >= 0 {
			x.Racers[i].Dir = d.Description
		}
	case terret.TaskUpdate:
		if d.ID == x.ID && d.Status == string(Kept) {
			x.Kept = d.Text
		}
		if i := x.find(d.ID); i >= 0 && d.Status == prepared {
			x.Racers[i].prepared = d.Text
		}
	case terret.TaskEnd:
		if d.ID == x.ID {
			x.State = State(d.Status)
			for i := range x.Racers {
				x.Racers[i].Dir = ""
			}
		}
		if i := x.find(d.ID); i >= 0 {
			in := logged{Racer: &x.Racers[i]}
			err := json.Unmarshal([]byte(d.Summary), &in)
			in.kind = in.Kind
			return err
		}
	}
	return nil
}

// find returns the place of a racer, or -1.
func (x *Race) find(name string) int {
	return slices.IndexFunc(x.Racers, func(r Racer) bool { return r.Name == name })
}

// Get returns a race.
func (r *Runner) Get(ctx context.Context, id string) (Race, error) {
	out, err := r.load(ctx, id)
	if err == nil && out.State == Running {
		var alone bool
		if alone, err = r.Alone(ctx, id); !alone || err != nil {
			return out, err
		}
		if out, err = r.load(ctx, id); out.State == Running { // it did not just end
			out.State = Interrupted
		}
	}
	return out, err
}

// Diffs fills in the diffs of a race's worktrees.
func (r *Runner) Diffs(ctx context.Context, x *Race) error {
	for i := range x.Racers {
		if x.Racers[i].Dir == "" {
			continue
		}
		diff, err := worktree.Diff(ctx, x.Racers[i].Dir, x.base)
		if err != nil {
			return terret.Errorf(terret.CodeConflict, "the worktree of %s cannot be read: %w", x.Racers[i].Name, err)
		}
		x.Racers[i].Diff = diff
	}
	return nil
}

// All lists all races, the newest first.
func (r *Runner) All(ctx context.Context) ([]Race, error) {
	out := []Race{}
	err := r.Each(ctx, func(id string) error {
		one, err := r.Get(ctx, id)
		if err == nil {
			out = append(out, one)
		}
		return err
	})
	return out, err
}

// Failed is the kind of error that the first agent failed with, if all agents failed. Else
// it is empty.
func (x Race) Failed() terret.ErrorCode {
	if len(x.Racers) == 0 || slices.ContainsFunc(x.Racers, func(r Racer) bool { return r.State != Failed }) {
		return ""
	}
	return cmp.Or(x.Racers[0].kind, terret.CodeExecutionError) // older logs do not say
}

// Best is the racer that did best: of those that finished, changed something and passed
// the check, the fastest. It is empty if there is none.
func (x Race) Best() string {
	var good []Racer
	for _, r := range x.Racers {
		if r.State == Finished && r.Files > 0 && r.Check != checkFailed {
			good = append(good, r)
		}
	}
	if len(good) == 0 {
		return ""
	}
	return slices.MinFunc(good, func(a, b Racer) int { return cmp.Compare(a.DurationMS, b.DurationMS) }).Name
}

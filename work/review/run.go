// Package review has agents review changes: a template says what to look for, agents
// answer with a verdict and findings, and each finding is checked against the diff.
// Several agents make an ensemble, whose findings are merged.
//
// A review is a log (see [workflow.Log]), and each question has an id that is computed
// from the review's, so a review that was cut off can be run again: agents that had
// answered are not asked again.
package review

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/worktree"
	"github.com/terret-dev/terret/work/team"
	"github.com/terret-dev/terret/work/workflow"
)

// kind is the kind of log.
const kind = "review"

// maxRepairs is how often an agent may answer again whose answer cannot be read.
const maxRepairs = 2

// Runner runs reviews.
type Runner struct {
	workflow.Log
	Providers *team.Providers
	// Default names the agent of reviews that name none; nil means that all must name one.
	Default func(ctx context.Context, cwd string) string
}

// Request is a review to make.
type Request struct {
	Template Template `json:"template"`
	Cwd      string   `json:"cwd"`
	Base     string   `json:"base,omitempty"`   // instead of the template's
	Input    string   `json:"input,omitempty"`  // what {{input}} stands for
	Agents   []string `json:"agents,omitempty"` // empty means the template's, or the default
	Model    string   `json:"model,omitempty"`  // instead of the template's
}

// definition is what a review was started with, in its log.
type definition struct {
	Request
	Diff string `json:"diff"`
}

// Start makes a review. It asks nobody yet: Run does. If there is nothing to review, the
// report says so, and has no id.
func (r *Runner) Start(ctx context.Context, by string, q Request) (Report, error) {
	diff, err := worktree.Diff(ctx, q.Cwd, cmp.Or(q.Base, q.Template.Diff.Base))
	if err != nil {
		if ctx.Err() != nil {
			return Report{}, err
		}
		return Report{}, terret.Invalid("diff", "%w", err)
	}
	if len(parseDiff(diff, q.Template.Diff).files) == 0 && (!q.Template.Diff.Optional || q.Input == "") {
		return Report{Template: q.Template.Name, Cwd: q.Cwd, State: completed, Empty: true, Findings: []Finding{}, Agents: []AgentReport{}}, nil
	}
	if len(q.Agents) == 0 {
		agent := q.Template.Agent
		if agent == "" && r.Default != nil {
			agent = r.Default(ctx, q.Cwd)
		}
		if agent == "" {
			return Report{}, terret.Invalid("agents", "neither the request nor the template names an agent")
		}
		q.Agents = []string{agent}
	}
	for _, a := range q.Agents {
		if _, err := r.Providers.Get(a); err != nil {
			return Report{}, err
		}
	}
	id, err := r.Open(ctx, by, kind, q.Template.Name, definition{q, diff})
	if err != nil {
		return Report{}, err
	}
	return r.Get(ctx, id)
}

// The states of a review.
const (
	running     = "running"
	interrupted = "interrupted"
	completed   = "completed"
	failed      = "failed"
)

// load reads a review from its log.
func (r *Runner) load(ctx context.Context, id string) (Report, definition, error) {
	var def definition
	s, events, err := r.Read(ctx, kind, id, &def)
	if err != nil {
		return Report{}, def, err
	}
	out := Report{ID: id, Template: def.Template.Name, Cwd: def.Cwd, State: running, Findings: []Finding{}, Agents: []AgentReport{}, CreatedAt: s.CreatedAt}
	for _, a := range def.Agents {
		out.Agents = append(out.Agents, AgentReport{Agent: a})
	}
	for _, d := range events {
		if end, ok := d.(terret.TaskEnd); ok && end.ID == id {
			err = json.Unmarshal([]byte(end.Summary), &out)
			out.ID, out.CreatedAt = id, s.CreatedAt
		}
	}
	return out, def, err
}

// Get returns a review.
func (r *Runner) Get(ctx context.Context, id string) (Report, error) {
	out, _, err := r.load(ctx, id)
	if err == nil && out.State == running {
		var alone bool
		if alone, err = r.Alone(ctx, id); !alone || err != nil {
			return out, err
		}
		if out, _, err = r.load(ctx, id); out.State == running { // it did not just end
			out.State = interrupted
		}
	}
	return out, err
}

// Diff returns the change that a review is about, without the files it leaves out.
func (r *Runner) Diff(ctx context.Context, id string) (string, error) {
	_, def, err := r.load(ctx, id)
	var out strings.Builder
	for _, f := range parseDiff(def.Diff, def.Template.Diff).files {
		out.WriteString(f.Text)
	}
	return out.String(), err
}

// All lists all reviews, the newest first.
func (r *Runner) All(ctx context.Context) ([]Report, error) {
	out := []Report{}
	err := r.Each(ctx, func(id string) error {
		one, err := r.Get(ctx, id)
		if err == nil {
			out = append(out, one)
		}
		return err
	})
	return out, err
}

// Run asks the agents, all at the same time, and returns the report. An agent that fails
// is named in it, and the verdict is not PASS then; if all fail, the review has failed.
func (r *Runner) Run(ctx context.Context, by, id string) (Report, error) {
	lock, err := r.Lock(ctx, id)
	if err != nil {
		return Report{}, err
	}
	defer lock.Close()
	out, def, err := r.load(ctx, id)
	if err != nil || out.State != running {
		return out, err
	}
	diff := parseDiff(def.Diff, def.Template.Diff)
	text, left := diff.prompt()
	prompt := placeholders.ReplaceAllStringFunc(def.Template.Prompt, func(found string) string {
		if placeholders.FindStringSubmatch(found)[1] == "input" {
			return def.Input
		}
		return text
	}) + "\n\n" + form
	out.Left = left
	var work sync.WaitGroup
	for i := range out.Agents {
		work.Go(func() { out.Agents[i] = r.ask(ctx, by, id, i, def, diff, prompt) })
	}
	work.Wait()
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	out.conclude()
	summary, err := json.Marshal(out)
	if err != nil {
		return out, err
	}
	if err := r.Note(ctx, id, by, terret.TaskEnd{ID: id, Status: out.State, Summary: string(summary)}); err != nil {
		return out, err
	}
	return out, os.Remove(lock.Name())
}

// conclude makes one report of those of the agents.
func (out *Report) conclude() {
	out.State = failed
	var words []string
	for _, a := range out.Agents {
		out.CostUSD += a.CostUSD
		if a.Error != "" {
			continue
		}
		out.State = completed
		if a.Summary != "" && len(out.Agents) > 1 {
			words = append(words, a.Agent+": "+a.Summary)
		} else if a.Summary != "" {
			words = append(words, a.Summary)
		}
	}
	out.Summary = strings.Join(words, "\n")
	if out.State == completed {
		out.Verdict, out.Findings = merge(out.Agents)
	}
	if out.Verdict == Pass && len(out.gaps()) > 0 {
		out.Verdict = Concerns // a person should look at what no agent has reviewed
	}
}

// ask has one agent review, and answer again if its answer cannot be read.
func (r *Runner) ask(ctx context.Context, by, id string, i int, def definition, diff change, prompt string) AgentReport {
	agent := def.Agents[i]
	out := AgentReport{Agent: agent}
	task := fmt.Sprintf("%s-%d", agent, i+1)
	question := id + task
	c := team.Config{
		Name: task, Title: fmt.Sprintf("Review of %s (%s)", filepath.Base(def.Cwd), task), Type: agent, Model: cmp.Or(def.Model, def.Template.Model), Cwd: def.Cwd, Instructions: def.Template.System, AllowedTools: def.Template.Tools,
		PermissionMode: def.Template.PermissionMode, SettingSources: def.Template.SettingSources, MaxCostUSD: terret.CostOf(def.Template.MaxCostUSD),
	}
	c.Careful = c.PermissionMode == ""
	if slices.Equal(c.AllowedTools, []string{allTools}) {
		c.AllowedTools = nil
	}
	out.Session = team.AskSession(task, question)
	err := r.Note(ctx, id, by, terret.TaskStart{ID: task, Type: "reviewer", Description: agent})
	var a answer
	for n := 0; err == nil && n <= maxRepairs; n++ {
		var said team.Answer
		said, err = team.Ask(ctx, r.Providers, c, question, n, prompt)
		out.CostUSD += said.CostUSD
		if err != nil && terret.AsError(err).Code == terret.CodeProcessFailed && n < maxRepairs && ctx.Err() == nil {
			err = nil // a crash cut it off
			continue
		}
		if err != nil {
			break
		}
		var bad error
		if a, bad = parseAnswer(said.Text); bad == nil {
			break
		}
		if n == maxRepairs {
			err = terret.Errorf(terret.CodeMalformedOutput, "its answer cannot be read: %w", bad)
			break
		}
		out.Repairs++
		prompt = "Your answer cannot be read: " + bad.Error() + ".\n\n" + form
	}
	status := completed
	if err != nil {
		status, out.Error = failed, err.Error()
	} else {
		out.Verdict, out.Summary, out.Findings = a.Verdict, a.Summary, a.Findings
		for i := range out.Findings {
			f := &out.Findings[i]
			f.Verified = f.File != "" && diff.shows(f.File, f.Line)
		}
	}
	if ctx.Err() == nil {
		if noteErr := r.Note(ctx, id, by, terret.TaskEnd{ID: task, Status: status, Summary: string(out.Verdict)}); noteErr != nil {
			out.Error = errors.Join(err, noteErr).Error()
		}
	}
	return out
}

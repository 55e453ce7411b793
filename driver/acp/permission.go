package acp

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/rpc"
)

// answer answers a request of the agent. It runs in a goroutine of its own.
func (a *agent) answer(ctx context.Context, p *process, m rpc.Message) (any, error) {
	switch m.Method {
	case methodPermission:
		return a.permission(ctx, p, m)
	case methodElicit:
		return a.elicit(ctx, p, m)
	}
	if !a.d.p.quirks.ignores(m.Method) && !strings.HasPrefix(m.Method, "fs/") && !strings.HasPrefix(m.Method, "terminal/") {
		if err := a.tell(m.Raw, func() []terret.Event { return unknown(m.Method) }); err != nil {
			return nil, err
		}
	}
	return nil, rpc.MethodNotFound(m.Method)
}

// asking is a request that waits for its decision.
type asking struct {
	t   *turn
	c   *tool
	ask terret.Ask
}

// permission asks whether a tool may run, and answers the agent.
func (a *agent) permission(ctx context.Context, p *process, m rpc.Message) (any, error) {
	var params permissionParams
	if err := m.Decode(&params); err != nil {
		return nil, err
	}
	q, err := a.prepare(p, m, params)
	if err != nil {
		return nil, err
	}
	if q == nil {
		return cancelled(), nil // no turn runs, or it is to end
	}
	defer q.t.asks.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(q.t.life, func() { cancel(context.Cause(q.t.life)) })()
	d, err := a.Req.Host.Ask(ctx, q.ask)
	stop := a.decided(q, d, err)
	if stop {
		_ = a.cancel(q.t)
	}
	if err != nil {
		return cancelled(), nil //nolint:nilerr // nobody decided: the safe answer
	}
	_ = a.Req.Host.Delivered(ctx, d.RequestID) // for the record only
	return answerOf(params.Options, d), nil
}

// askable is the turn in which a process may ask, or nil: none runs, or another process
// has it, or it is to end. a.telling is held.
func (a *agent) askable(p *process) *turn {
	if t := a.turn; t != nil && t.p == p && !t.cancelled && context.Cause(t.life) == nil {
		return t
	}
	return nil
}

// prepare tells the call that a request is about, and makes the request. It returns nil
// if there is nobody to ask.
func (a *agent) prepare(p *process, m rpc.Message, params permissionParams) (*asking, error) {
	a.telling.Lock()
	defer a.telling.Unlock()
	t := a.askable(p)
	if t == nil {
		return nil, nil
	}
	t.heard = time.Now()
	if params.ToolCall.ID == "" {
		params.ToolCall.ID = p.id + "/" + m.ID
	}
	c, events := t.upsert(params.ToolCall)
	events = append(events, t.tell(c)...)
	if err := a.emit(m.Raw, events); err != nil {
		return nil, err
	}
	t.open++
	t.asks.Add(1)
	q := &asking{t: t, c: c, ask: terret.Ask{Key: p.id + "/" + m.ID, Gate: terret.GatePermission}}
	q.ask.Event = terret.Event{Source: m.Method, Data: terret.PermissionRequest{
		ToolID: c.id, Tool: c.name, Class: t.classOf(c), Input: t.callInput(c), Title: cmp.Or(brief.Line(strings.TrimSpace(c.title)), c.name), Diff: t.diff(c),
	}}
	if plan, ok := t.planOf(c); ok {
		q.ask.Gate, q.ask.Event.Data = terret.GatePlan, plan
	}
	return q, nil
}

// planOf is the plan that a call presents, if it presents one. The text may be missing:
// the plan of a tool that is known to present plans must not become a plain permission,
// which a rule could allow.
func (t *turn) planOf(c *tool) (terret.PlanRequest, bool) {
	var input struct {
		Plan string `json:"plan"`
		File string `json:"planFilePath"`
	}
	if c.kind != "switch_mode" {
		return terret.PlanRequest{}, false
	}
	seat.Decode(c.input, &input)
	plan := terret.PlanRequest{ToolID: c.id, Plan: cmp.Or(input.Plan, terret.TextOf(c.shown())), File: input.File}
	return plan, plan.Plan != "" || c.name == t.profile.quirks.planTool
}

// decided takes in a decision, and reports whether the turn is to end with it.
func (a *agent) decided(q *asking, d terret.Decision, err error) (stop bool) {
	a.telling.Lock()
	defer a.telling.Unlock()
	q.t.open--
	q.t.heard = time.Now()
	if err != nil || d.Behavior == terret.BehaviorAllow || d.Behavior == terret.BehaviorApprove {
		return false
	}
	if d.Source != terret.ByInterrupt && d.Source != terret.ByAgentExit {
		q.c.denied, q.c.reason = true, cmp.Or(d.Reason, "denied")
		q.t.denials = append(q.t.denials, terret.Denial{ToolID: q.c.id, Tool: q.c.name, Input: q.t.callInput(q.c), Reason: brief.Cut(q.c.reason, 500)})
		if !q.c.done { // some agents say no more of it
			if err := a.emit(nil, q.t.fail(q.c, "denied", false)); err != nil {
				a.Req.Log.Warn("a denial could not be logged", "error", err)
			}
		}
	}
	stop = d.Interrupt && !q.t.cancelled
	if stop {
		q.t.stop()
	}
	return stop
}

// answerOf picks the option that says what was decided, by its kind. A decision for
// more than once is Terret's to remember: some agents would write it into files that
// outlive the session.
func answerOf(options []choice, d terret.Decision) outcome {
	kinds := []string{"reject_once", "reject_always"}
	switch {
	case d.Source == terret.ByInterrupt || d.Source == terret.ByAgentExit || d.Interrupt:
		return cancelled()
	case d.Behavior == terret.BehaviorAllow || d.Behavior == terret.BehaviorApprove:
		kinds = []string{"allow_once", "allow_always"}
	}
	for _, kind := range kinds {
		for _, o := range options {
			if o.Kind == kind {
				var out outcome
				out.Outcome.Outcome, out.Outcome.OptionID = "selected", o.ID
				return out
			}
		}
	}
	return cancelled()
}

// cancelled is the answer to a request that nobody decides.
func cancelled() outcome {
	var out outcome
	out.Outcome.Outcome = "cancelled"
	return out
}

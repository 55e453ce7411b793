package engine

import (
	"context"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// openOf lists the open requests that match.
func (l *live) openOf(which func(*request) bool) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []*request
	for _, r := range l.open {
		if which(r) {
			out = append(out, r)
		}
	}
	return out
}

// settleRequest appends the decision of a request. l.mu must be held; the caller must
// close r.decided once it is committed.
func (l *live) settleRequest(out []terret.Event, r *request, d terret.Decision) []terret.Event {
	d.RequestID, d.Gate = r.id, r.ask.Gate
	r.settled, r.decision = true, d
	delete(l.open, r.id)
	l.spoke(r.host) // the agent begins to work now
	out = l.put(out, terret.Event{By: d.By, Actor: r.ask.Event.Actor, ParentTool: r.ask.Event.ParentTool, Data: d.Data()})
	if d.Gate == terret.GatePlan && d.Behavior == terret.BehaviorApprove && l.session.Policy == terret.PolicyPlan {
		next := l.policyAfterPlan(d.NextMode)
		out = l.put(out, terret.Event{By: d.By, Data: terret.SessionUpdated{Policy: &next}})
	}
	return out
}

// policyAfterPlan is the policy for carrying out an approved plan. It never allows more
// than edits: approving a plan does not say more.
func (l *live) policyAfterPlan(mode string) terret.Policy {
	if l.e.about(l.session.Agent).Modes[mode] == terret.PolicyAcceptEdits {
		return terret.PolicyAcceptEdits
	}
	return terret.PolicyAsk
}

// answer blocks until the request is decided.
func (r *request) answer(ctx context.Context) (terret.Decision, error) {
	select {
	case <-r.decided:
		return r.decision, r.err
	case <-ctx.Done():
		return terret.Decision{}, context.Cause(ctx)
	}
}

// awaitSomebody waits for somebody to decide. It decides itself when the time is up or the
// agent no longer waits.
func (r *request) awaitSomebody(ctx context.Context) (terret.Decision, error) {
	var expired <-chan time.Time
	if r.limit > 0 {
		t := time.NewTimer(r.limit)
		defer t.Stop()
		expired = t.C
	}
	select {
	case <-r.decided:
	case <-expired:
		r.l.e.giveUp(r, terret.ByTimeout)
	case <-ctx.Done():
		r.l.e.giveUp(r, terret.ByAgentExit)
	}
	<-r.decided // giveUp makes sure of that
	return r.decision, r.err
}

// givenUp says why a request was decided although nobody answered it.
var givenUp = map[terret.DecisionSource]string{
	terret.ByTimeout:   "nobody answered in time",
	terret.ByAgentExit: "the agent no longer waits for an answer",
	terret.ByInterrupt: "the turn was stopped",
	terret.ByChannel:   "whoever wanted to decide has left",
}

// giveUp decides a request that nobody has decided, with the safe answer at its gate.
// If somebody was faster, that decision stands. It returns when the decision is
// committed.
func (e *Engine) giveUp(r *request, source terret.DecisionSource) {
	if r.filed.Wait() != nil {
		return // the request is not in the log
	}
	d := desk.Refusal(r.ask.Gate, source, givenUp[source])
	if source == terret.ByTimeout || source == terret.ByChannel {
		d.Behavior = desk.Fallback(r.ask)
	}
	d.RequestID = r.id
	if err := e.store.Answer(context.Background(), d); err != nil {
		stored, rErr := e.store.Request(context.Background(), r.id)
		if rErr == nil && stored.Decision != nil {
			d = *stored.Decision
		}
		// Otherwise it has expired, so that nobody else can answer it, or the store
		// fails, which the commit will report.
	}
	r.l.writeDecision(r.id, d)
	<-r.decided
}

// fail ends the wait for a decision that cannot be written. l.mu must be held.
func (r *request) fail(err error) {
	if r.host.asked[r.ask.Key] == r {
		delete(r.host.asked, r.ask.Key)
	}
	if !r.settled {
		r.settled, r.err = true, err
		delete(r.l.open, r.id)
		close(r.decided)
	}
}

// writeDecision writes the decision of an open request to the log and lets the agent have it.
// It does nothing if the request is no longer open, and returns when it is done.
func (l *live) writeDecision(id string, d terret.Decision) {
	l.mu.Lock()
	r := l.open[id]
	if r == nil {
		l.mu.Unlock()
		return
	}
	a := l.journal.Append(&journal.Write{Events: l.settleRequest(nil, r, d)})
	l.mu.Unlock()
	if err := a.Wait(); err != nil {
		r.err = err
	}
	close(r.decided)
}

// overruled is the decision that counts instead of the opinion, if there is one: no tool
// runs in a turn that was stopped, and nobody waits for a decider who has left. l.mu must
// be held.
func (r *request) overruled(opinion *terret.Decision) *terret.Decision {
	l, gate, in := r.l, r.ask.Gate, r.host.in
	stopped := false
	if l.turn != nil {
		in, stopped = l.turn.in, l.turn.stop != nil
	}
	switch {
	case stopped && desk.AboutTool(gate) && (opinion == nil || opinion.Behavior != terret.BehaviorDeny):
		return &terret.Decision{Behavior: terret.BehaviorDeny, Source: terret.ByInterrupt, Reason: givenUp[terret.ByInterrupt]}
	case opinion != nil:
		return nil
	case stopped:
		d := desk.Refusal(gate, terret.ByInterrupt, givenUp[terret.ByInterrupt])
		return &d
	case desk.IsHook(gate) && !l.e.desk.Wants(l.id, in, gate):
		return &terret.Decision{Behavior: desk.Fallback(r.ask), Source: terret.ByChannel, Reason: givenUp[terret.ByChannel]}
	}
	return nil
}

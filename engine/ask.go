package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
)

// request is an agent's request that waits for its decision.
type request struct {
	l     *live
	host  *host
	id    string
	ask   terret.Ask
	print string        // fingerprint of what was asked
	limit time.Duration // how long it may wait; zero means no limit
	turn  string
	filed *journal.Write // the write of its own event

	// Guarded by l.mu until decided is closed.
	settled  bool // its decision is on its way into the log
	decision terret.Decision
	err      error
	decided  chan struct{}
}

// Ask implements terret.Host.
func (h *host) Ask(ctx context.Context, q terret.Ask) (terret.Decision, error) {
	if q.Event.Data == nil { // the store would take nothing more of this session
		return terret.Decision{}, terret.Errorf(terret.CodeInternal, "the driver asked at the gate %s without saying for what: its event has no data", q.Gate)
	}
	l := h.l
	print := fingerprint(q)
	if err := h.enter(ctx); err != nil {
		return terret.Decision{}, err
	}
	if r := h.asked[q.Key]; r != nil && r.print == print {
		l.mu.Unlock()
		return r.wait(ctx)
	}
	r := &request{l: l, host: h, id: terret.NewID(terret.PrefixRequest), ask: q, print: print, decided: make(chan struct{})}
	h.asked[q.Key] = r
	l.spoke(h)
	session := l.session
	in := h.in
	if l.turn != nil {
		in = l.turn.in
	}
	l.mu.Unlock()

	r.limit = l.e.desk.Timeout(in, q)
	r.ask.Event.Data = l.e.desk.Suggest(session, q.Event.Data)
	opinion, hits := l.e.desk.Opine(ctx, session, in, q)
	filed, err := r.file(ctx, opinion, hits)
	if err != nil {
		return terret.Decision{}, err
	}
	if desk.AboutTool(q.Gate) {
		l.recordBefore(r.turn) // the agent may change something once it has the answer
	}
	if filed {
		return r.wait(ctx)
	}
	return r.await(ctx)
}

// recordBefore records the folder before that turn changes it, if the turn is running.
func (l *live) recordBefore(turn string) {
	if t := l.current(); t != nil && t.id == turn {
		l.e.recordBefore(l, t)
	}
}

// fingerprint distinguishes requests for which an agent uses the same key.
func fingerprint(q terret.Ask) string {
	data, err := json.Marshal(q.Event.Data)
	if err != nil {
		return ""
	}
	return string(q.Gate) + terret.InputHash(data)
}

// enter locks l.mu once the agent may ask. While the end of a turn is on its way into
// the log it waits: the request would come too late to be decided before it. While the
// session is quiet it waits, too: no turn can begin.
func (h *host) enter(ctx context.Context) error {
	l := h.l
	for {
		l.mu.Lock()
		err := h.usable()
		if err == nil && (h.leaving || l.turn == nil && l.unusable() != nil) {
			err = errClosed
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			l.mu.Unlock()
			return err
		}
		var over <-chan struct{}
		switch l.phase {
		case settling:
			over = l.turn.done
		case quiet:
			over = l.resumed
		case idle, starting, running, stopping, leaving, broken, gone:
			return nil
		}
		l.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		case <-h.life.Done():
		}
	}
}

// file writes the request to the log, together with its decision if there already is
// one, in one transaction. It reports whether there is one.
func (r *request) file(ctx context.Context, opinion *terret.Decision, hits map[string]int64) (decided bool, err error) {
	l, h := r.l, r.host
	if err := h.enter(ctx); err != nil {
		l.mu.Lock()
		r.fail(err)
		l.mu.Unlock()
		return false, err
	}
	if d := r.overruled(opinion); d != nil {
		opinion, hits = d, nil
	}
	ev := r.ask.Event
	ev.Data = desk.WithRequestID(ev.Data, r.id)
	ev.Expects = &terret.Expects{RequestID: r.id, Gate: r.ask.Gate, Fallback: desk.Fallback(r.ask)}
	if r.limit > 0 && opinion == nil {
		at := terret.TimeOf(time.Now().Add(r.limit))
		ev.Expects.ExpiresAt = &at
	}
	var out []terret.Event
	if l.turn == nil && ev.Kind().InTurn() {
		out = l.beginBackground(out, h)
	}
	if l.turn != nil {
		r.turn = l.turn.id
	}
	if opinion == nil {
		l.open[r.id] = r
	}
	out = l.put(out, ev)
	if opinion != nil {
		out = l.settleRequest(out, r, *opinion)
	}
	r.ask.Event.Data, r.ask.Event.Raw = nil, nil // they are in the log
	r.filed = l.journal.Append(&journal.Write{Events: out, Hits: hits})
	l.mu.Unlock()
	if opinion != nil && desk.NoOpinion(*opinion) {
		close(r.decided)
		return true, nil // "no opinion" need not wait for the disk
	}
	err = r.filed.Wait()
	switch {
	case err != nil:
		l.mu.Lock()
		r.settled = r.settled && opinion == nil // nobody else knows that decision
		r.fail(err)
		l.mu.Unlock()
	case opinion != nil:
		close(r.decided)
	}
	return opinion != nil, err
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

// wait blocks until the request is decided.
func (r *request) wait(ctx context.Context) (terret.Decision, error) {
	select {
	case <-r.decided:
		return r.decision, r.err
	case <-ctx.Done():
		return terret.Decision{}, context.Cause(ctx)
	}
}

// await waits for somebody to decide. It decides itself when the time is up or the
// agent no longer waits.
func (r *request) await(ctx context.Context) (terret.Decision, error) {
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
	r.l.decided(r.id, d)
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

// decided writes the decision of an open request to the log and lets the agent have it.
// It does nothing if the request is no longer open, and returns when it is done.
func (l *live) decided(id string, d terret.Decision) {
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

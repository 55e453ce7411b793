package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/desk"
	"github.com/terret-dev/terret/engine/internal/journal"
)

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
		return r.answer(ctx)
	}
	r := &request{l: l, host: h, id: terret.NewID(terret.PrefixRequest), ask: q, print: print, decided: make(chan struct{})}
	h.asked[q.Key] = r
	l.spoke(h)
	session := l.session
	in := h.in
	judging, done := context.WithCancel(ctx)
	defer done()
	if l.turn != nil {
		in = l.turn.in
		if l.turn.ctx != nil {
			defer context.AfterFunc(l.turn.ctx, done)() // nobody waits for an opinion once it is stopped
		}
	}
	l.mu.Unlock()

	r.limit = l.e.desk.Timeout(in, q)
	r.ask.Event.Data = l.e.desk.Suggest(judging, session, q.Event.Data)
	opinion, hits := l.e.desk.Opine(judging, session, in, q)
	if judging.Err() != nil {
		opinion, hits = nil, nil // it was not judged to the end
	}
	filed, err := r.file(ctx, opinion, hits)
	if err != nil {
		return terret.Decision{}, err
	}
	if desk.AboutTool(q.Gate) {
		l.snapshotBefore(r.turn) // the agent may change something once it has the answer
	}
	if filed {
		return r.answer(ctx)
	}
	return r.awaitSomebody(ctx)
}

// snapshotBefore records the folder before that turn changes it, if the turn is running.
func (l *live) snapshotBefore(turn string) {
	if t := l.current(); t != nil && t.id == turn {
		l.e.snapshotBefore(l, t)
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
	ev.Expects = &terret.Expects{RequestID: r.id, Gate: r.ask.Gate, Fallback: desk.Fallback(r.ask), Decided: opinion != nil}
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

package native

import (
	"context"
	"errors"
	"time"

	"github.com/terret-dev/terret"
)

const (
	// maxAttempts bounds how often a call is tried.
	maxAttempts = 6
	// patientFor is how often it is tried before a fallback model gets it.
	patientFor = 3
)

// call asks the model once, reports what it says, and retries if the provider says that
// this may help. It returns the id of the message.
func (t *turnRun) call(ctx context.Context) (id string, r reply, err error) {
	m, q := t.query()
	for attempt := 1; ; attempt++ {
		s := &speech{t: t, id: terret.NewID(terret.PrefixMessage)}
		began := time.Now()
		r, err := t.ask(ctx, m, q, func(p piece) error { return s.tell(ctx, p) })
		t.api += time.Since(began)
		t.spend(m, r)
		if err == nil {
			err = s.whole(ctx, &r)
			return s.id, r, err
		}
		s.breakOff(ctx)
		if ctx.Err() != nil {
			return "", reply{}, context.Cause(ctx)
		}
		if f, ok := errors.AsType[*failure](err); ok && f.tooLong && !t.compacted {
			t.compacted = true
			if err := t.compact(ctx, "auto", ""); err != nil {
				return "", reply{}, err
			}
			m, q = t.query()
			continue
		}
		if fell, err := t.fallBack(ctx, attempt, err); err != nil {
			return "", reply{}, err
		} else if fell {
			m, q = t.query()
			attempt = 0
			continue
		}
		if err := t.pause(ctx, attempt, err); err != nil {
			return "", reply{}, err
		}
	}
}

// fallBack has the fallback model answer for the rest of the turn, if there is one and
// the model does not exist, or has failed too often. It reports whether it does.
func (t *turnRun) fallBack(ctx context.Context, attempt int, why error) (bool, error) {
	from, to, e := t.model().id, t.settings.FallbackModel, terret.AsError(why)
	if to == "" || to == from || t.fell || e.Code != terret.CodeModelNotFound && (!e.Retryable || attempt < patientFor) {
		return false, nil
	}
	m, err := t.a.driver.choose(to, t.settings)
	if err != nil {
		t.a.req.Log.Warn("cannot use the fallback model", "model", to, "error", err)
		return false, nil
	}
	t.own, t.fell = m, true
	return true, t.emit(ctx, terret.ModelFallback{From: from, To: to, Why: e.Message})
}

// model is the one that answers in this turn.
func (t *turnRun) model() *chosen {
	if t.own != nil {
		return t.own
	}
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return t.a.model
}

// query is what the model is asked next.
func (t *turnRun) query() (*chosen, query) {
	q := query{system: t.system(), effort: t.settings.Effort}
	for _, x := range t.tools {
		q.tools = append(q.tools, x.spec())
	}
	if t.sub != nil {
		q.messages = repaired(t.sub.messages, nil)
		return t.model(), q
	}
	t.a.mu.Lock()
	q.messages = t.a.conversation()
	t.a.mu.Unlock()
	return t.model(), q
}

// pause waits before the next attempt, and reports that. It returns the error if a
// retry is no use.
func (t *turnRun) pause(ctx context.Context, attempt int, err error) error {
	e, ok := errors.AsType[*terret.Error](err)
	if !ok || !e.Retryable || attempt == maxAttempts {
		return err
	}
	var after time.Duration
	if f, ok := errors.AsType[*failure](err); ok {
		after = f.after
	}
	wait := t.a.driver.cfg.Backoff(attempt, after)
	if err := t.emit(ctx, terret.Retry{Attempt: attempt, Max: maxAttempts, DelayMS: wait.Milliseconds(), HTTPStatus: e.HTTPStatus, Error: e.Message}); err != nil {
		return err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// backoff is the default of Config.Backoff.
func backoff(attempt int, after time.Duration) time.Duration {
	if after > 0 {
		return min(after, time.Minute)
	}
	return min(500*time.Millisecond<<min(attempt-1, 10), 16*time.Second)
}

// speech is one attempt at an answer. Each has its own message id, so that pieces of a
// broken-off answer never look like part of the next.
type speech struct {
	t     *turnRun
	id    string // of the message
	calls []begun
}

// begun is an announced call.
type begun struct {
	index    int
	id, name string
}

// tell passes on a piece of the answer.
func (s *speech) tell(ctx context.Context, p piece) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var data terret.Data
	switch {
	case p.toolName != "":
		c := begun{index: p.index, id: s.t.a.callID(p.toolID), name: p.toolName}
		s.calls = append(s.calls, c)
		return s.t.emit(ctx, terret.ToolStart{ToolID: c.id, Name: c.name, Class: classOf(c.name), MessageID: s.id, Index: c.index})
	case p.input != "":
		data = terret.ToolDelta{ToolID: s.callAt(p.index), MessageID: s.id, Index: p.index, PartialInput: p.input}
	case p.thinking != "":
		data = terret.ReasoningDelta{MessageID: s.id, Index: p.index, Text: p.thinking}
	case p.text != "":
		data = terret.MessageDelta{MessageID: s.id, Index: p.index, Text: p.text}
	}
	if data == nil || s.t.settings.WholeMessages {
		return nil
	}
	return s.t.emit(ctx, data)
}

func (s *speech) callAt(index int) string {
	for _, c := range s.calls {
		if c.index == index {
			return c.id
		}
	}
	return ""
}

// whole handles and reports the complete answer, whose calls have the announced ids.
func (s *speech) whole(ctx context.Context, r *reply) error {
	t, n := s.t, 0
	blocks := make([]terret.Block, len(r.blocks))
	for i, b := range r.blocks {
		if b.Type == terret.BlockToolUse {
			if n < len(s.calls) {
				b.ToolID = s.calls[n].id
			} else {
				b.ToolID = t.a.callID(b.ToolID)
			}
			n++
		}
		blocks[i] = b
	}
	r.blocks = blocks
	if text := terret.TextOf(blocks); text != "" {
		t.text = text
	}
	t.add(message{role: terret.RoleAssistant, blocks: blocks, turn: t.id})
	t.a.mu.Lock()
	used, _ := t.memory()
	*used = r.context
	t.a.mu.Unlock()
	whole := t.event(terret.MessageComplete{MessageID: s.id, Role: terret.RoleAssistant, Blocks: blocks})
	return t.a.host.Emit(ctx, []terret.Event{whole, t.used()}, nil)
}

// breakOff ends the announced calls of an incomplete answer.
func (s *speech) breakOff(ctx context.Context) {
	for _, c := range s.calls {
		_ = s.t.emit(context.WithoutCancel(ctx), terret.ToolFailure{ // if it fails, so does what follows
			ToolID: c.id, Name: c.name, Interrupted: true, Error: "the answer broke off before the call was complete",
		})
	}
}

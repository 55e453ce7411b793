package sdk

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/view"
)

// closeTimeout is how long Close waits before it uses force.
const closeTimeout = 10 * time.Second

// Session is a conversation; NewSession and Resume make one. Its methods may be called
// concurrently, but only one Receive loop may run at a time: a second one fails with code
// conflict.
type Session struct {
	id      string
	harness *assemble.Harness
	engine  *engine.Engine
	store   terret.Store

	mu        sync.Mutex
	receiving bool            // a Receive loop runs
	received  int64           // number of the last event that Receive handled
	thread    view.Neovate    // as of that event
	sent      []string        // turns that Receive has yielded no result for yet, in order
	sending   map[string]bool // those of them that the engine may not have yet

	desk     context.CancelFunc
	deciding sync.WaitGroup
	closing  sync.Once
	ended    chan struct{} // closed when Close begins
	closed   error
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Send sends a message. If the agent is busy, the message is queued.
func (s *Session) Send(ctx context.Context, text string) error {
	return s.SendMessage(ctx, UserMessage{Message: Text(text)})
}

// SendMessage sends a message with images, an id or a place in the thread.
//
// Agents cannot go back: a message may follow only the last one (no parent, or its
// UUID), or none (Root). Any other parent is a conflict; fork the session to continue
// from there.
func (s *Session) SendMessage(ctx context.Context, m UserMessage) error {
	if m.SessionID != "" && m.SessionID != s.id {
		return terret.Invalid("SessionID", "the message is for session %s, not %s", m.SessionID, s.id)
	}
	if m.UUID != "" && terret.MessageUUID("", m.UUID) != m.UUID {
		return terret.Invalid("UUID", "%q is not a UUID", m.UUID)
	}
	if m.Root && m.ParentUUID != nil {
		return terret.Invalid("ParentUUID", "a message that begins a thread follows no other")
	}
	blocks, err := m.blocks()
	if err != nil {
		return err
	}
	if s.isClosed() {
		return errClosed
	}
	p := terret.Prompt{Blocks: blocks, MessageID: m.UUID, Root: m.Root}
	if m.ParentUUID != nil {
		p.ParentID = *m.ParentUUID
	}
	turn := terret.NewID(terret.PrefixTurn)
	s.mu.Lock()
	s.sent = append(s.sent, turn)
	s.sending[turn] = true
	s.mu.Unlock()
	_, err = s.engine.Prompt(ctx, engine.PromptRequest{Session: s.id, Prompt: p, Turn: turn, When: engine.WhenQueue, By: "sdk"})
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sending, turn)
	if err != nil {
		s.sent = slices.DeleteFunc(s.sent, func(t string) bool { return t == turn })
	}
	return s.unlessClosed(err)
}

var errClosed = terret.Errorf(terret.CodeSessionClosed, "the session is closed")

func (s *Session) isClosed() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// Receive yields the complete messages of the next turn that was sent, and ends after
// its result. You may leave the loop early; the rest comes with the next Receive. If
// nothing was sent it fails at once, instead of waiting for ever. A message that somebody
// has dropped from the queue fails with code not_found. When the session is closed,
// Receive fails with code session_closed; when the context ends, with its cause.
func (s *Session) Receive(ctx context.Context) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		after, err := s.beginReceive()
		if err != nil {
			yield(nil, err)
			return
		}
		defer s.endReceive()
		for ev, err := range s.follow(ctx, after) {
			if err != nil {
				yield(nil, err)
				return
			}
			msg := s.take(ev)
			if msg == nil {
				if err := s.dropped(ctx, ev); err != nil {
					yield(nil, err)
					return
				}
				continue
			}
			_, last := msg.(*ResultMessage)
			if !yield(msg, nil) || last {
				return
			}
		}
	}
}

// beginReceive returns the number of the last event that was received.
func (s *Session) beginReceive() (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.isClosed():
		return 0, errClosed
	case s.receiving:
		return 0, terret.Errorf(terret.CodeConflict, "another Receive loop is running; only one may run at a time")
	case len(s.sent) == 0:
		return 0, terret.Errorf(terret.CodeConflict, "nothing to receive: no message was sent")
	}
	s.receiving = true
	return s.received, nil
}

func (s *Session) endReceive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receiving = false
}

// take records how far Receive is, and returns the event as a message. What others do
// in the session is part of the thread, but not an answer here.
func (s *Session) take(ev terret.Event) Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.received = ev.Seq
	msg := s.thread.Message(ev)
	mine := slices.Contains(s.sent, ev.Turn)
	switch msg.(type) {
	case *SystemMessage:
		return msg
	case *ResultMessage:
		s.sent = slices.DeleteFunc(s.sent, func(t string) bool { return t == ev.Turn })
	}
	if !mine {
		return nil
	}
	return msg
}

// dropped fails if the event says that the agent rests, although a message was sent that
// it will never get: somebody has dropped it from the queue, which leaves no event.
func (s *Session) dropped(ctx context.Context, ev terret.Event) error {
	next := false // only the message whose turn is next: the others wait
	switch d := ev.Data.(type) {
	case terret.QueueChange:
		next = true
	case terret.SessionStateChange:
		if d.State != terret.SessionIdle && d.State != terret.SessionFailed {
			return nil
		}
	default:
		return nil
	}
	s.mu.Lock()
	sent := slices.DeleteFunc(slices.Clone(s.sent), func(t string) bool { return s.sending[t] })
	s.mu.Unlock()
	if next {
		sent = sent[:min(len(sent), 1)]
	}
	for _, id := range sent {
		if t, err := s.engine.FindTurn(ctx, s.id, id); err != nil || t != nil {
			continue // if the engine has ended, the next event says so
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = slices.DeleteFunc(s.sent, func(t string) bool { return t == id })
		s.received = ev.Seq - 1 // there may be others
		return terret.Errorf(terret.CodeNotFound, "the message was dropped from the queue; send it again if the agent should still get it")
	}
	return nil
}

// catchUp skips what happened before. It returns the requests that still wait.
func (s *Session) catchUp(ctx context.Context) (waiting []string, err error) {
	for entry, err := range s.engine.Events(ctx, engine.EventQuery{Session: s.id}) {
		if err != nil {
			return nil, err
		}
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		s.take(ev)
		if ev.Expects != nil {
			waiting = append(waiting, ev.Expects.RequestID)
		}
		if d, ok := terret.DecisionOf(ev.Data); ok {
			waiting = slices.DeleteFunc(waiting, func(id string) bool { return id == d.RequestID })
		}
	}
	return waiting, nil
}

// Events yields the session's events from the beginning, then live, including deltas,
// until the context or the session ends or the loop is left. The error comes last and
// once.
func (s *Session) Events(ctx context.Context) iter.Seq2[terret.Event, error] { return s.follow(ctx, 0) }

func (s *Session) follow(ctx context.Context, after int64) iter.Seq2[terret.Event, error] {
	return func(yield func(terret.Event, error) bool) {
		for entry, err := range s.engine.Events(ctx, engine.EventQuery{Session: s.id, After: after, Follow: true}) {
			var ev terret.Event
			switch {
			case err == nil:
				ev, err = entry.Decode()
			case ctx.Err() != nil:
				err = context.Cause(ctx)
			case s.isClosed():
				err = errClosed
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// Interrupt stops the running turn. It does not wait for its end, which Receive yields
// as its result. Messages that were sent after that turn's go on. If no turn is running, it
// fails with code conflict.
func (s *Session) Interrupt(ctx context.Context) error {
	return s.unlessClosed(s.engine.Interrupt(ctx, s.id, "")) // by nobody: the queue goes on
}

// unlessClosed returns the error of a call, which says something about the engine or the
// store if the session was closed meanwhile.
func (s *Session) unlessClosed(err error) error {
	if err != nil && s.isClosed() {
		return errClosed
	}
	return err
}

// Close ends the agent and waits until nothing of the session is running. An agent that
// does not stop within ten seconds is ended by force. Close waits for OnRequest, which
// must not call it. It is idempotent.
func (s *Session) Close() error {
	s.closing.Do(func() {
		close(s.ended)
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		err := s.engine.Close(ctx)
		if s.desk != nil {
			s.desk()
		}
		s.deciding.Wait()
		s.closed = errors.Join(err, s.harness.Close(ctx))
	})
	return s.closed
}

package opencode

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/proc"
)

// scribe is a host that remembers what it is told.
type scribe struct {
	terret.Host
	events []terret.Event
}

func (h *scribe) Emit(_ context.Context, events []terret.Event, _ []byte) error {
	h.events = append(h.events, events...)
	return nil
}

// end is how the turn ended, in one line; empty if it has not.
func (h *scribe) end() string {
	for _, ev := range h.events {
		switch d := ev.Data.(type) {
		case terret.TurnComplete:
			return "complete"
		case terret.TurnError:
			return string(d.Error.Code) + ": " + d.Error.Message
		}
	}
	return ""
}

// newSeat is a place at a server that answers every call, in the middle of a turn. It has
// a subagent.
func newStay(t *testing.T) (*stay, *scribe, *transport) {
	t.Helper()
	h, calls := &scribe{}, &transport{}
	d := New(Config{Environ: []string{}})
	d.tempo = tempo{settle: time.Hour, begun: time.Hour}
	s := &stay{
		a: &agent{d: d, Seat: seat.New[*stay](terret.OpenRequest{Host: h})}, c: &client{base: "http://fake", http: &http.Client{Transport: calls}}, native: "ses_1",
		lease: &lease{server: &server{Process: &seat.Process{Process: &proc.Process{}}}}, t: newTranslator(options{native: "ses_1"}), asks: map[string]*asking{}, life: t.Context(),
	}
	s.t.begin("trn_1", time.Now())
	s.t.created(sessionInfo{ID: "ses_2", ParentID: "ses_1"})
	return s, h, calls
}

// hears makes the stay's translator take in an event.
func (s *stay) hears(t *testing.T, kind string, properties map[string]any) []terret.Event {
	t.Helper()
	ev, data := said(t, kind, properties)
	return s.t.translate(ev, data, time.Now())
}

// answers has the agent say something and finish.
func (s *stay) answers(t *testing.T, finish string) {
	t.Helper()
	type o = map[string]any
	s.hears(t, "message.updated", o{"info": o{"id": "msg_1", "sessionID": "ses_1", "role": "user"}})
	s.hears(t, "message.updated", o{"info": o{"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1"}})
	p := o{"id": "prt_1", "messageID": "msg_2", "sessionID": "ses_1", "type": "text", "text": "Hello."}
	if finish != "" {
		p["time"] = o{"end": 1}
	}
	s.hears(t, "message.part.updated", o{"part": p})
	if finish != "" {
		s.hears(t, "message.updated", o{"info": o{"id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "finish": finish, "time": o{"completed": 2}}})
	}
}

// TestWhoIsIdle is that the turn is over only if its own session says so, and not when a
// subagent's does.
func TestWhoIsIdle(t *testing.T) {
	t.Parallel()
	s, _, _ := newStay(t)
	for _, c := range []struct {
		session     string
		spoke, idle bool
	}{{"ses_9", false, false}, {"ses_2", true, false}, {"ses_1", true, true}} {
		for _, kind := range []string{"session.idle", "session.error"} {
			s.idleAt, s.spokeAt = time.Time{}, time.Time{}
			ev, _ := said(t, kind, map[string]any{"sessionID": c.session})
			s.note(ev)
			if s.spokeAt.IsZero() == c.spoke || s.idleAt.IsZero() == c.idle {
				t.Errorf("%s of %s: heard of it at %v, idle at %v", kind, c.session, s.spokeAt, s.idleAt)
			}
		}
	}
	ev, _ := said(t, "session.status", map[string]any{"sessionID": "ses_1", "status": map[string]any{"type": "busy"}})
	if again := s.note(ev); again || !s.idleAt.IsZero() {
		t.Errorf("busy: idle at %v, to be stopped: %v", s.idleAt, again)
	}
}

// TestStopAgain is when a server that works is told to stop: when it has been told
// before, but not just now.
func TestStopAgain(t *testing.T) {
	t.Parallel()
	ev, _ := said(t, "session.status", map[string]any{"sessionID": "ses_1", "status": map[string]any{"type": "busy"}})
	for name, c := range map[string]struct {
		change func(s *stay)
		want   bool
	}{
		"a turn that goes on":      {func(*stay) {}, false},
		"interrupted":              {func(s *stay) { s.t.turn.interrupted = true }, true},
		"interrupted just now":     {func(s *stay) { s.t.turn.interrupted, s.abortAt = true, time.Now() }, false},
		"given up":                 {func(s *stay) { s.t.turn.gaveUp = terret.Errorf(terret.CodeModelError, "no") }, true},
		"between turns":            {func(s *stay) { s.t.turn = nil }, false},
		"after one that was ended": {func(s *stay) { s.t.turn, s.stopped = nil, true }, true},
		"after the end, just now":  {func(s *stay) { s.t.turn, s.stopped, s.abortAt = nil, true, time.Now() }, false},
	} {
		s, _, _ := newStay(t)
		c.change(s)
		if got := s.note(ev); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestOver is when a turn has ended beyond doubt: the server is idle, and has answered or
// was stopped with nothing half said.
func TestOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		finish              string // of the last message; empty while it is being said
		idle, interrupted   bool
		late, failed, isEnd bool
	}{
		"answered and idle":              {finish: "stop", idle: true, isEnd: true},
		"answered, not idle":             {finish: "stop"},
		"wants to use tools":             {finish: "tool-calls", idle: true},
		"is stopped there":               {finish: "tool-calls", idle: true, interrupted: true, isEnd: true},
		"is stopped there, not idle":     {finish: "tool-calls", interrupted: true},
		"fails there":                    {finish: "tool-calls", idle: true, failed: true, isEnd: true},
		"the call that lasts is over":    {finish: "tool-calls", idle: true, late: true, isEnd: true},
		"is stopped in mid sentence":     {idle: true, interrupted: true},
		"goes on, but seemed to be idle": {idle: true},
	} {
		s, h, _ := newStay(t)
		s.answers(t, c.finish)
		s.t.turn.interrupted = c.interrupted
		if c.idle {
			s.idleAt = time.Now()
		}
		if c.late {
			s.late = errors.New("hung up")
		}
		if c.failed {
			s.t.turn.failure = &failure{Name: "APIError"}
		}
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		if got := h.end() != ""; got != c.isEnd {
			t.Errorf("%s: the turn has ended: %v (%s)", name, got, h.end())
		}
	}
}

// TestNoAnswer is that a turn ends that the server is silent about for too long, and that
// the end says whether it had taken the prompt.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		s, h, calls := newStay(t)
		calls.answers = map[string]string{"/session/status": "{}", "/session/ses_1/message": "[]", "/session/ses_2/message": "[]"}
		if taken {
			s.hears(t, "message.updated", map[string]any{"info": map[string]any{"id": "msg_1", "sessionID": "ses_1", "role": "user"}})
		}
		s.idleAt = time.Now().Add(-time.Minute)
		if err := s.look(); err != nil || h.end() != "" {
			t.Fatalf("too early: %s, %v", h.end(), err)
		}
		s.idleAt = time.Now().Add(-2 * time.Hour)
		want := map[bool]string{true: "(it took the prompt: true)", false: "(it took the prompt: false)"}[taken]
		if err := s.look(); err != nil || !strings.Contains(h.end(), want) {
			t.Errorf("%q, %v; want %s", h.end(), err, want)
		}
	}
}

// TestWhyItEnded is what the end of a turn says if the call that should have lasted as
// long has failed: that, unless something better is known.
func TestWhyItEnded(t *testing.T) {
	t.Parallel()
	late := terret.Errorf(terret.CodeTimeout, "the call failed")
	for name, c := range map[string]struct {
		change func(s *stay)
		why    *terret.Error
		want   string
	}{
		"nothing":         {func(s *stay) { s.late = nil }, nil, "complete"},
		"the call":        {func(*stay) {}, nil, "the call failed"},
		"something else":  {func(*stay) {}, terret.Errorf(terret.CodeExecutionError, "we gave up"), "we gave up"},
		"interrupted":     {func(s *stay) { s.t.turn.interrupted = true }, nil, "was interrupted"},
		"the agent says":  {func(s *stay) { s.t.turn.failure = &failure{Name: "Broken"} }, nil, "Broken"},
		"it was not told": {func(s *stay) { s.t.turn = nil }, nil, ""},
	} {
		s, h, _ := newStay(t)
		s.answers(t, "stop")
		s.late = late
		c.change(s)
		if err := s.finish(c.why); err != nil {
			t.Fatal(err)
		}
		if got := h.end(); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q", name, got)
		}
		if s.late != nil {
			t.Errorf("%s: the next turn would end with it, too", name)
		}
	}
}

// TestStopsInOrder is that the server is told to stop once at a time, so that whoever
// waits for the last time knows that none reaches the next turn.
func TestStopsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, calls := newStay(t)
		calls.hold = make(chan struct{})
		s.abort()
		synctest.Wait()
		s.abort()
		synctest.Wait()
		if n := calls.made(); n != 1 {
			t.Errorf("%d calls before the first is answered", n)
		}
		close(calls.hold)
		<-s.aborted
		if want := []string{"/session/ses_1/abort", "/session/ses_1/abort"}; !slices.Equal(calls.calls, want) {
			t.Errorf("%v", calls.calls)
		}
		s.work.Wait()
	})
}

// TestDeathTime is that a server which hangs up is given a moment to be gone before the
// call is taken to have failed for another reason, and that nothing else is waited for.
func TestDeathTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, _ := newStay(t)
		for err, want := range map[error]time.Duration{
			terret.Errorf(terret.CodeConnectionFailed, "cut off"): deathTime, terret.Errorf(terret.CodeTimeout, "too slow"): 0, &callError{status: 500}: 0,
		} {
			began := time.Now()
			if e := terret.AsError(s.diagnose(err)); e.Code == terret.CodeProcessFailed || !strings.Contains(e.Message, err.Error()) {
				t.Errorf("%v was told as %v", err, e)
			}
			if took := time.Since(began); took != want {
				t.Errorf("%v: waited %s", err, took)
			}
		}
	})
}

package acp

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

// canary is a key that must not be seen anywhere.
const canary = "sk-canary-0123456789abcdef"

var errLogFull = errors.New("the log is full")

// host records what an agent says.
type host struct {
	mu      sync.Mutex
	events  []terret.Event
	cursor  []byte
	changed chan struct{} // closed and replaced when something is added
	full    bool          // Emit fails
	decide  func(ctx context.Context, q terret.Ask) (terret.Decision, error)
}

func (h *host) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *host) Emit(_ context.Context, events []terret.Event, cursor []byte) (err error) {
	h.note(func() {
		if h.full {
			err = errLogFull
			return
		}
		h.events = append(h.events, events...)
		if cursor != nil {
			h.cursor = cursor
		}
	})
	return err
}

func (h *host) Ask(ctx context.Context, q terret.Ask) (d terret.Decision, err error) {
	h.note(func() { h.events = append(h.events, q.Event) })
	d = terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorAllow}
	if h.decide != nil {
		d, err = h.decide(ctx, q)
	}
	d.Gate, d.RequestID = q.Gate, q.Key
	h.note(func() { h.events = append(h.events, terret.Event{Data: d.Data()}) })
	return d, err
}

func (h *host) Delivered(context.Context, string) error { return nil }

func (h *host) said() []terret.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// setup is a place for one agent.
type setup struct {
	t    *testing.T
	d    *Driver
	host *host
	mu   sync.Mutex
	log  bytes.Buffer
	req  terret.OpenRequest
}

func (s *setup) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

// newSetup prepares a session with a fake of that name. In the end no process of it may
// be left, nor a key where it must not be.
func newSetup(t *testing.T, name string, change ...func(*setup)) *setup {
	t.Helper()
	marker := guardtest.Marker()
	s := &setup{t: t, host: &host{changed: make(chan struct{})}}
	env := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), fakeEnv + "=" + name, "MARKER=" + marker, "FAKE_KEY=" + canary, "OTHER_TOKEN=" + canary}
	s.d = New(Profile{Name: "fake", Argv: []string{os.Args[0], "--acp"}, Env: []string{"FAKE_*"}}, Config{Environ: env, Env: []string{"MARKER"}})
	s.req = terret.OpenRequest{
		Session: terret.Session{ID: terret.NewSessionID(), Agent: "fake", Cwd: t.TempDir()},
		Host:    s.host, Env: env, Owner: "w1", Log: slog.New(slog.NewTextHandler(s, nil)),
	}
	for _, c := range change {
		c(s)
	}
	t.Cleanup(func() {
		guardtest.NoneAlive(t, marker)
		s.mu.Lock()
		defer s.mu.Unlock()
		if strings.Contains(s.log.String(), canary) {
			t.Errorf("the key is in the log:\n%s", &s.log)
		}
		if strings.Contains(dump(s.host.said()), canary) {
			t.Errorf("the key is in an event:\n%s", dump(s.host.said()))
		}
	})
	return s
}

// open opens the agent, and closes it in the end.
func (s *setup) open() *agent {
	s.t.Helper()
	opened, err := s.d.Open(s.t.Context(), s.req)
	if err != nil {
		s.t.Fatalf("open: %v", err)
	}
	a, ok := opened.(*agent)
	if !ok {
		s.t.Fatalf("it is a %T", opened)
	}
	s.t.Cleanup(func() { s.close(a) })
	return a
}

func (s *setup) close(a *agent) {
	s.t.Helper()
	if err := a.Close(context.Background()); err != nil {
		s.t.Errorf("close: %v", err)
	}
}

// refused is that there is no agent, for that reason.
func (s *setup) refused(want terret.ErrorCode) *terret.Error {
	s.t.Helper()
	a, err := s.d.Open(s.t.Context(), s.req)
	if err == nil {
		_ = a.Close(context.Background())
		s.t.Fatalf("it was opened")
	}
	got := terret.AsError(err)
	if got.Code != want {
		s.t.Errorf("%s (%v), want %s", got.Code, err, want)
	}
	return got
}

// await waits until something is so, and returns what was said until then.
func (s *setup) await(what string, ok func([]terret.Event) bool) []terret.Event {
	s.t.Helper()
	timeout := time.After(guardtest.Patience)
	for {
		s.host.mu.Lock()
		changed, events := s.host.changed, slices.Clone(s.host.events)
		s.host.mu.Unlock()
		if ok(events) {
			return events
		}
		select {
		case <-changed:
		case <-timeout:
			s.t.Fatalf("no %s:\n%s", what, dump(events))
		}
	}
}

func dump(events []terret.Event) string {
	var out strings.Builder
	for _, ev := range events {
		b, _ := ev.Encode()
		out.Write(append(b, '\n'))
	}
	return out.String()
}

func all[T terret.Data](events []terret.Event) (out []T) {
	for _, ev := range events {
		if d, ok := ev.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

func isEnd(ev terret.Event) bool { return ev.Kind().EndsTurn() }

func ends(events []terret.Event) int {
	return len(slices.DeleteFunc(slices.Clone(events), func(ev terret.Event) bool { return !isEnd(ev) }))
}

// prompt begins a turn.
func (s *setup) prompt(a *agent, text string) {
	s.t.Helper()
	p := terret.Prompt{Blocks: []terret.Block{terret.Text(text)}, MessageID: terret.NewID(terret.PrefixMessage)}
	if err := a.Prompt(s.t.Context(), "turn", p, s.req.Settings); err != nil {
		s.t.Fatalf("prompt: %v", err)
	}
}

// turn runs a turn and returns its events.
func (s *setup) turn(a *agent, text string) []terret.Event {
	s.t.Helper()
	before := s.host.said()
	s.prompt(a, text)
	return s.end(before)
}

// end waits for the end of a turn, and returns what was said since.
func (s *setup) end(before []terret.Event) []terret.Event {
	s.t.Helper()
	n := ends(before)
	events := s.await("end of the turn", func(events []terret.Event) bool { return ends(events) > n })
	return events[len(before):]
}

// says is that a turn ends well with that text.
func (s *setup) says(a *agent, prompt, want string) []terret.Event {
	s.t.Helper()
	events := s.turn(a, prompt)
	if d := all[terret.TurnComplete](events); len(d) != 1 || d[0].Text != want {
		s.t.Errorf("the turn did not end with %q:\n%s", want, dump(events))
	}
	return events
}

// fails is that a turn ends with that error.
func (s *setup) fails(events []terret.Event, want terret.ErrorCode) terret.TurnError {
	s.t.Helper()
	d := all[terret.TurnError](events)
	if len(d) != 1 || d[0].Error.Code != want || d[0].Error.Message == "" {
		s.t.Fatalf("the turn did not end with %s:\n%s", want, dump(events))
	}
	return d[0]
}

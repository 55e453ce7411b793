package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
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
	mu        sync.Mutex
	events    []terret.Event
	cursor    []byte
	asked     []terret.Ask
	delivered []string
	changed   chan struct{} // closed and replaced when something is added
	full      bool          // Emit fails
	decide    func(ctx context.Context, q terret.Ask) (terret.Decision, error)
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

func (h *host) Ask(ctx context.Context, q terret.Ask) (terret.Decision, error) {
	h.note(func() { h.asked = append(h.asked, q) })
	if h.decide == nil {
		return terret.Decision{RequestID: q.Key, Gate: q.Gate, Behavior: terret.BehaviorAllow}, nil
	}
	d, err := h.decide(ctx, q)
	h.note(func() { h.events = append(h.events, terret.Event{Data: d.Data()}) })
	return d, err
}

func (h *host) Delivered(_ context.Context, id string) error {
	h.note(func() { h.delivered = append(h.delivered, id) })
	return nil
}

// said is all there is so far.
func (h *host) said() []terret.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

// setup is a place for one agent.
type setup struct {
	t      *testing.T
	d      *Driver
	host   *host
	log    *bytes.Buffer
	logMu  sync.Mutex
	record string
	marker string
	req    terret.OpenRequest
}

func (s *setup) Write(b []byte) (int, error) {
	s.logMu.Lock()
	defer s.logMu.Unlock()
	return s.log.Write(b)
}

// newSetup prepares a session with a fake of that name. In the end no process of it
// may be left, nor a key where it must not be.
func newSetup(t *testing.T, fake string, change ...func(*setup)) *setup {
	t.Helper()
	home := t.TempDir()
	s := &setup{t: t, host: &host{changed: make(chan struct{})}, log: &bytes.Buffer{}, record: filepath.Join(home, "record"), marker: guardtest.Marker()}
	env := []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir(), fakeEnv + "=" + fake, recordEnv + "=" + s.record, "MARKER=" + s.marker,
		"ANTHROPIC_API_KEY=" + canary, "TEST_SECRET_PASSWORD=" + canary, "CLAUDECODE=1",
	}
	s.d = New(Config{Path: os.Args[0], Environ: env, Env: []string{"FAKE_*", "MARKER"}})
	s.req = terret.OpenRequest{
		Session: terret.Session{ID: terret.NewSessionID(), Agent: Name, Cwd: t.TempDir()},
		Host:    s.host, Env: env, Owner: "w1", Log: slog.New(slog.NewTextHandler(s, nil)),
	}
	for _, c := range change {
		c(s)
	}
	t.Cleanup(func() {
		guardtest.NoneAlive(t, s.marker)
		for _, st := range s.starts() {
			if strings.Contains(strings.Join(st.Args, " "), canary) {
				t.Errorf("the key is in the arguments: %q", st.Args)
			}
			for _, a := range st.Args {
				if _, name, ok := strings.Cut(a, "="); ok && strings.Contains(name, "terret-") {
					if _, err := os.Stat(name); err == nil {
						t.Errorf("file %s is left", name)
					}
				}
			}
		}
		if strings.Contains(s.log.String(), canary) {
			t.Errorf("the key is in the log:\n%s", s.log)
		}
		for _, ev := range s.host.said() {
			if b, err := ev.Encode(); err != nil || bytes.Contains(b, []byte(canary)) {
				t.Errorf("the key is in an event: %s, %v", b, err)
			}
		}
	})
	return s
}

func but(change func(*terret.Session)) func(*setup) {
	return func(s *setup) { change(&s.req.Session) }
}

// inForce changes what is in force in the session, and in every turn of it.
func inForce(change func(*terret.Settings)) func(*setup) {
	return func(s *setup) { change(&s.req.Settings) }
}

// open opens the agent, and closes it in the end.
func (s *setup) open() *agent {
	s.t.Helper()
	a, err := s.d.Open(s.t.Context(), s.req)
	if err != nil {
		s.t.Fatalf("open: %v\n%s", err, s.log)
	}
	s.t.Cleanup(func() { s.close(a) })
	out, ok := a.(*agent)
	if !ok {
		s.t.Fatalf("it is a %T", a)
	}
	return out
}

func (s *setup) close(a terret.Agent) {
	s.t.Helper()
	if err := a.Close(context.Background()); err != nil {
		s.t.Errorf("close: %v", err)
	}
}

// again opens the session as it would be after a restart.
func (s *setup) again() *agent {
	s.t.Helper()
	for _, ev := range s.host.said() {
		if d, ok := ev.Data.(terret.SessionNativeID); ok {
			s.req.Session.NativeID = terret.NullString(d.New)
		}
	}
	s.req.Cursor = s.host.cursor
	return s.open()
}

// starts is how processes were started so far.
func (s *setup) starts() []started {
	s.t.Helper()
	b, _ := os.ReadFile(s.record)
	var out []started
	for line := range bytes.Lines(b) {
		var st started
		if err := json.Unmarshal(line, &st); err != nil {
			s.t.Fatal(err)
		}
		out = append(out, st)
	}
	return out
}

// await waits until something is so, and returns what was said until then.
func (s *setup) await(what string, ok func(*host) bool) []terret.Event {
	s.t.Helper()
	timeout := time.After(guardtest.Patience)
	for {
		s.host.mu.Lock()
		found, changed, events := ok(s.host), s.host.changed, slices.Clone(s.host.events)
		s.host.mu.Unlock()
		if found {
			return events
		}
		select {
		case <-changed:
		case <-timeout:
			s.t.Fatalf("no %s:\n%s\n%s", what, dump(events), s.log)
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

func count[T terret.Data](events []terret.Event) (n int) { return len(all[T](events)) }

func all[T terret.Data](events []terret.Event) (out []T) {
	for _, ev := range events {
		if d, ok := ev.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

func ends(events []terret.Event) (n int) {
	return len(slices.DeleteFunc(slices.Clone(events), func(ev terret.Event) bool { return !isEnd(ev) }))
}

func words(text string) terret.Prompt {
	return terret.Prompt{Blocks: []terret.Block{terret.Text(text)}, MessageID: terret.NewID(terret.PrefixMessage)}
}

// turn prompts the agent and waits for the end of the turn. What is in force is what
// the session says, changed for this turn.
func (s *setup) turn(a terret.Agent, p terret.Prompt, change ...func(*terret.Settings)) terret.Event {
	s.t.Helper()
	in := s.req.Settings
	for _, c := range change {
		c(&in)
	}
	before := ends(s.host.said())
	if err := a.Prompt(s.t.Context(), "turn_1", p, in); err != nil {
		s.t.Fatalf("prompt %q: %v\n%s", terret.TextOf(p.Blocks), err, s.log)
	}
	return s.end(before)
}

// end waits for the end of a turn after so many.
func (s *setup) end(before int) terret.Event {
	s.t.Helper()
	events := s.await("end of the turn", func(h *host) bool { return ends(h.events) > before })
	events = slices.DeleteFunc(events, func(ev terret.Event) bool { return !isEnd(ev) })
	return events[before]
}

// says is that the turn ends well with that text.
func (s *setup) says(a terret.Agent, prompt, want string) {
	s.t.Helper()
	s.complete(s.turn(a, words(prompt)), want)
}

func (s *setup) complete(end terret.Event, want string) {
	s.t.Helper()
	if d, ok := end.Data.(terret.TurnComplete); !ok || d.Text != want {
		s.t.Errorf("the turn ended with %+v, not with %q", end.Data, want)
	}
}

func (s *setup) failed(end terret.Event, want terret.ErrorCode) terret.TurnError {
	s.t.Helper()
	d, ok := end.Data.(terret.TurnError)
	if !ok || d.Error.Code != want {
		s.t.Errorf("the turn ended with %+v, not with %s", end.Data, want)
	}
	return d
}

func kindOf(err error) terret.ErrorCode {
	if err == nil {
		return ""
	}
	return terret.AsError(err).Code
}

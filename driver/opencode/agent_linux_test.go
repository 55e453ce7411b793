package opencode

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
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

const (
	canary   = "sk-canary-0123456789abcdef" // that must not be seen anywhere
	patience = 60 * time.Second             // with what would otherwise hang
)

// host records what an agent says.
type host struct {
	mu      sync.Mutex
	events  []terret.Event
	cursor  []byte
	asked   []terret.Ask
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
			err = errors.New("the log is full")
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
	return h.decide(ctx, q)
}

func (h *host) Delivered(context.Context, string) error { return nil }

// setup is a place for one agent.
type setup struct {
	t    *testing.T
	d    *Driver
	host *host
	log  *bytes.Buffer
	mu   sync.Mutex
	req  terret.OpenRequest
}

func (s *setup) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(b)
}

// newSetup prepares a session with a fake of that name. In the end no process of it may
// be left, nor a key where it must not be.
func newSetup(t *testing.T, fake string) *setup {
	t.Helper()
	marker := guardtest.Marker()
	s := &setup{t: t, host: &host{changed: make(chan struct{})}, log: &bytes.Buffer{}}
	env := []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), fakeEnv + "=" + fake, "MARKER=" + marker, "ANTHROPIC_API_KEY=" + canary}
	s.d = New(Config{Path: os.Args[0], Environ: env, Env: []string{"FAKE_*", "MARKER"}})
	s.d.tempo = tempo{start: patience, settle: 20 * time.Millisecond, watch: 200 * time.Millisecond, begun: 2 * time.Second}
	s.req = terret.OpenRequest{
		Session: terret.Session{ID: terret.NewSessionID(), Agent: Name, Cwd: t.TempDir()},
		Host:    s.host, Env: env, Owner: "w1", Log: slog.New(slog.NewTextHandler(s, nil)),
	}
	t.Cleanup(func() {
		guardtest.NoneAlive(t, marker)
		if strings.Contains(s.log.String(), canary) {
			t.Errorf("the key is in the log:\n%s", s.log)
		}
		for _, ev := range s.host.events {
			if b, err := ev.Encode(); err != nil || bytes.Contains(b, []byte(canary)) {
				t.Errorf("the key is in an event: %s, %v", b, err)
			}
		}
	})
	return s
}

func (s *setup) open() *agent {
	s.t.Helper()
	a, err := s.d.Open(s.t.Context(), s.req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := a.Close(context.Background()); err != nil {
			s.t.Error(err)
		}
	})
	return a.(*agent)
}

func (s *setup) prompt(a *agent, turn, text string) {
	s.t.Helper()
	p := terret.Prompt{MessageID: "msg_" + turn, Blocks: []terret.Block{terret.Text(text)}}
	if err := a.Prompt(s.t.Context(), turn, p, s.req.Settings); err != nil {
		s.t.Fatal(err)
	}
}

// until waits for an event.
func (s *setup) until(what string, found func(terret.Event) bool) terret.Event {
	s.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		s.host.mu.Lock()
		i, changed := slices.IndexFunc(s.host.events, found), s.host.changed
		var ev terret.Event
		if i >= 0 {
			ev = s.host.events[i]
		}
		s.host.mu.Unlock()
		if i >= 0 {
			return ev
		}
		select {
		case <-changed:
		case <-timer.C:
			s.t.Fatalf("there is no %s:\n%s\n%s", what, strings.Join(story(s.host.events), "\n"), s.log)
		}
	}
}

// run has a turn and returns its one end.
func (s *setup) run(a *agent, text string) terret.Event {
	s.t.Helper()
	s.prompt(a, "trn_1", text)
	return s.ended()
}

func (s *setup) ended() terret.Event {
	s.t.Helper()
	return s.until("end", func(ev terret.Event) bool { return ev.Kind().EndsTurn() })
}

// oneEnd closes the agent, and holds that its turn has ended once.
func (s *setup) oneEnd(a *agent) {
	s.t.Helper()
	if err := a.Close(context.Background()); err != nil {
		s.t.Error(err)
	}
	n := 0
	for _, ev := range s.host.events {
		if ev.Kind().EndsTurn() {
			n++
		}
	}
	if n != 1 {
		s.t.Errorf("%d ends:\n%s", n, strings.Join(story(s.host.events), "\n"))
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789abcdef", 3<<20/16)
	for prompt, want := range map[string]string{
		"hello": "You said hello.", "garbage": "Still here.", "big": big, "silent": "Silent.", "cut": "Said while nobody listened.",
	} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "good")
			a := s.open()
			end, ok := s.run(a, prompt).Data.(terret.TurnComplete)
			if !ok || end.Text != want {
				t.Errorf("%s\n%s", brief.Cut(end.Text, 100), strings.Join(story(s.host.events), "\n"))
			}
			s.oneEnd(a)
		})
	}
}

// TestGarbageIsKept is that what cannot be read is in the log, also what was printed
// before the server was ready.
func TestGarbageIsKept(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	s.run(s.open(), "garbage")
	// On a slow machine the end of the turn may be found in the stored messages before the
	// stream is read.
	s.until("event of a later version", func(ev terret.Event) bool {
		return ev.Kind() == terret.KindUnknown && bytes.Contains(ev.Raw, []byte("session.of_a_later_version"))
	})
	s.host.mu.Lock()
	defer s.host.mu.Unlock()
	bad, unknown := 0, 0
	for _, ev := range s.host.events {
		switch ev.Data.(type) {
		case terret.DiagParseError:
			bad++
		case terret.Unknown:
			unknown++
		}
	}
	if bad != 3 || unknown != 2 {
		t.Errorf("%d and %d:\n%s", bad, unknown, strings.Join(story(s.host.events), "\n"))
	}
}

// TestServerDies is that the turn ends once with what the server left behind, and that
// another one is started for the next.
func TestServerDies(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	end, ok := s.run(a, "die").Data.(terret.TurnError)
	if !ok || end.Error.Code != terret.CodeProcessFailed || end.Error.ExitCode == nil || *end.Error.ExitCode != 7 ||
		!strings.Contains(end.Error.Message, "Segmentation fault") {
		t.Errorf("%+v", end.Error)
	}
	s.until("end of the agent", func(ev terret.Event) bool { return ev.Kind() == terret.KindSessionEnd })
	s.oneEnd(a)
	s.host.events = nil
	s.req.Session.NativeID = "ses_1"
	if end, ok := s.run(s.open(), "hello").Data.(terret.TurnComplete); !ok || end.Text != "You said hello." {
		t.Errorf("%v", story(s.host.events))
	}
}

func TestServersThatAreNone(t *testing.T) {
	t.Parallel()
	for fake, want := range map[string]terret.ErrorCode{
		"dead": terret.CodeProcessFailed, "mute": terret.CodeTimeout, "page": terret.CodeMalformedOutput, "stranger": terret.CodeConnectionFailed,
	} {
		t.Run(fake, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, fake)
			if fake == "mute" {
				s.d.tempo.start = time.Millisecond
			}
			_, err := s.d.Open(t.Context(), s.req)
			if e := terret.AsError(err); e == nil || e.Code != want {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestProgramIsMissing(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	s.d.cfg.Path = "there-is-none"
	_, err := s.d.Open(t.Context(), s.req)
	if e := terret.AsError(err); e == nil || e.Code != terret.CodeAgentNotFound || !strings.Contains(e.Message, "there-is-none") {
		t.Errorf("%v", err)
	}
	if p, err := s.d.Probe(t.Context()); err != nil || p.Found || p.Fix == "" {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestRefusedWithoutIdle is that a turn ends of which the server never says so.
func TestRefusedWithoutIdle(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	end, ok := s.run(a, "refuse").Data.(terret.TurnError)
	if !ok || !strings.Contains(end.Error.Message, "no such agent") {
		t.Errorf("%+v", end)
	}
	s.oneEnd(a)
}

// TestInterrupt is that what was said last is part of the turn, though the server says
// before that it is idle.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	s.prompt(a, "trn_1", "hang")
	if err := a.Interrupt(t.Context(), "trn_1"); err != nil {
		t.Fatal(err)
	}
	end, ok := s.ended().Data.(terret.TurnError)
	if !ok || end.Error.Code != terret.CodeInterrupted || end.Text != "I was about" {
		t.Errorf("%+v", end)
	}
	if err := a.Interrupt(t.Context(), "trn_1"); err != nil {
		t.Errorf("a turn that is over: %v", err)
	}
	s.oneEnd(a)
}

// TestCloseInTurn is that closing ends the turn once.
func TestCloseInTurn(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	s.prompt(a, "trn_1", "hang")
	s.oneEnd(a)
	if err := a.Prompt(t.Context(), "trn_2", terret.Prompt{}, terret.Settings{}); !errors.Is(err, terret.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestSharedServer is that sessions share a server, which goes with the last of them,
// and that killing one leaves the other alone.
func TestSharedServer(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a, b := s.open(), s.open()
	pid := a.Current().lease.PID()
	if b.Current().lease.PID() != pid {
		t.Error("there are two servers")
	}
	s.prompt(a, "trn_1", "hang")
	if err := a.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if !b.Current().lease.Alive() {
		t.Error("the server of the other session is gone")
	}
	server := b.Current().lease.server
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if server.Alive() {
		t.Error("the server outlives its last session")
	}
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	if err := s.d.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	s.until("end of the agent", func(ev terret.Event) bool { return ev.Kind() == terret.KindSessionEnd })
	if _, err := s.d.Open(t.Context(), s.req); err == nil {
		t.Error("a server was started after the end")
	}
	_ = a.Close(t.Context())
}

func TestFullLogStopsTheAgent(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	s.host.note(func() { s.host.full = true })
	p := terret.Prompt{Blocks: []terret.Block{terret.Text("hello")}}
	if err := a.Prompt(t.Context(), "trn_1", p, terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	a.Work.Wait() // or the test hangs
	if a.Current() != nil {
		t.Error("it goes on")
	}
}

func TestStaleSession(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "forgetful")
	s.req.Session.NativeID = "ses_1"
	s.req.Settings.OnStale = terret.OnStaleError
	if _, err := s.d.Open(t.Context(), s.req); terret.AsError(err) == nil || terret.AsError(err).Code != terret.CodeResumeFailed {
		t.Errorf("%v", err)
	}
	s.req.Settings.OnStale = terret.OnStaleNew
	s.open()
	s.until("another id", func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.SessionNativeID)
		return ok && d.Reason == "stale"
	})
}

// answers are what the server was told, in the results of its tools.
func (s *setup) answers() string {
	var out strings.Builder
	for _, ev := range s.host.events {
		switch d := ev.Data.(type) {
		case terret.ToolPost:
			out.WriteString(terret.TextOf(d.Content) + "\n")
		case terret.ToolFailure:
			out.WriteString(d.Error + "\n")
		}
	}
	return out.String()
}

func TestPermission(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		decision terret.Decision
		want     string
	}{
		{"once", terret.Decision{Behavior: terret.BehaviorAllow}, `"reply":"once"`},
		{"never always", terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways}, `"reply":"once"`},
		{"with the reason", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not today"}, `{"message":"not today","path":"/permission/per_1/reply","reply":"reject"}`},
		{"and stop", terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no", Interrupt: true}, `{"path":"/permission/per_1/reply","reply":"reject"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "good")
			s.host.decide = func(context.Context, terret.Ask) (terret.Decision, error) { return c.decision, nil }
			a := s.open()
			end := s.run(a, "tool")
			if got := s.answers(); !strings.Contains(got, c.want) {
				t.Errorf("the agent was told %s", got)
			}
			request, ok := s.host.asked[0].Event.Data.(terret.PermissionRequest)
			if !ok || request.ToolID != "call_1" || !strings.Contains(string(request.Input), "touch call_1") || request.Title == "" {
				t.Errorf("%+v", request) // though the request came before the input
			}
			if _, failed := end.Data.(terret.TurnError); failed != c.decision.Interrupt {
				t.Errorf("%+v", end.Data)
			}
			s.oneEnd(a)
		})
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]terret.Decision{
		`"answers":[["A"],["because"]]`:    {Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q1": {"A"}, "q2": {"because"}}},
		`(not answered: ask me tomorrow)`:  {Behavior: terret.BehaviorReject, Reason: "ask me tomorrow"},
		`"path":"/question/que_1/reject"}`: {Behavior: terret.BehaviorReject, Source: terret.ByInterrupt},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "good")
			s.host.decide = func(context.Context, terret.Ask) (terret.Decision, error) { return d, nil }
			a := s.open()
			end := s.run(a, "question")
			if _, failed := end.Data.(terret.TurnError); failed != (d.Source == terret.ByInterrupt) {
				t.Errorf("%+v", end.Data)
			}
			text := ""
			for _, ev := range s.host.events {
				if m, ok := ev.Data.(terret.MessageComplete); ok {
					text += terret.TextOf(m.Blocks)
				}
			}
			if !strings.Contains(text, want) {
				t.Errorf("the agent was told %s", text)
			}
		})
	}
}

// TestRewind goes back and forward again.
func TestRewind(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	a := s.open()
	if err := a.Forward(t.Context()); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("forward, where nothing was taken back: %v", err)
	}
	s.run(a, "hello")
	all, err := a.Current().c.messages(t.Context(), "ses_1", 0)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	first, last := all[0].Info.ID, all[1].Info.ID
	if err := a.Rewind(t.Context(), "msg_none"); !errors.Is(err, terret.ErrNotFound) {
		t.Errorf("back to a message that is not known: %v", err)
	}
	forward := func(string) error { return a.Forward(t.Context()) }
	back := func(id string) error { return a.Rewind(t.Context(), id) }
	for i, step := range []struct {
		move     func(string) error
		to, want string
	}{{back, last, last}, {back, first, first}, {forward, "", last}, {forward, "", ""}} {
		if err := step.move(step.to); err != nil {
			t.Fatal(err)
		}
		var info struct{ Reverted string }
		if err := a.Current().c.get(t.Context(), "/session/ses_1", &info); err != nil || info.Reverted != step.want {
			t.Errorf("after step %d it ends before %q, want %q (%v)", i+1, info.Reverted, step.want, err)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	p, err := s.d.Probe(t.Context())
	if err != nil || !p.Found || p.Version != "1.18.33" || p.Tested != terret.TestedYes || p.Auth != "ok" {
		t.Errorf("%+v, %v", p, err)
	}
	s.d.cfg.Environ = append(s.d.cfg.Environ, configVar+`={"enabled_providers":["anthropic"],"provider":{"anthropic":{"options":{}}}}`)
	if p, err := s.d.Probe(t.Context()); err != nil || p.Auth != "missing" || p.Fix == "" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestWarmServerIsTakenOver(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "good")
	w, err := s.d.Prewarm(t.Context(), s.req)
	if err != nil {
		t.Fatal(err)
	}
	pid := w.(*seat.Warm[*lease]).Prepared.PID()
	s.req.Warm = w
	a := s.open()
	if got := a.Current().lease.PID(); got != pid {
		t.Errorf("process %d, not %d", got, pid)
	}
	if a.Current().lease.shared() {
		t.Error("the warm one was not given back")
	}
}

// eager is a host that prompts as soon as a turn ends, as an engine with a queue does.
type eager struct {
	*host
	again func()
}

func (h *eager) Emit(ctx context.Context, events []terret.Event, cursor []byte) error {
	err := h.host.Emit(ctx, events, cursor)
	if h.again != nil && slices.ContainsFunc(events, func(ev terret.Event) bool { return ev.Kind().EndsTurn() }) {
		again := h.again
		h.again = nil
		again()
	}
	return err
}

// TestOneShotAtOnce prompts while the end of a turn is being told: the next turn has a
// server of its own all the same, and does not end with that of the first.
func TestOneShotAtOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	s.req.Session.OneShot = true
	h := &eager{host: s.host}
	s.req.Host = h
	a := s.open()
	prompted := make(chan error, 1)
	h.again = func() {
		s.host.note(func() { s.host.events = nil }) // that was the first turn
		first := a.Current()
		done := make(chan struct{})
		go func() {
			p := terret.Prompt{MessageID: "msg_2", Blocks: []terret.Block{terret.Text("more")}}
			prompted <- a.Prompt(t.Context(), "trn_2", p, s.req.Settings)
			close(done)
		}()
		select { // until the prompt is taken, or waits for another server
		case <-done:
		case <-first.life.Done():
		}
	}
	s.prompt(a, "trn_1", "hello")
	if err := <-prompted; err != nil {
		t.Fatal(err)
	}
	if end, ok := s.ended().Data.(terret.TurnComplete); !ok {
		t.Errorf("%+v\n%s", end, strings.Join(story(s.host.events), "\n"))
	}
}

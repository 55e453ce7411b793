package hooks

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// recorder is the engine and the driver: it keeps what is made and reported.
type recorder struct {
	mu       sync.Mutex
	sessions map[string]terret.Session
	reports  []string
	answer   func(ctx context.Context) ([]byte, error)
}

func (r *recorder) Name() string { return "claude-terminal" }

func (r *recorder) Create(_ context.Context, s terret.Session) (terret.Session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.Cwd == "/gone" {
		return s, terret.Invalid("cwd", "there is no folder /gone")
	}
	r.sessions[s.ID] = s
	return s, nil
}

func (r *recorder) Open(_ context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.sessions[id]; !ok {
		return terret.ErrSessionNotFound
	}
	return nil
}

func (r *recorder) Report(ctx context.Context, session string, input []byte) ([]byte, error) {
	r.mu.Lock()
	r.reports = append(r.reports, string(r.sessions[session].NativeID)+" "+string(input))
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return nil, nil
	}
	return answer(ctx)
}

// serve answers hooks in a new home, and returns how to call it.
func serve(t *testing.T, r *recorder) (call func(event, input string) (string, error), stop func()) {
	t.Helper()
	home, stop := serveHome(t, r)
	return func(event, input string) (string, error) {
		out, err := Call(context.WithoutCancel(t.Context()), home, claude(t), event, strings.NewReader(input))
		return string(out), err
	}, stop
}

func serveHome(t *testing.T, r *recorder) (home string, stop func()) {
	t.Helper()
	home = t.TempDir()
	return home, serveIn(t, home, r)
}

// serveIn answers hooks in a home until the test ends, or stop is called.
func serveIn(t *testing.T, home string, r *recorder) (stop func()) {
	t.Helper()
	r.sessions = map[string]terret.Session{}
	l, done, err := Listen(t.Context(), home)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		s := &Server{Sessions: r, Drivers: map[string]Driver{"claude": r}, Log: slog.New(slog.DiscardHandler)}
		if err := s.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		done()
	})
	t.Cleanup(stop)
	return stop
}

// TestCall holds that a session is made once, and that the answer comes back as it is.
func TestCall(t *testing.T) {
	t.Parallel()
	r := &recorder{answer: func(context.Context) ([]byte, error) { return []byte(`{"decision":"block"}`), nil }}
	call, _ := serve(t, r)
	var all sync.WaitGroup
	for range 20 { // hooks of one session run at once
		all.Go(func() {
			if out, err := call("PreToolUse", `{"session_id":"n1","cwd":"/w","hook_event_name":"PreToolUse"}`); err != nil || out != `{"decision":"block"}` {
				t.Errorf("%s, %v", out, err)
			}
		})
	}
	all.Wait()
	if len(r.sessions) != 1 || len(r.reports) != 20 {
		t.Errorf("%d sessions, %d reports", len(r.sessions), len(r.reports))
	}
	for _, s := range r.sessions {
		if s.Agent != "claude-terminal" || s.NativeID != "n1" || s.Cwd != "/w" {
			t.Errorf("%+v", s)
		}
	}
}

// TestCallRefused holds that garbage is an error, which makes no session.
func TestCallRefused(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	call, _ := serve(t, r)
	for name, c := range map[string]struct{ event, input string }{
		"nothing":         {"Stop", ""},
		"no object":       {"Stop", "[1]"},
		"no session":      {"Stop", `{"cwd":"/w"}`},
		"a long session":  {"Stop", `{"session_id":"` + strings.Repeat("x", 201) + `"}`},
		"another event":   {"Stop", `{"session_id":"n","cwd":"/w","hook_event_name":"PreToolUse"}`},
		"no folder":       {"Stop", `{"session_id":"n","cwd":"/gone"}`},
		"too much":        {"Stop", `{"session_id":"n","cwd":"/w","x":"` + strings.Repeat("x", maxInput) + `"}`},
		"a path as event": {"../x", `{"session_id":"n","cwd":"/w"}`},
		"an unknown end":  {"SessionEnd", `{"session_id":"n","cwd":"/w"}`},
	} {
		r.answer = func(context.Context) ([]byte, error) { return nil, errors.New("nothing is open") }
		if out, err := call(c.event, c.input); err == nil || out != "" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if len(r.sessions) != 0 {
		t.Errorf("sessions %v", r.sessions)
	}
}

// TestCallNobody holds that a hook learns at once that no server answers: without a socket,
// and at one that a dead server has left.
func TestCallNobody(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	call := func() error {
		_, err := Call(t.Context(), home, claude(t), "Stop", strings.NewReader(`{"session_id":"n"}`))
		return err
	}
	if err := call(); err == nil {
		t.Error("somebody answers")
	}
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: Socket(home), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	_ = stale.Close()
	if err := call(); err == nil {
		t.Error("somebody answers at the stale socket")
	}
	l, done, err := Listen(t.Context(), home)
	if err != nil || l == nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	if again, _, err := Listen(t.Context(), home); again != nil || err != nil {
		t.Errorf("two servers have the socket: %v, %v", again, err)
	}
	done()
	if l, done, err := Listen(t.Context(), home); l == nil || err != nil {
		t.Errorf("the next server cannot have it: %v", err)
	} else {
		done()
	}
}

// TestCallEnds holds that nobody waits any more once the hook is killed, or the server
// stops.
func TestCallEnds(t *testing.T) {
	t.Parallel()
	waiting, gave := make(chan struct{}), make(chan struct{}, 1)
	r := &recorder{answer: func(ctx context.Context) ([]byte, error) {
		waiting <- struct{}{}
		<-ctx.Done()
		gave <- struct{}{}
		return nil, ctx.Err()
	}}
	call, stop := serve(t, r)
	told := make(chan error)
	go func() {
		_, err := call("PermissionRequest", `{"session_id":"n","cwd":"/w"}`)
		told <- err
	}()
	<-waiting
	stop()
	<-gave
	if err := <-told; err == nil {
		t.Error("the hook has an answer")
	}
}

// clock is one on which time passes when somebody says so.
type clock struct {
	begun, stopped chan struct{}
	pass           func()
}

func newClock() *clock { return &clock{begun: make(chan struct{}), stopped: make(chan struct{})} }

func (c *clock) after(_ time.Duration, f func()) (stop func() bool) {
	c.pass = f
	close(c.begun)
	return sync.OnceValue(func() bool { close(c.stopped); return true })
}

// TestCallTaken holds that the short wait ends once the server has the input, while somebody
// may still answer.
func TestCallTaken(t *testing.T) {
	t.Parallel()
	c := newClock()
	r := &recorder{answer: func(context.Context) ([]byte, error) {
		<-c.stopped
		return []byte("{}"), nil
	}}
	home, _ := serveHome(t, r)
	out, err := call(context.WithoutCancel(t.Context()), home, claude(t), "PermissionRequest", strings.NewReader(`{"session_id":"n","cwd":"/w"}`), c.after)
	if err != nil || string(out) != "{}" {
		t.Errorf("%s, %v", out, err)
	}
}

// TestCallHangs holds that a server that accepts and says nothing costs one short wait, that
// this is said once, that the next calls do not ask it for a while, and that a server which
// answers, or a new one, ends that.
func TestCallHangs(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: Socket(home), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	asked := make(chan struct{}, 10)
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			asked <- struct{}{}
		}
	})
	begin := func() (*clock, chan error) {
		c, outcome := newClock(), make(chan error, 1)
		running.Go(func() {
			_, err := call(context.WithoutCancel(t.Context()), home, claude(t), "PermissionRequest", strings.NewReader(`{"session_id":"n"}`), c.after)
			outcome <- err
		})
		return c, outcome
	}
	hang := func() error {
		c, outcome := begin()
		<-asked
		<-c.begun
		c.pass()
		return <-outcome
	}
	if err := hang(); !errors.Is(err, ErrHangs) {
		t.Errorf("at first: %v", err)
	}
	for range 3 { // nobody is asked, and no time passes
		if _, outcome := begin(); !errors.Is(<-outcome, ErrAway) {
			t.Error("it is asked again at once")
		}
	}
	long := time.Now().Add(-2 * awayPatience)
	if err := os.Chtimes(awayFile(home), long, long); err != nil {
		t.Fatal(err)
	}
	if err := hang(); !errors.Is(err, ErrAway) || errors.Is(err, ErrHangs) {
		t.Errorf("after a while it is said again: %v", err)
	}
	if _, outcome := begin(); !errors.Is(<-outcome, ErrAway) || len(asked) != 0 {
		t.Error("it is asked again at once after that")
	}
	_ = l.Close()
	running.Wait()
	serveIn(t, home, &recorder{})
	if _, err := Call(context.WithoutCancel(t.Context()), home, claude(t), "Stop", strings.NewReader(`{"session_id":"n"}`)); err != nil {
		t.Errorf("the next server is not asked: %v", err)
	}
	if err := os.WriteFile(awayFile(home), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(awayFile(home), long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := Call(context.WithoutCancel(t.Context()), home, claude(t), "Stop", strings.NewReader(`{"session_id":"n"}`)); err != nil {
		t.Errorf("a server that answers again is not asked: %v", err)
	}
	if _, err := os.Stat(awayFile(home)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it counts as away, although it has answered: %v", err)
	}
}

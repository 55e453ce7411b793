package codex

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/guardtest"
)

func TestHello(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	a := s.open()
	end, ok := s.run(a, "hello", terret.Settings{}).(terret.TurnComplete)
	if !ok || end.Text != "Hello." || end.Usage.Input != 5 || end.Usage.Output != 2 {
		t.Errorf("%+v", end)
	}
	starts := all[terret.SessionStart](s.host.said())
	if len(starts) != 1 || starts[0].NativeID == "" || starts[0].AgentVersion != "0.166.0" || starts[0].Source != "new" || starts[0].PermissionMode != noSandbox {
		t.Errorf("%+v", starts)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	exits := all[terret.ProcessExit](s.host.said())
	if len(exits) != 1 || exits[0].Code == nil || *exits[0].Code != 0 {
		t.Errorf("%+v", exits)
	}
	if err := a.Prompt(t.Context(), "t", words("hello"), terret.Settings{}); !errors.Is(err, terret.ErrClosed) {
		t.Errorf("a closed agent: %v", err)
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	a, ok := s.open().(*agent)
	if !ok {
		t.Fatal("it is another agent")
	}
	list, err := a.Commands(t.Context())
	var names []string
	for _, c := range list {
		names = append(names, c.Name+": "+c.Description)
	}
	if want := []string{"review: Review changes", "pdf: Read PDF files"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
	models, err := a.Models(t.Context())
	if err != nil || len(models) != 1 || models[0].ID != "m1" || models[0].Name != "One" || !slices.Equal(models[0].Efforts, []string{"high"}) {
		t.Errorf("%+v, %v", models, err)
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := a.Models(t.Context()); !errors.Is(err, terret.ErrClosed) {
		t.Errorf("models of a closed agent: %v", err)
	}
}

// TestRewind goes back and forward again, where no process runs at first.
func TestRewind(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "remembers")
	s.req.Session.OneShot = true
	a, ok := s.open().(*agent)
	if !ok {
		t.Fatal("it is another agent")
	}
	s.run(a, "hello", terret.Settings{})
	thread := func() string {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.native
	}
	been := []string{thread()}
	for _, message := range []string{"m1", "m2"} { // before the first turn, and after it
		if err := a.Rewind(t.Context(), message); err != nil || slices.Contains(been, thread()) {
			t.Fatalf("back to %s: %v, with %s after %v", message, err, thread(), been)
		}
		been = append(been, thread())
	}
	for _, want := range []string{been[1], been[0]} {
		if err := a.Forward(t.Context()); err != nil || thread() != want {
			t.Errorf("forward: %v, with %s of %v", err, thread(), been)
		}
	}
	if err := a.Forward(t.Context()); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("forward, where nothing was taken back: %v", err)
	}
	if err := a.Rewind(t.Context(), "m3"); !errors.Is(err, terret.ErrNotFound) {
		t.Errorf("back to a message that is not known: %v", err)
	}
}

// TestCloseWhileStarting is that an agent can be closed while its process says nothing.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "mute")
	a := newAgent(s.d, s.req)
	prompted := make(chan error, 1)
	go func() { prompted <- a.Prompt(t.Context(), "turn", words("hello"), terret.Settings{}) }()
	for a.Switching.TryLock() { // until it has begun
		a.Switching.Unlock()
		runtime.Gosched()
	}
	if err := a.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-prompted; !errors.Is(err, terret.ErrClosed) {
		t.Errorf("the prompt: %v", err)
	}
}

// TestMissingLeavesNothing is that the folder of the hooks goes with a program that is
// not there.
func TestMissingLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	if _, err := New(Config{Path: "/nowhere/codex"}).Open(t.Context(), terret.OpenRequest{Log: slog.New(slog.DiscardHandler)}); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestModelToldOnce is that a turn is told the model only if that is another than before.
func TestModelToldOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	a := s.open()
	for i, c := range []struct{ model, told string }{{"", "<nil>"}, {"big", "big"}, {"big", "<nil>"}, {"", "m"}, {"", "<nil>"}, {"refused", ""}, {"", "m"}, {"", "<nil>"}} {
		if c.model == "refused" { // Codex may have taken the model before it refused the turn
			if err := a.Prompt(t.Context(), "turn", words("refuse"), terret.Settings{Model: c.model}); err == nil {
				t.Error("the turn was not refused")
			}
			continue
		}
		end, _ := s.run(a, "model?", terret.Settings{Model: c.model}).(terret.TurnComplete)
		if end.Text != c.told {
			t.Errorf("turn %d was told %s, want %s", i+1, end.Text, c.told)
		}
	}
}

// TestStart is what becomes of programs that are not Codex, or not well.
func TestStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code  terret.ErrorCode
		words string
	}{
		"dead":       {terret.CodeProcessFailed, "I do not feel well"},
		"mute":       {terret.CodeTimeout, "did not answer"},
		"nonsense":   {terret.CodeProcessFailed, "Codex did not start"},
		"unwilling":  {terret.CodeConflict, "not today"},
		"signed out": {terret.CodeNotAuthenticated, "codex login"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, name)
			if name == "mute" {
				s.d.patience = 200 * time.Millisecond
			}
			_, err := s.d.Open(t.Context(), s.req)
			if e := terret.AsError(err); e == nil || e.Code != c.code || !strings.Contains(e.Message, c.words) {
				t.Errorf("%+v", e)
			}
		})
	}
	s := newSetup(t, "plain")
	s.d = New(Config{Path: "/nowhere/codex"})
	if _, err := s.d.Open(t.Context(), s.req); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Error(err)
	}
	s = newSetup(t, "plain")
	s.req.Env = append(s.req.Env, "OPENAI_API_KEY=")
	if _, err := s.d.Open(t.Context(), s.req); terret.AsError(err).Code != terret.CodeNotAuthenticated {
		t.Error(err)
	}
}

// TestGarbage is that lines which are not the protocol's are kept and change nothing.
func TestGarbage(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "garbled")
	a := s.open()
	if end, ok := s.run(a, "garbage", terret.Settings{}).(terret.TurnComplete); !ok || end.Text != "Still here." {
		t.Errorf("%+v", end)
	}
	said := s.host.said()
	bad, odd := all[terret.DiagParseError](said), all[terret.Unknown](said)
	if len(bad) != 4 || len(bad[1].Text) != diagLimit || len(odd) != 1 || odd[0].NativeType != "of_a_later_version" {
		t.Errorf("%d lines, %+v", len(bad), odd)
	}
}

// TestDrift is that a newer version may say more, and say it differently.
func TestDrift(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	end, ok := s.run(s.open(), "drift", terret.Settings{}).(terret.TurnComplete)
	if !ok || end.Text != "So it goes." {
		t.Errorf("%+v", end)
	}
	var names []string
	for _, ev := range s.host.said() {
		if d, ok := ev.Data.(terret.Unknown); ok {
			names = append(names, d.NativeType)
			if len(ev.Raw) == 0 {
				t.Errorf("%s is not kept", d.NativeType)
			}
		}
	}
	if got := strings.Join(names, " "); got != "item/started weather/changed turn/plan/updated item/agentMessage/delta coffee/make" {
		t.Errorf("not known: %s", got)
	}
}

func TestLongLine(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	if end, ok := s.run(s.open(), "long", terret.Settings{}).(terret.TurnComplete); !ok || len(end.Text) != 3<<20 {
		t.Errorf("%d bytes", len(end.Text))
	}
}

// TestTwoEnds is that a turn ends once, whatever Codex says.
func TestTwoEnds(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	a := s.open()
	s.run(a, "twice", terret.Settings{})
	s.run(a, "hello", terret.Settings{})
	if n := len(s.host.ends()); n != 2 {
		t.Errorf("two turns ended %d times", n)
	}
}

// TestDeath is that a turn ends with its process, with all that was open in it, and that
// the next prompt starts another one.
func TestDeath(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"die", "mute"} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "plain")
			a := s.open()
			end, ok := s.run(a, prompt, terret.Settings{}).(terret.TurnError)
			if !ok || end.Error.Code != terret.CodeProcessFailed {
				t.Fatalf("%+v", end)
			}
			if prompt == "die" {
				failures := all[terret.ToolFailure](s.host.said())
				if *end.Error.ExitCode != 7 || !strings.Contains(end.Error.Message, "on fire") || end.Text != "I am about to" || len(failures) != 1 || !failures[0].Interrupted {
					t.Errorf("%+v, %+v", end, failures)
				}
				if got := all[terret.DiagStderr](s.host.said()); len(got) != 1 || got[0].Text != "the disk is on fire" {
					t.Errorf("the log has %+v of what it wrote to stderr", got)
				}
			}
			s.await("the end of the agent", func() bool { return len(all[terret.SessionEnd](s.host.said())) == 1 })
			if _, ok := s.run(a, "hello", terret.Settings{}).(terret.TurnComplete); !ok {
				t.Error("it does not go on")
			}
			ids := all[terret.SessionNativeID](s.host.said())
			if last := ids[len(ids)-1]; last.Reason != "stale" || last.Error == "" {
				t.Errorf("the fake loses its threads: %+v", ids)
			}
		})
	}
}

func TestStale(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	s.req.Session.NativeID = fakeID
	s.req.Settings.OnStale = terret.OnStaleError
	if _, err := s.d.Open(t.Context(), s.req); terret.AsError(err).Code != terret.CodeResumeFailed {
		t.Error(err)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	a := s.open()
	if err := a.Prompt(t.Context(), "t", words("hang"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	s.await("text", func() bool { return len(all[terret.MessageDelta](s.host.said())) > 0 })
	if err := a.Interrupt(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	s.await("the end", func() bool { return len(s.host.ends()) == 1 })
	if end, ok := s.host.ends()[0].(terret.TurnError); !ok || end.Error.Code != terret.CodeInterrupted || end.Text != "I hang" {
		t.Errorf("%+v", end)
	}
}

// TestDeaf is that an agent which does not listen can still be ended.
func TestDeaf(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(terret.Agent) error{
		"kill":  func(a terret.Agent) error { return a.(*agent).Kill(context.Background()) },
		"close": func(a terret.Agent) error { return a.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "plain")
			a := s.open()
			if err := a.Prompt(t.Context(), "t", words("deaf"), terret.Settings{}); err != nil {
				t.Fatal(err)
			}
			if err := a.Interrupt(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			if err := end(a); err != nil {
				t.Error(err)
			}
			if n := len(s.host.ends()); n != 1 {
				t.Errorf("the turn ended %d times", n)
			}
		})
	}
}

// TestFullLog is that an agent stops when its log takes nothing more.
func TestFullLog(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	a := s.open()
	s.host.note(func() { s.host.full = true })
	_ = a.Prompt(t.Context(), "t", words("hello"), terret.Settings{}) // it may be over before it is answered
	guardtest.Eventually(t, "the process is stopped", func() bool { _, err := a.(*agent).Occupied(); return err != nil })
}

// TestRelaunch is that a turn which needs another start gets one, and others do not.
func TestRelaunch(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	a := s.open()
	spawned := func() int { return len(all[terret.ProcessSpawn](s.host.said())) }
	s.run(a, "hello", terret.Settings{Model: "other"})
	if spawned() != 1 {
		t.Error("another model needs no other process")
	}
	s.run(a, "hello", terret.Settings{SystemAppend: "Be brief."})
	if spawned() != 2 {
		t.Error("other instructions do")
	}
	s.run(a, "hello", terret.Settings{SystemAppend: "Be brief.", Gates: []terret.Gate{terret.GateStop}})
	s.run(a, "hello", terret.Settings{SystemAppend: "Be brief."})
	if spawned() != 3 {
		t.Errorf("%d processes", spawned())
	}
}

// TestOneShot is that each turn has a process of its own, which is gone before the next.
func TestOneShot(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	s.req.Session.OneShot = true
	a := s.open()
	for i := range 3 {
		if _, ok := s.run(a, "hello", terret.Settings{}).(terret.TurnComplete); !ok {
			t.Error(s.host.ends())
		}
		s.await("the end of the process", func() bool { return len(all[terret.ProcessExit](s.host.said())) == i+1 })
	}
	if n := len(all[terret.SessionEnd](s.host.said())); n != 0 {
		t.Error("the session has ended")
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
// process of its own all the same, and does not end with that of the first.
func TestOneShotAtOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	s.req.Session.OneShot = true
	h := &eager{host: s.host}
	s.req.Host = h
	a, ok := s.open().(*agent)
	if !ok {
		t.Fatal("it is another agent")
	}
	prompted := make(chan error, 1)
	h.again = func() {
		go func() { prompted <- a.Prompt(t.Context(), "turn2", words("more"), terret.Settings{MaxTurns: 7}) }()
		for { // until it has a process, or there is none to have
			a.mu.Lock()
			over := a.Current() == nil || a.turn.MaxTurns == 7
			a.mu.Unlock()
			if over {
				return
			}
			runtime.Gosched()
		}
	}
	s.run(a, "hello", terret.Settings{})
	if err := <-prompted; err != nil {
		t.Fatal(err)
	}
	s.await("the second end", func() bool { return len(s.host.ends()) == 2 })
	if _, ok := s.host.ends()[1].(terret.TurnComplete); !ok {
		t.Error(dump(s.host.said()))
	}
}

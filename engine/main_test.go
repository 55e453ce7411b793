package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

func TestMain(m *testing.M) { verify(m) }

// patience bounds waits of tests that would otherwise hang; it is never measured.
const patience = 60 * time.Second

// fixture is an engine with a store.
type fixture struct {
	*engine.Engine
	t     *testing.T
	store Store
	path  string // of the store
	dir   string // that agents work in
	limit time.Duration
}

func newFixture(t *testing.T, script mock.Script, change ...func(*engine.Config)) *fixture {
	t.Helper()
	return openFixture(t, sqlite.Memory, mock.New(script), change...)
}

// fileFixture has a store that others can share.
func fileFixture(t *testing.T, path string, d terret.Driver, change ...func(*engine.Config)) *fixture {
	t.Helper()
	if path == "" {
		path = filepath.Join(t.TempDir(), "terret.db")
	}
	return openFixture(t, path, d, change...)
}

func openFixture(t *testing.T, path string, d terret.Driver, change ...func(*engine.Config)) *fixture {
	t.Helper()
	store, err := openStore(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	cfg := engine.Config{Store: store, Drivers: []terret.Driver{d}, CloseGrace: time.Minute}
	for _, c := range change {
		c(&cfg)
	}
	e, err := engine.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Engine: e, t: t, store: store, path: path, dir: t.TempDir(), limit: patience}
	t.Cleanup(func() {
		f.close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) close() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Close(ctx); err != nil {
		f.t.Error(err)
	}
}

func (f *fixture) session(change ...func(*terret.Session)) string {
	f.t.Helper()
	s := terret.Session{Agent: "mock", Cwd: f.dir}
	for _, c := range change {
		c(&s)
	}
	s, err := f.Create(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	return s.ID
}

func withPolicy(p terret.Policy) func(*terret.Session) {
	return func(s *terret.Session) { s.Policy = p }
}

func text(s string) terret.Prompt { return terret.Prompt{Blocks: []terret.Block{terret.Text(s)}} }

func (f *fixture) prompt(session, words string) terret.Turn {
	f.t.Helper()
	return f.promptWhen(session, words, engine.WhenReject)
}

func (f *fixture) promptWhen(session, words string, when engine.When) terret.Turn {
	f.t.Helper()
	t, err := f.Prompt(f.t.Context(), engine.PromptRequest{Session: session, Prompt: text(words), When: when, By: "tester"})
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

// until follows the session until an event is the one that is waited for, and
// returns all events up to it.
func (f *fixture) until(session string, after int64, found func(terret.Event) bool) []terret.Event {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), f.limit)
	defer cancel()
	var out []terret.Event
	for entry, err := range f.Events(ctx, engine.EventQuery{Session: session, After: after, Follow: true}) {
		if err != nil {
			f.t.Fatalf("%v after %v", err, kindsOf(out))
		}
		out = append(out, decode(f.t, entry))
		if found(out[len(out)-1]) {
			return out
		}
	}
	f.t.Fatal("the stream ended by itself")
	return nil
}

// ended waits for the end of the turn and returns its events.
func (f *fixture) ended(session, turn string) []terret.Event {
	f.t.Helper()
	all := f.until(session, 0, func(ev terret.Event) bool { return ev.Turn == turn && turnEnd(ev) })
	return slices.DeleteFunc(all, func(ev terret.Event) bool { return ev.Turn != turn })
}

// run prompts and waits for the end.
func (f *fixture) run(session, words string) []terret.Event {
	f.t.Helper()
	return f.ended(session, f.prompt(session, words).ID)
}

// log is the whole history of a session.
func (f *fixture) log(session string) []terret.Event {
	f.t.Helper()
	return readLog(f.t, f.store, session)
}

func readLog(t *testing.T, s terret.Store, session string) []terret.Event {
	t.Helper()
	var out []terret.Event
	for after := int64(0); ; {
		page, err := s.Read(context.Background(), terret.ReadQuery{Session: session, After: after, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return out
		}
		for _, entry := range page {
			out = append(out, decode(t, entry))
			after = entry.Seq
		}
	}
}

func decode(t *testing.T, entry terret.Entry) terret.Event {
	t.Helper()
	ev, err := entry.Decode()
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// request waits for the nth request of the session that a person must decide.
func (f *fixture) request(session string, n int) terret.Request {
	f.t.Helper()
	seen := 0
	events := f.until(session, 0, func(ev terret.Event) bool {
		if ev.Expects != nil {
			seen++
		}
		return seen == n
	})
	r, err := f.store.Request(f.t.Context(), events[len(events)-1].Expects.RequestID)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) decide(d terret.Decision) {
	f.t.Helper()
	if err := f.Decide(f.t.Context(), d); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) allow(request string) {
	f.t.Helper()
	f.decide(terret.Decision{RequestID: request, Behavior: terret.BehaviorAllow, By: "tester"})
}

func (f *fixture) stored(session string) terret.Session {
	f.t.Helper()
	s, err := f.store.Session(context.Background(), session)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func turnEnd(ev terret.Event) bool { return ev.Kind() == "turn.complete" || ev.Kind() == "turn.error" }

func isKind(k terret.Kind) func(terret.Event) bool {
	return func(ev terret.Event) bool { return ev.Kind() == k }
}

func isState(s terret.SessionState) func(terret.Event) bool {
	return func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.SessionStateChange)
		return ok && d.State == s
	}
}

func kindsOf(events []terret.Event) []terret.Kind {
	out := make([]terret.Kind, len(events))
	for i, ev := range events {
		out[i] = ev.Kind()
	}
	return out
}

// last is the last event of a type.
func last[T terret.Data](t *testing.T, events []terret.Event) T {
	t.Helper()
	found := all[T](events)
	if len(found) == 0 {
		var none T
		t.Fatalf("no %T in %v", none, kindsOf(events))
	}
	return found[len(found)-1]
}

func all[T terret.Data](events []terret.Event) []T {
	var out []T
	for _, ev := range events {
		if d, ok := ev.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

func wantKind(t *testing.T, err error, kind terret.ErrorCode) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %s", kind)
	} else if got := terret.AsError(err).Code; got != kind {
		t.Errorf("error %s, want %s: %v", got, kind, err)
	}
}

// ask is a step that needs permission for a shell command.
func ask(command string) mock.Step {
	return mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"` + command + `"}`), Ask: true}}
}

// gate is a step that waits until the test lets it go on, and says that it waits.
type gate struct{ reached, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}, 100), make(chan struct{})} }

func (g gate) step() mock.Step {
	return mock.Step{Do: func(ctx context.Context, _ string) error {
		g.reached <- struct{}{}
		select {
		case <-g.open:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}}
}

func (g gate) wait(t *testing.T) {
	t.Helper()
	select {
	case <-g.reached:
	case <-time.After(patience):
		t.Fatal("the agent never came here")
	}
}

func unsetenv(keys ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { return len(kv) > len(k) && kv[:len(k)+1] == k+"=" })
	})
}

// waitStopping waits until the session has been told to stop what it does, which is
// not in the log yet.
func (f *fixture) waitStopping(session string) {
	f.t.Helper()
	for !engine.Stopping(f.Engine, session) {
		select {
		case <-f.t.Context().Done():
			f.t.Fatal("nobody stopped it")
		default:
			runtime.Gosched()
		}
	}
}

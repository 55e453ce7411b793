package drivertest

import (
	"bytes"
	"context"
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
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

const (
	// patience bounds waits that would otherwise hang; it is never measured. What is
	// tried although it is not declared gets less: it should not happen, and a machine
	// too slow for it makes the suite miss a false declaration, never fail.
	patience      = 60 * time.Second
	trialPatience = 5 * time.Second
	// canary is the key that must never be seen.
	canary = "sk-ant-api03-CANARY-0123456789abcdefghijklmnopqrstuvwxyz"
	// tester is who prompts and decides.
	tester = "tester"
)

// fixture is the stage of one scenario: an engine with the agent, and a scripted
// model behind it.
type fixture struct {
	tb
	t        *testing.T // for what must hold also where the scenario may fail
	target   Target
	declared terret.Capabilities
	patience time.Duration
	place    Place
	dir      string // that agents work in
	data     string // of the engine
	path     string // of the store
	config   func(*engine.Config)
	spy      *spy
	model    *model
	e        *engine.Engine
	seats    []seat
	log      *buffer
}

// seat is an engine with the store it works on.
type seat struct {
	engine *engine.Engine
	store  *sqlite.Store
}

// buffer is safe for concurrent use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func newFixture(t *testing.T, test tb, target Target, declared terret.Capabilities) *fixture {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		tb: test, t: t, target: target, declared: declared, patience: patience, log: &buffer{},
		dir: filepath.Join(base, "project"), data: filepath.Join(base, "terret"), path: filepath.Join(base, "terret.db"),
		place: Place{Home: filepath.Join(base, "home"), Key: canary, Program: target.Program},
	}
	for _, dir := range []string{f.dir, f.data, f.place.Home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if trial, ok := test.(*trial); ok {
		f.patience = trial.patience
	}
	return f
}

// play starts the model with these steps, and an engine.
func (f *fixture) play(steps ...step) {
	f.Helper()
	var err error
	if f.model, err = startModel(f.t.Context(), f.t.Name(), steps); err != nil {
		f.Fatalf("%v", err)
	}
	if f.place.URL == "" {
		f.place.URL = f.model.running.URL()
	}
	f.e = f.open().engine
}

// open makes an engine on the store. It is closed when the scenario is over.
func (f *fixture) open() seat {
	f.Helper()
	s, spy, err := openSeat(f.t.Context(), f.target, f.place, f.path, f.data, slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})), f.config)
	if err != nil {
		f.Fatalf("%v", err)
	}
	f.spy = spy
	f.seats = append(f.seats, s)
	return s
}

// openSeat is also what a child process does.
func openSeat(ctx context.Context, target Target, p Place, path, data string, log *slog.Logger, change func(*engine.Config)) (seat, *spy, error) {
	store, err := sqlite.Open(ctx, path, sqlite.Options{Log: log})
	if err != nil {
		return seat{}, nil, err
	}
	driver, spy := watch(target.Driver(p))
	cfg := engine.Config{
		Store: store, Drivers: []terret.Driver{driver}, Log: log, Home: data,
		Env: environ(target, p),
	}
	if change != nil {
		change(&cfg)
	}
	e, err := engine.New(ctx, cfg)
	if err != nil {
		return seat{}, nil, errors.Join(err, store.Close())
	}
	return seat{e, store}, spy, nil
}

// session makes a session, in which everything is allowed unless it says otherwise.
func (f *fixture) session(change ...func(*terret.Session)) string {
	f.Helper()
	s := terret.Session{Agent: f.target.Name, Cwd: f.dir, Model: f.target.Model, Policy: terret.PolicyAutoApprove}
	if f.target.Session != nil {
		f.target.Session(&s)
	}
	for _, c := range change {
		c(&s)
	}
	s, err := f.e.Create(f.Context(), s)
	if err != nil {
		f.Fatalf("create a session: %v", err)
	}
	return s.ID
}

func withPolicy(p terret.Policy) func(*terret.Session) {
	return func(s *terret.Session) { s.Policy = p }
}

func withOptions(o terret.SessionOptions) func(*terret.Session) {
	return func(s *terret.Session) { s.Options = o }
}

func words(s string) terret.Prompt { return terret.Prompt{Blocks: []terret.Block{terret.Text(s)}} }

func (f *fixture) prompt(session, prompt string) string {
	f.Helper()
	return f.promptWith(session, words(prompt), "")
}

// promptWith returns the turn's id.
func (f *fixture) promptWith(session string, p terret.Prompt, when engine.When) string {
	f.Helper()
	t, err := f.e.Prompt(f.Context(), engine.PromptRequest{Session: session, Prompt: p, When: when, By: tester})
	if err != nil {
		f.Fatalf("prompt: %v", err)
	}
	return t.ID
}

// until follows the session until an event is the one that is waited for, and
// returns all events up to it.
func (f *fixture) until(session, what string, found func(terret.Event) bool) []terret.Event {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), f.patience)
	defer cancel()
	var out []terret.Event
	for entry, err := range f.e.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
		if err != nil {
			f.Fatalf("there is no %s: %v after event %d", what, err, len(out))
		}
		ev, err := entry.Decode()
		if err != nil {
			f.Fatalf("%v", err)
		}
		out = append(out, ev)
		if found(ev) {
			return out
		}
	}
	f.Fatalf("there is no %s: the stream ended after event %d", what, len(out))
	return nil
}

// end waits for the end of the turn and returns its events.
func (f *fixture) end(session, turn string) []terret.Event {
	f.Helper()
	events := f.until(session, "end of the turn", func(ev terret.Event) bool { return ev.Turn == turn && ev.Kind().EndsTurn() })
	return slices.DeleteFunc(events, func(ev terret.Event) bool { return ev.Turn != turn })
}

// run prompts and waits for the end.
func (f *fixture) run(session, prompt string) []terret.Event {
	f.Helper()
	return f.end(session, f.prompt(session, prompt))
}

// says runs a turn that must go well and end with that text, and returns its events.
func (f *fixture) says(session, prompt, want string) []terret.Event {
	f.Helper()
	events := f.run(session, prompt)
	f.completed(events, want)
	return events
}

// completed holds that a turn went well and ended with that text.
func (f *fixture) completed(events []terret.Event, want string) terret.TurnComplete {
	f.Helper()
	end := last[terret.TurnComplete](f, events)
	if end.Text != want {
		f.Fatalf("the turn ended with %q, not %q", cut(end.Text), cut(want))
	}
	return end
}

// failed holds that a turn ended with an error of one of these kinds.
func (f *fixture) failed(events []terret.Event, want ...terret.ErrorCode) terret.TurnError {
	f.Helper()
	end := last[terret.TurnError](f, events)
	if !slices.Contains(want, end.Error.Code) {
		f.Fatalf("the turn ended with %s (%s), not %s", end.Error.Code, end.Error.Message, want)
	}
	if end.Error.Message == "" {
		f.Errorf("the error of kind %s says nothing", end.Error.Code)
	}
	return end
}

// asked waits for a request in the turn that somebody must decide, other than those.
func (f *fixture) asked(session, turn string, but ...terret.Event) terret.Event {
	f.Helper()
	events := f.until(session, "request", func(ev terret.Event) bool {
		asks := needsPerson(ev) && !slices.ContainsFunc(but, func(b terret.Event) bool { return b.Seq == ev.Seq })
		return ev.Turn == turn && (asks || ev.Kind().EndsTurn())
	})
	request := events[len(events)-1]
	if request.Kind().EndsTurn() {
		f.Fatalf("the turn ended and nobody was asked")
	}
	return request
}

// needsPerson reports whether the event waits for a person.
func needsPerson(ev terret.Event) bool {
	return ev.Expects != nil && slices.Contains([]terret.Gate{terret.GatePermission, terret.GateQuestion, terret.GatePlan}, ev.Expects.Gate)
}

func (f *fixture) decide(request terret.Event, d terret.Decision) {
	f.Helper()
	d.RequestID, d.By = request.Expects.RequestID, tester
	if err := f.e.Decide(f.Context(), d); err != nil {
		f.Fatalf("decide: %v", err)
	}
}

// await waits for something that no event tells.
func (f *fixture) await(what string, ok func() bool) {
	f.Helper()
	for deadline := time.Now().Add(f.patience); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.Fatalf("not in %v: %s", f.patience, what)
		}
	}
}

// gone waits until the agent has no process left.
func (f *fixture) gone() {
	f.Helper()
	f.await("no process is left", func() bool { return len(alive(f.t, f.place.Home)) == 0 })
}

func (f *fixture) at(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) write(name, content string) {
	f.Helper()
	if err := os.WriteFile(f.at(name), []byte(content), 0o600); err != nil {
		f.Fatalf("%v", err)
	}
}

// file is the content of a file in the agent's folder, or says that there is none.
func (f *fixture) file(name string) string {
	f.Helper()
	content, err := os.ReadFile(f.at(name))
	if os.IsNotExist(err) {
		return "(no file)"
	}
	if err != nil {
		f.Fatalf("%v", err)
	}
	return string(content)
}

// holds is that a file has that content.
func (f *fixture) holds(name, want string) {
	f.Helper()
	if got := strings.TrimSuffix(f.file(name), "\n"); got != want {
		f.Errorf("%s holds %q, not %q", name, cut(got), cut(want))
	}
}

// heard is that the model was sent something in its last request.
func (f *fixture) heard(words ...string) {
	f.Helper()
	said := f.model.last()
	for _, w := range words {
		if !strings.Contains(said.User, w) {
			f.Errorf("the model was not sent %q but %q", cut(w), cut(said.User))
		}
	}
}

// has reports whether the agent declares the capability.
func (f *fixture) has(c terret.Capability) bool { return f.declared.Has(c) }

// environ is what agents may see at a place. What the target says comes first.
func environ(t Target, p Place) []string {
	return append(t.Env(p), "PATH="+os.Getenv("PATH"), "HOME="+p.Home, "TMPDIR="+p.Home)
}

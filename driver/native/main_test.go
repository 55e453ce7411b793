package native_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/driver/native/internal/sandbox"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/test/sim"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandboxHelper {
		sandbox.Main(os.Args[2:])
	}
	// A connection of net/http that was refused stays for half a second, so that
	// the client reads the answer before the reset.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// sandboxHelper makes the test binary the helper of sandboxes.
const sandboxHelper = "sandbox-exec"

// patience bounds waits of tests that would otherwise hang; it is never measured.
const patience = 60 * time.Second

// canary is the key that must never be seen.
const canary = "sk-ant-api03-CANARY-0123456789abcdefghijklmnopqrstuvwxyz"

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

// waits are the waits that were asked for between attempts.
type waits struct {
	mu    sync.Mutex
	after []time.Duration
}

func (w *waits) backoff(_ int, after time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.after = append(w.after, after)
	return 0
}

// setup is what a fixture is made of.
type setup struct {
	path   string // of the store; empty is in memory
	env    map[string]string
	config func(*engine.Config)
	native native.Config
}

// fixture is an engine with native agents.
type fixture struct {
	*engine.Engine
	t      *testing.T
	driver *native.Driver
	store  *sqlite.Store
	dir    string // that agents work in
	log    *buffer
	pauses *waits

	decided []int64 // requests, by number
}

func newFixture(t *testing.T, s setup) *fixture {
	t.Helper()
	if s.path == "" {
		s.path = sqlite.Memory
	}
	store, err := sqlite.Open(t.Context(), s.path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, store: store, log: &buffer{}, pauses: &waits{}}
	if f.dir, err = filepath.EvalSymlinks(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	s.native.Getenv = func(name string) string { return s.env[name] }
	if s.native.Backoff == nil {
		s.native.Backoff = f.pauses.backoff
	}
	f.driver = native.New(s.native)
	cfg := engine.Config{
		Store: store, Drivers: []terret.Driver{f.driver}, CloseGrace: patience, InterruptGrace: patience,
		Log: slog.New(slog.NewTextHandler(f.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Env: []string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=" + canary, "ANTHROPIC_AUTH_TOKEN=" + canary},
	}
	if s.config != nil {
		s.config(&cfg)
	}
	if f.Engine, err = engine.New(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.close)
	return f
}

// close may be called many times.
func (f *fixture) close() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.Close(ctx); err != nil {
		f.t.Error(err)
	}
	if err := f.store.Close(); err != nil {
		f.t.Error(err)
	}
}

// simulated is a fixture whose models are scripted, and the requests they got.
func simulated(t *testing.T, scenario string, change ...func(*setup)) (*fixture, *requests) {
	t.Helper()
	dir := t.TempDir()
	parsed, err := sim.Parse("test.yaml", []byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	got := &requests{}
	srv, err := sim.NewServer(parsed, sim.Options{Record: got.record, Vars: map[string]string{"tmp": dir, "key": canary}})
	if err != nil {
		t.Fatal(err)
	}
	got.release = srv.Player().Release
	running, err := srv.Start(context.WithoutCancel(t.Context()), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := running.Close(); err != nil {
			t.Error(err)
		}
		if left := srv.Player().Unmatched(); len(left) > 0 {
			t.Error(left)
		}
	})
	s := setup{env: map[string]string{
		"ANTHROPIC_API_KEY": canary, "ANTHROPIC_BASE_URL": running.URL(),
		"OPENAI_API_KEY": canary, "OPENAI_BASE_URL": running.URL() + "/v1",
	}}
	for _, c := range change {
		c(&s)
	}
	return newFixture(t, s), got
}

// requests are those that a model got.
type requests struct {
	release func(hold string)

	mu  sync.Mutex
	all []sim.Recorded
}

func (r *requests) record(got sim.Recorded) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, got)
	return nil
}

func (r *requests) list() []sim.Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// wire is a request as the API gets it.
type wire struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	System    []struct{ Text string }
	Thinking  map[string]any
	Output    map[string]any `json:"output_config"`
	Messages  []struct {
		Role    string
		Content []wireBlock
	}
	Tools []struct {
		Name        string
		Description string
		InputSchema map[string]any `json:"input_schema"`
	}
}

type wireBlock struct {
	Type      string
	Text      string
	Thinking  *string
	Signature string
	ID        string
	Name      string
	Input     json.RawMessage
	ToolUseID string `json:"tool_use_id"`
	IsError   bool   `json:"is_error"`
	Title     string
	Content   []wireBlock
	Source    map[string]string

	CacheControl map[string]string `json:"cache_control"`
}

// nth reads a request, counted from 0.
func (r *requests) nth(t *testing.T, n int) wire {
	t.Helper()
	all := r.list()
	if n >= len(all) {
		t.Fatalf("there are %d requests", len(all))
	}
	var out wire
	if err := json.Unmarshal(all[n].Body, &out); err != nil {
		t.Fatalf("%v in %s", err, all[n].Body)
	}
	return out
}

func (f *fixture) session(change ...func(*terret.Session)) string {
	f.t.Helper()
	s := terret.Session{Agent: native.Name, Cwd: f.dir, Model: native.DemoModel, Policy: terret.PolicyAutoApprove}
	for _, c := range change {
		c(&s)
	}
	s, err := f.Create(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	return s.ID
}

// claude is a session with a scripted model.
func claude(s *terret.Session) { s.Model = "anthropic/claude-test" }

func gpt(s *terret.Session) { s.Model = "openai/gpt-test" }

func withPolicy(p terret.Policy) func(*terret.Session) {
	return func(s *terret.Session) { s.Policy = p }
}

func withOptions(o terret.SessionOptions) func(*terret.Session) {
	return func(s *terret.Session) { s.Options = o }
}

func text(s string) terret.Prompt { return terret.Prompt{Blocks: []terret.Block{terret.Text(s)}} }

func (f *fixture) prompt(session, words string) terret.Turn {
	f.t.Helper()
	return f.promptWith(session, text(words))
}

func (f *fixture) promptWith(session string, p terret.Prompt) terret.Turn {
	f.t.Helper()
	t, err := f.Prompt(f.t.Context(), engine.PromptRequest{Session: session, Prompt: p, By: "tester"})
	if err != nil {
		f.t.Fatal(err)
	}
	return t
}

// until follows the session until an event is the one that is waited for, and
// returns all events up to it.
func (f *fixture) until(session string, found func(terret.Event) bool) []terret.Event {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	var out []terret.Event
	for entry, err := range f.Events(ctx, engine.EventQuery{Session: session, Follow: true}) {
		if err != nil {
			f.t.Fatalf("%v after %v", err, kindsOf(out))
		}
		ev, err := entry.Decode()
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, ev)
		if found(ev) {
			return out
		}
	}
	f.t.Fatalf("the stream ended after %v", kindsOf(out))
	return nil
}

func ended(turn string) func(terret.Event) bool {
	return func(ev terret.Event) bool {
		return ev.Turn == turn && (ev.Kind() == "turn.complete" || ev.Kind() == "turn.error")
	}
}

// end waits for the end of the turn and returns its events.
func (f *fixture) end(session, turn string) []terret.Event {
	f.t.Helper()
	all := f.until(session, ended(turn))
	return slices.DeleteFunc(all, func(ev terret.Event) bool { return ev.Turn != turn })
}

// run prompts and waits for the end.
func (f *fixture) run(session, words string) []terret.Event {
	f.t.Helper()
	return f.end(session, f.prompt(session, words).ID)
}

// says runs a turn that must go well, and returns its text.
func (f *fixture) says(session, words string) string {
	f.t.Helper()
	return last[terret.TurnComplete](f.t, f.run(session, words)).Text
}

// asked waits for a request in the turn that somebody must decide.
func (f *fixture) asked(session, turn string) terret.Event {
	f.t.Helper()
	events := f.until(session, func(ev terret.Event) bool {
		return ev.Turn == turn && ev.Expects != nil && ev.Expects.Gate != terret.GatePreTool
	})
	return events[len(events)-1]
}

func (f *fixture) decide(request terret.Event, d terret.Decision) {
	f.t.Helper()
	d.RequestID, d.By = request.Expects.RequestID, "tester"
	if err := f.Decide(f.t.Context(), d); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) interrupt(session string) {
	f.t.Helper()
	if err := f.Interrupt(f.t.Context(), session, "tester"); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) write(name, content string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// file is the content of a file, or says that there is none.
func (f *fixture) file(name string) string {
	f.t.Helper()
	content, err := os.ReadFile(filepath.Join(f.dir, name))
	if os.IsNotExist(err) {
		return "(no file)"
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return string(content)
}

package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// setup is a client of a real server with a real engine, behind a proxy that breaks
// connections when it is told to.
func setup(t *testing.T, script mock.Script) (*client.Client, *flaky, string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	store, err := sqlite.Open(t.Context(), filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := access.Open(home)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: []terret.Driver{mock.New(script)}})
	if err != nil {
		t.Fatal(err)
	}
	sessions := &installation.Sessions{Sessions: assemble.Sessions{
		Engine: e, Store: store, Home: home, Roles: &assemble.Roles{}, Agents: assemble.NewAgents([]terret.Driver{mock.New(script)}),
		Defaults: func(_ context.Context, s *terret.Session) { s.Agent = "mock" },
	}}
	server, err := httpapi.New(httpapi.Config{
		Engine: e, Store: store, Tokens: tokens, Roots: []string{dir}, Drivers: []terret.Driver{mock.New(script)}, Sessions: sessions, Team: runTeam(t, sessions),
	})
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{next: server.Handler()}
	hs := httptest.NewServer(f)
	token, err := tokens.AdminToken()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		hs.CloseClientConnections()
		hs.Close()
		server.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(hs.URL, client.Options{Token: token, HTTP: hs.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c, f, dir
}

// flaky breaks every stream after some bytes, if it is told to.
type flaky struct {
	next   http.Handler
	after  atomic.Int64
	broken atomic.Int64
}

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if n := f.after.Load(); n > 0 && strings.HasSuffix(r.URL.Path, "/events") {
		w = &breaking{ResponseWriter: w, left: n, f: f}
	}
	f.next.ServeHTTP(w, r)
}

type breaking struct {
	http.ResponseWriter
	left int64
	f    *flaky
}

func (b *breaking) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *breaking) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left { // in the middle of an event
		n, _ := b.ResponseWriter.Write(p[:b.left])
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		b.left = 0
		b.f.broken.Add(1)
		if conn, _, err := http.NewResponseController(b.ResponseWriter).Hijack(); err == nil {
			_ = conn.Close()
		}
		return n, errors.New("broken")
	}
	b.left -= int64(len(p))
	return b.ResponseWriter.Write(p)
}

func TestStory(t *testing.T) {
	t.Parallel()
	c, _, dir := setup(t, mock.Script{Turns: [][]mock.Step{{
		{Text: "I will ask."}, {Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Result: "a"}}, {Text: "Done."},
	}}})
	ctx := t.Context()
	s, err := c.CreateSession(ctx, client.NewSession{Cwd: dir, Title: "talk", SettingSources: []string{}, MaxCostUSD: terret.USD})
	if err != nil {
		t.Fatal(err)
	}
	if s.Options.SettingSources == nil || s.Options.MaxCostUSD != terret.USD {
		t.Errorf("options %+v", s.Options)
	}
	turn, err := c.Prompt(ctx, s.ID, client.NewTurn{Prompt: "go", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := c.Prompt(ctx, s.ID, client.NewTurn{Prompt: "go", Key: "k"}); err != nil || again.ID != turn.ID {
		t.Errorf("again %+v %v", again, err)
	}
	if _, err := c.Prompt(ctx, s.ID, client.NewTurn{Prompt: "else"}); !errors.Is(err, terret.ErrBusy) {
		t.Error(err)
	}
	text := ""
	for e, err := range c.Events(ctx, client.EventQuery{Session: s.ID, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Expects != nil {
			open, err := c.Requests(ctx, terret.RequestFilter{State: terret.RequestOpen})
			if err != nil || len(open.Items) != 1 {
				t.Fatalf("open %+v %v", open, err)
			}
			if decided, err := c.Requests(ctx, terret.RequestFilter{State: terret.RequestDecided}); err != nil || len(decided.Items) != 0 {
				t.Errorf("decided %+v %v", decided, err)
			}
			d := terret.Decision{RequestID: ev.Expects.RequestID, Behavior: terret.BehaviorAllow, Reason: "fine"}
			if r, err := c.Decide(ctx, d, ""); err != nil || r.Decision.Reason != "fine" {
				t.Errorf("%+v %v", r, err)
			}
			if _, err := c.Decide(ctx, d, ""); !errors.Is(err, terret.ErrAlreadyDecided) {
				t.Error(err)
			}
		}
		if d, ok := ev.Data.(terret.TurnComplete); ok {
			text = d.Text
			break
		}
	}
	if text != "Done." {
		t.Errorf("text %q", text)
	}
	title := "other"
	if s.Session, err = c.UpdateSession(ctx, s.ID, terret.SessionUpdated{Title: &title}); err != nil || s.Title != title {
		t.Errorf("%+v %v", s, err)
	}
	var said []string
	for m, err := range c.Messages(ctx, s.ID) {
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, terret.TextOf(m.Blocks))
	}
	if len(said) < 3 || said[0] != "go" {
		t.Errorf("messages %q", said)
	}
	turns, err := c.Turns(ctx, s.ID)
	if err != nil || len(turns) != 1 {
		t.Errorf("%+v %v", turns, err)
	}
	var file bytes.Buffer
	if err := c.Export(ctx, s.ID, &file); err != nil {
		t.Fatal(err)
	}
	made, err := c.Import(ctx, &file, "")
	if err != nil || made.ID == s.ID {
		t.Errorf("%+v %v", made, err)
	}
	n := 0
	for _, err := range c.AllSessions(ctx, terret.SessionFilter{Limit: 1, Agent: "mock"}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d sessions", n)
	}
	if _, err := c.DeleteSession(ctx, s.ID, true); err != nil {
		t.Error(err)
	}
	if _, err := c.Session(ctx, s.ID); !errors.Is(err, terret.ErrSessionNotFound) {
		t.Error(err)
	}
	if err := c.Interrupt(ctx, made.ID); !errors.Is(err, terret.ErrConflict) {
		t.Error(err)
	}
	agents, err := c.Agents(ctx)
	if err != nil || len(agents) != 1 || !agents[0].Capabilities.Has(terret.CanSteer) {
		t.Errorf("%+v %v", agents, err)
	}
	rules, err := c.PutRules(ctx, []terret.Rule{{Effect: terret.EffectDeny, Pattern: "Bash(rm *)"}})
	if err != nil || len(rules) != 1 {
		t.Errorf("%+v %v", rules, err)
	}
	if _, err := c.Usage(ctx, "agent", time.Time{}, time.Now()); err != nil {
		t.Error(err)
	}
	if found, err := c.Search(ctx, terret.SearchQuery{Words: "nowhere", Session: made.ID, Limit: 3}); err != nil || len(found.Items) != 0 {
		t.Errorf("%+v %v", found, err)
	}
	if _, err := c.Search(ctx, terret.SearchQuery{Words: "%"}); !errors.Is(err, terret.ErrInvalid) {
		t.Error(err)
	}
	_, err = c.CreateSession(ctx, client.NewSession{Cwd: dir, Model: "-x"})
	if e := terret.AsError(err); !errors.Is(err, terret.ErrInvalid) || e.Field != "model" {
		t.Errorf("%+v", e)
	}
}

// TestExactResume holds that connections that break, in the middle of events too,
// lose and repeat nothing.
func TestExactResume(t *testing.T) {
	t.Parallel()
	const notes = 500
	steps := make([]mock.Step, notes)
	for i := range steps {
		steps[i].Event = &mock.RawEvent{Kind: "notification", Data: terret.JSON(fmt.Sprintf(`{"text":"%d"}`, i))}
	}
	c, f, dir := setup(t, mock.Script{Turns: [][]mock.Step{steps}})
	f.after.Store(1500)
	s, err := c.CreateSession(t.Context(), client.NewSession{Cwd: dir, DisallowedTools: []string{"Bash"}, Unenforced: true})
	if err == nil && (len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "disallowed_tools")) {
		t.Errorf("notes: %q", s.Notes)
	}
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		last, n := int64(0), 0
		for e, err := range c.Events(t.Context(), client.EventQuery{Session: s.ID, Follow: true}) {
			if err != nil {
				t.Error(err)
				return
			}
			if e.Seq != last+1 {
				t.Errorf("event %d after %d", e.Seq, last)
				return
			}
			last = e.Seq
			if e.Kind == "notification" {
				n++
			}
			if e.Kind == "turn.complete" {
				break
			}
		}
		if n != notes {
			t.Errorf("%d notes", n)
		}
	})
	wait.Go(func() {
		last := int64(0)
		for e, err := range c.AllEvents(t.Context(), client.AllQuery{}) {
			if err != nil || e.Seq != last+1 || e.Session != s.ID || e.Cursor == "" {
				t.Errorf("event %+v after %d: %v", e, last, err)
				return
			}
			last = e.Seq
			if e.Kind == "turn.complete" {
				return
			}
		}
	})
	if _, err := c.Prompt(t.Context(), s.ID, client.NewTurn{Prompt: "go"}); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	if f.broken.Load() < 10 {
		t.Errorf("only %d connections broke", f.broken.Load())
	}
	// History alone ends by itself, over broken connections too.
	f.after.Store(20_000)
	var live, history []string
	for e, err := range c.Events(t.Context(), client.EventQuery{Session: s.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, string(e.AppendJSON(nil)))
	}
	f.after.Store(0)
	for e, err := range c.Events(t.Context(), client.EventQuery{Session: s.ID, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		if live = append(live, string(e.AppendJSON(nil))); len(live) == len(history) {
			break
		}
	}
	if diff := cmp.Diff(history, live); diff != "" || len(live) < notes {
		t.Error(diff)
	}
}

func TestQueries(t *testing.T) {
	t.Parallel()
	c, _, dir := setup(t, mock.Script{})
	s, err := c.CreateSession(t.Context(), client.NewSession{Cwd: dir, KeepRaw: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prompt(t.Context(), s.ID, client.NewTurn{Prompt: "hello"}); err != nil {
		t.Fatal(err)
	}
	for e, err := range c.AllEvents(t.Context(), client.AllQuery{Sessions: []string{s.ID}, Kinds: []terret.Kind{"turn.complete"}, NoDeltas: true}) {
		if err != nil || e.Kind != "turn.complete" {
			t.Fatalf("%+v %v", e, err)
		}
		break
	}
	for _, err := range c.AllEvents(t.Context(), client.AllQuery{Sessions: []string{}}) {
		if !errors.Is(err, terret.ErrInvalid) {
			t.Fatalf("no session is not all of them: %v", err)
		}
	}
	for e, err := range c.Events(t.Context(), client.EventQuery{Session: s.ID, Kinds: []terret.Kind{"turn.start", "turn.complete"}, Raw: true, NoDeltas: true}) {
		if err != nil || e.Kind != "turn.start" && e.Kind != "turn.complete" || e.Session != s.ID {
			t.Errorf("%+v %v", e, err)
		}
	}
	for _, err := range c.Events(t.Context(), client.EventQuery{Session: s.ID, After: 99999}) {
		if !errors.Is(err, terret.ErrInvalid) {
			t.Error(err)
		}
	}
	// The end of a stream that the server ends says why.
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var last error
	for e, err := range c.Events(ctx, client.EventQuery{Session: s.ID, Follow: true}) {
		if last = err; err == nil && e.Kind == "turn.complete" {
			if _, err := c.DeleteSession(ctx, s.ID, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(last, terret.ErrSessionNotFound) {
		t.Errorf("ended with %v", last)
	}
}

// An id that is none never becomes the path of something else: a queued prompt named ".."
// would be the session.
func TestNoIDs(t *testing.T) {
	t.Parallel()
	c, _, dir := setup(t, mock.Script{})
	ctx := t.Context()
	s, err := c.CreateSession(ctx, client.NewSession{Cwd: dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"", ".", ".."} {
		_, noSession := c.Session(ctx, id)
		_, noTurn := c.EditQueued(ctx, s.ID, id, client.NewTurn{Prompt: "x"}, "")
		_, noPrompt := c.Prompt(ctx, id, client.NewTurn{Prompt: "x"})
		for i, err := range []error{noSession, noTurn, noPrompt, c.DropQueued(ctx, s.ID, id), c.RemoveAgent(ctx, id)} {
			if !errors.Is(err, terret.ErrInvalid) || terret.AsError(err).Field != "id" {
				t.Errorf("%d with %q: %v", i, id, err)
			}
		}
		for _, err := range c.Events(ctx, client.EventQuery{Session: id}) {
			if !errors.Is(err, terret.ErrInvalid) {
				t.Errorf("events of %q: %v", id, err)
			}
		}
	}
	if _, err := c.Session(ctx, s.ID); err != nil {
		t.Errorf("the session is gone: %v", err)
	}
	if _, err := c.Session(ctx, "../x"); !errors.Is(err, terret.ErrInvalid) {
		t.Errorf("an odd id: %v", err)
	}
}

func TestBadServers(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"", "127.0.0.1:7433", "ftp://x", "http://", "http://x?y", "http://x#code=y", "\x00"} {
		if _, err := client.New(u, client.Options{}); !errors.Is(err, terret.ErrInvalid) {
			t.Errorf("%q: %v", u, err)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"a page":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"not found": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 404) },
		"nothing":   func(http.ResponseWriter, *http.Request) {},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
		},
		"hostile event": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "id: 1\ndata: {\"seq\":2}\n\n") },
		"bad event":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "id: 1\ndata: {\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hs := httptest.NewServer(h)
			defer hs.Close()
			tr := &http.Transport{}
			defer tr.CloseIdleConnections()
			c, err := client.New(hs.URL, client.Options{GiveUp: time.Millisecond, HTTP: &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Session(t.Context(), "x"); terret.AsError(err).Code != terret.CodeConnectionFailed && name != "hostile event" {
				t.Errorf("%v", err)
			}
			var last error
			for _, err := range c.Events(t.Context(), client.EventQuery{Session: "x", Follow: true}) {
				last = err
			}
			if last == nil || terret.AsError(last).Code != terret.CodeConnectionFailed {
				t.Errorf("%v", last)
			}
		})
	}
	c, err := client.New("http://127.0.0.1:1", client.Options{GiveUp: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Session(t.Context(), "x"); terret.AsError(err).Code != terret.CodeConnectionFailed || !terret.AsError(err).Retryable {
		t.Error(err)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	stop(gone)
	if _, err := c.Session(ctx, "x"); !errors.Is(err, gone) {
		t.Error(err)
	}
}

// TestNewSession holds that the client can say all that the server takes.
func TestNewSession(t *testing.T) {
	t.Parallel()
	described, err := httpapi.Describe()
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal(described, &spec); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"NewSession": client.NewSession{
			Agent: "x", Preset: "x", Model: "x", Cwd: "x", Repo: "x", Labels: []string{"x"}, Persona: "x", Mode: "x", Policy: "x", PermissionMode: "x", Title: "x", Tools: []string{}, DisallowedTools: []string{},
			AutoApproveTools: []string{}, Allow: []string{""}, Deny: []string{""}, Ask: []string{""}, SettingSources: []string{}, AddDirs: []string{""}, Agents: terret.JSON("1"),
			MCP: terret.JSON("1"), Effort: "x", FallbackModel: "x", OutputSchema: terret.JSON("1"), MaxTurns: 1, MaxCostUSD: 1, SystemAppend: "x", OneShot: true,
			BasePrompt: true, Gates: []terret.Gate{"x"}, Timeouts: map[terret.Gate]int{"x": 1},
			NativeID: "x", Worktree: true, Branch: "x", KeepRaw: true, Unenforced: true, OnStale: "x", Sandbox: "x", Record: true,
		},
		"Preset": client.Preset{
			ID: "x", Name: "x", Agent: "x", Model: "x", SystemAppend: "x", DisallowedTools: []string{"x"}, Servers: []client.PresetServer{{}}, Skills: []client.PresetSkill{{}},
			MaxTurns: 1, Seconds: 1, Policy: "x", Cwd: "x", CreatedAt: terret.Now(),
		},
		"NotifySettings": client.NotifySettings{BaseURL: "x", Channels: []client.NotifyChannel{}},
		"Channel":        client.NotifyChannel{ID: "x", Kind: "x", URL: "x", Events: []string{"x"}, Quiet: &client.NotifyQuiet{}, Secret: "x", Disabled: true, Private: true, Answers: true},
		"NewTurn":        client.NewTurn{Prompt: "x", Blocks: []terret.Block{{}}, MessageID: "x", ParentID: "x", Root: true, When: "x", Options: terret.TurnOptions{MaxTurns: 1}},
	} {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var said map[string]any
		if err := json.Unmarshal(b, &said); err != nil {
			t.Fatal(err)
		}
		for field := range spec.Components.Schemas[name].Properties {
			if _, ok := said[field]; !ok {
				t.Errorf("the client cannot say %s of %s", field, name)
			}
			delete(said, field)
		}
		if len(said) != 0 {
			t.Errorf("the server does not take %v of %s", said, name)
		}
	}
}

// TestFleetOfOne asks a server on a single machine, which has no nodes.
func TestFleetOfOne(t *testing.T) {
	t.Parallel()
	c, _, _ := setup(t, mock.Script{})
	if got, err := c.Fleet(t.Context()); err != nil || got.Nodes == nil || len(got.Nodes) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.DrainNode(t.Context(), "", time.Minute); terret.AsError(err).Code != terret.CodeUnsupported {
		t.Errorf("drain: %v", err)
	}
}

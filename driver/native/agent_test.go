package native_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// host is a host that takes everything, and decides as it is told.
type host struct {
	mu     sync.Mutex
	events []terret.Event
	came   chan struct{} // signalled with each event
	refuse error         // of Emit
	decide func(ctx context.Context, q terret.Ask) (terret.Decision, error)
}

func newHost() *host {
	return &host{came: make(chan struct{}, 1), decide: func(context.Context, terret.Ask) (terret.Decision, error) {
		return terret.Decision{Behavior: terret.BehaviorAllow}, nil
	}}
}

func (h *host) Emit(_ context.Context, events []terret.Event, _ []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return h.refuse
	}
	h.events = append(h.events, events...)
	select {
	case h.came <- struct{}{}:
	default:
	}
	return nil
}

func (h *host) Ask(ctx context.Context, q terret.Ask) (terret.Decision, error) {
	if err := h.Emit(ctx, []terret.Event{q.Event}, nil); err != nil {
		return terret.Decision{}, err
	}
	return h.decide(ctx, q)
}

func (*host) Delivered(context.Context, string) error { return nil }

func (h *host) list() []terret.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]terret.Event{}, h.events...)
}

// until waits for an event and returns all.
func (h *host) until(t *testing.T, found func(terret.Event) bool) []terret.Event {
	t.Helper()
	timeout := time.After(patience)
	for {
		for i, ev := range h.list() {
			if found(ev) {
				return h.list()[:i+1]
			}
		}
		select {
		case <-h.came:
		case <-timeout:
			t.Fatalf("not in %v", kindsOf(h.list()))
		}
	}
}

func waitForEver(ctx context.Context, _ terret.Ask) (terret.Decision, error) {
	<-ctx.Done()
	return terret.Decision{}, context.Cause(ctx)
}

// bare is an agent without an engine.
func bare(t *testing.T, h *host, env map[string]string, change ...func(*terret.Session)) (terret.Agent, error) {
	t.Helper()
	return bareWith(t, h, env, terret.Settings{}, change...)
}

// bareWith is bare with those settings in force.
func bareWith(t *testing.T, h *host, env map[string]string, in terret.Settings, change ...func(*terret.Session)) (terret.Agent, error) {
	t.Helper()
	d := native.New(native.Config{Getenv: func(name string) string { return env[name] }, Backoff: func(int, time.Duration) time.Duration { return time.Hour }})
	s := terret.Session{ID: terret.NewSessionID(), Agent: native.Name, Cwd: t.TempDir(), Model: native.DemoModel}
	for _, c := range change {
		c(&s)
	}
	a, err := d.Open(t.Context(), terret.OpenRequest{Session: s, Settings: in, Host: h, Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() {
		if a != nil {
			_ = a.Close(context.Background())
		}
		if err := d.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return a, err
}

// bareOf opens an agent of the fixture's driver without an engine.
func bareOf(t *testing.T, f *fixture, h *host) (terret.Agent, error) {
	t.Helper()
	a, err := f.driver.Open(t.Context(), terret.OpenRequest{
		Session: terret.Session{ID: "x", Cwd: f.dir, Model: "anthropic/claude-test"}, Host: h, Log: slog.New(slog.DiscardHandler), Env: []string{"PATH=" + os.Getenv("PATH")},
	})
	t.Cleanup(func() {
		if a != nil {
			_ = a.Close(context.Background())
		}
	})
	return a, err
}

// TestCloseDuringEverything closes an agent in every state it can be in. That no
// goroutine is left is seen to by TestMain.
func TestCloseDuringEverything(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words string
		until terret.Kind
		model string
		api   http.HandlerFunc
	}{
		"idle":         {},
		"text":         {words: "hello", until: "message.delta"},
		"a command":    {words: "run: sleep 1000", until: "permission.request"},
		"a request":    {words: "ask me", until: "question.request"},
		"a plan":       {words: "make a plan", until: "plan.request"},
		"no answer":    {words: "go", until: "session.start", model: "anthropic/x", api: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"half of one":  {words: "go", until: "message.delta", model: "anthropic/x", api: half},
		"between them": {words: "go", until: "retry", model: "anthropic/x", api: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost()
			if name != "a command" {
				h.decide = waitForEver
			}
			var env map[string]string
			if c.api != nil {
				env = map[string]string{"ANTHROPIC_API_KEY": canary, "ANTHROPIC_BASE_URL": listen(t, c.api)}
			}
			a, err := bare(t, h, env, func(s *terret.Session) {
				if c.model != "" {
					s.Model = c.model
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			if c.words != "" {
				if err := a.Prompt(t.Context(), "trn_1", text(c.words), terret.Settings{}); err != nil {
					t.Fatal(err)
				}
				h.until(t, isKind(c.until))
			}
			var group sync.WaitGroup
			for range 3 { // it is idempotent, and safe at any time
				group.Go(func() {
					if err := a.Close(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			events := h.list()
			if c.words != "" {
				if e, ok := events[len(events)-1].Data.(terret.TurnError); !ok || e.Error.Code != terret.CodeInterrupted {
					t.Errorf("ends with %+v", events[len(events)-1])
				}
			}
			wantKind(t, a.Prompt(t.Context(), "trn_2", text("hello"), terret.Settings{}), terret.CodeSessionClosed)
			if n := len(h.list()); n != len(events) {
				t.Error("it speaks after Close")
			}
			if err := a.Interrupt(t.Context(), "trn_1"); err != nil {
				t.Error(err)
			}
		})
	}
}

// half begins an answer and leaves it at that.
func half(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "message_start", `"message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":1}}`)
	event(w, "content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
	event(w, "content_block_delta", `"index":0,"delta":{"type":"text_delta","text":"I was"}`)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// TestCloseRaces closes while prompts come.
func TestCloseRaces(t *testing.T) {
	t.Parallel()
	for range 20 {
		h := newHost()
		a, err := bare(t, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		var prompted error
		group.Go(func() { prompted = a.Prompt(t.Context(), "trn_1", text("list files"), terret.Settings{}) })
		group.Go(func() { _ = a.Close(t.Context()) })
		group.Go(func() { _ = a.Interrupt(t.Context(), "trn_1") })
		group.Wait()
		ends := len(all[terret.TurnError](h.list())) + len(all[terret.TurnComplete](h.list()))
		if want := map[bool]int{true: 1, false: 0}[prompted == nil]; ends != want {
			t.Errorf("%d ends of a turn after %v", ends, prompted)
		}
	}
}

func TestBusy(t *testing.T) {
	t.Parallel()
	h := newHost()
	h.decide = waitForEver
	a, err := bare(t, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Prompt(t.Context(), "trn_1", text("ask me"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	h.until(t, isKind("question.request"))
	wantKind(t, a.Prompt(t.Context(), "trn_2", text("hello"), terret.Settings{}), terret.CodeSessionBusy)
	if err := a.Interrupt(t.Context(), "trn_2"); err != nil { // of another turn: nothing happens
		t.Fatal(err)
	}
	if err := a.Interrupt(t.Context(), "trn_1"); err != nil {
		t.Fatal(err)
	}
	events := h.until(t, isKind("turn.error"))
	if end := events[len(events)-1]; end.Turn != "trn_1" {
		t.Errorf("%+v", end)
	}
	if err := a.Prompt(t.Context(), "trn_2", text("hello"), terret.Settings{}); err != nil { // as soon as the end is told
		t.Fatal(err)
	}
	h.until(t, isKind("turn.complete"))
}

func TestHostThatTakesNothingMore(t *testing.T) {
	t.Parallel()
	h := newHost()
	a, err := bare(t, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	h.decide = func(context.Context, terret.Ask) (terret.Decision, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.refuse = terret.ErrFenced
		return terret.Decision{}, terret.ErrFenced
	}
	if err := a.Prompt(t.Context(), "trn_1", text("run: echo x > a.txt"), terret.Settings{}); err != nil {
		t.Fatal(err)
	}
	h.until(t, isKind("permission.request"))
	if err := a.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = newHost()
	h.refuse = terret.ErrFenced
	if a, err := bare(t, h, nil); a != nil || !errors.Is(err, terret.ErrFenced) {
		t.Errorf("%v, %v", a, err)
	}
}

// TestOnlyAllowAllows has deciders that say something odd.
func TestOnlyAllowAllows(t *testing.T) {
	t.Parallel()
	for _, behavior := range []terret.Behavior{"", terret.BehaviorAsk, terret.BehaviorPassthrough, terret.BehaviorApprove, terret.BehaviorBlock} {
		h := newHost()
		h.decide = func(context.Context, terret.Ask) (terret.Decision, error) {
			return terret.Decision{Behavior: behavior}, nil
		}
		a, err := bare(t, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Prompt(t.Context(), "trn_1", text("run: date"), terret.Settings{}); err != nil {
			t.Fatal(err)
		}
		events := h.until(t, isKind("turn.complete"))
		if fail := last[terret.ToolFailure](t, events); !fail.Denied {
			t.Errorf("%q: %+v", behavior, fail)
		}
	}
}

// listen serves a handler until the test ends.
func listen(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the end of the request is not noticed
		h(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestStoppedRequestIsNoDenial has an engine that decides what is open before it
// tells the agent to stop: the model must not be called in between.
func TestStoppedRequestIsNoDenial(t *testing.T) {
	t.Parallel()
	for _, source := range []terret.DecisionSource{terret.ByInterrupt, terret.ByAgentExit} {
		h := newHost()
		h.decide = func(context.Context, terret.Ask) (terret.Decision, error) {
			return terret.Decision{Behavior: terret.BehaviorDeny, Source: source}, nil
		}
		a, err := bare(t, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Prompt(t.Context(), "trn_1", text("run: date, then list files"), terret.Settings{}); err != nil {
			t.Fatal(err)
		}
		events := h.until(t, isKind("turn.error"))
		e, fail := last[terret.TurnError](t, events), last[terret.ToolFailure](t, events)
		if e.Error.Code != terret.CodeInterrupted || len(e.Denials) > 0 || fail.Denied || !fail.Interrupted || len(all[terret.ToolStart](events)) != 1 {
			t.Errorf("%s: %+v, %+v", source, e, fail)
		}
	}
}

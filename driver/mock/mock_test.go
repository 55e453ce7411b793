package mock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host keeps what the agent says and decides as it is told to.
type host struct {
	t      *testing.T
	decide func(terret.Ask) terret.Decision

	mu        sync.Mutex
	events    []terret.Event
	cursor    string
	delivered []string
	news      chan struct{}
}

func newHost(t *testing.T) *host {
	return &host{t: t, news: make(chan struct{}, 1000), decide: func(q terret.Ask) terret.Decision {
		return terret.Decision{Behavior: terret.BehaviorAllow}
	}}
}

func (h *host) Emit(_ context.Context, events []terret.Event, cursor []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, events...)
	if cursor != nil {
		h.cursor = string(cursor)
	}
	h.news <- struct{}{}
	return nil
}

func (h *host) Ask(_ context.Context, q terret.Ask) (terret.Decision, error) {
	_ = h.Emit(context.Background(), []terret.Event{q.Event}, nil)
	d := h.decide(q)
	d.RequestID = q.Key
	return d, nil
}

func (h *host) Delivered(_ context.Context, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.delivered = append(h.delivered, id)
	return nil
}

// until waits for the nth event of a kind and returns all kinds so far.
func (h *host) until(kind terret.Kind, n int) []terret.Event {
	h.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		h.mu.Lock()
		seen := 0
		for i, ev := range h.events {
			if ev.Kind() == kind {
				seen++
			}
			if seen == n {
				out := slices.Clone(h.events[:i+1])
				h.mu.Unlock()
				return out
			}
		}
		h.mu.Unlock()
		select {
		case <-h.news:
		case <-deadline:
			h.t.Fatalf("no %s number %d", kind, n)
		}
	}
}

func kinds(events []terret.Event) string {
	var out []string
	for _, ev := range events {
		out = append(out, string(ev.Kind()))
	}
	return strings.Join(out, " ")
}

func open(t *testing.T, d *mock.Driver, h *host, change ...func(*terret.OpenRequest)) terret.Agent {
	t.Helper()
	r := terret.OpenRequest{Session: terret.Session{ID: "s", Cwd: t.TempDir()}, Host: h}
	for _, c := range change {
		c(&r)
	}
	a, err := d.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 { // idempotent
			if err := a.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	return a
}

func prompt(t *testing.T, a terret.Agent, turn, words string) {
	t.Helper()
	if err := a.Prompt(t.Context(), turn, terret.Prompt{Blocks: []terret.Block{terret.Text(words)}}, terret.Settings{}); err != nil {
		t.Fatal(err)
	}
}

// Each kind of step does what its comment says.
func TestSteps(t *testing.T) {
	t.Parallel()
	input := terret.JSON(`{"command":"ls"}`)
	deny := func(terret.Ask) terret.Decision {
		return terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no"}
	}
	for name, c := range map[string]struct {
		steps  []mock.Step
		decide func(terret.Ask) terret.Decision
		want   string // kinds after session.start
		text   string // of the end
	}{
		"nothing": {nil, nil, "turn.complete", ""},
		"text":    {[]mock.Step{{Text: "héé"}}, nil, "message.delta message.delta message.complete turn.complete", "héé"},
		"think":   {[]mock.Step{{Think: "hm"}}, nil, "reasoning.delta turn.complete", ""},
		"tool":    {[]mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: input, Result: "a"}}}, nil, "tool.pre tool.post turn.complete", ""},
		"failing": {[]mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: input, Error: "127"}}}, nil, "tool.pre tool.failure turn.complete", ""},
		"allowed": {[]mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: input, Ask: true}}}, nil, "tool.pre permission.request tool.post turn.complete", ""},
		"denied":  {[]mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: input, Ask: true}}}, deny, "tool.pre permission.request tool.failure turn.complete", ""},
		"question": {[]mock.Step{{Question: &terret.Question{ID: "q"}}}, func(terret.Ask) terret.Decision {
			return terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"q": {"red"}}}
		}, "question.request message.delta message.delta message.complete turn.complete", "You answered: [red]"},
		"rejected": {[]mock.Step{{Question: &terret.Question{ID: "q"}}}, func(terret.Ask) terret.Decision {
			return terret.Decision{Behavior: terret.BehaviorReject, Reason: "busy"}
		}, "question.request message.delta message.delta message.complete turn.complete", "No answer: busy"},
		"stopped": {[]mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: input, Ask: true}}}, func(terret.Ask) terret.Decision {
			return terret.Decision{Behavior: terret.BehaviorDeny, Source: terret.ByInterrupt}
		}, "tool.pre permission.request turn.error", ""},
		"plan": {[]mock.Step{{Plan: "p"}}, func(terret.Ask) terret.Decision {
			return terret.Decision{Behavior: terret.BehaviorApprove}
		}, "plan.request message.delta message.delta message.complete turn.complete", "The plan: approve"},
		"usage":      {[]mock.Step{{Usage: &terret.UsageUpdate{CostUSD: 5}}}, nil, "usage.update turn.complete", ""},
		"event":      {[]mock.Step{{Event: &mock.RawEvent{Kind: "notification", Data: terret.JSON(`{"text":"x"}`)}}}, nil, "notification turn.complete", ""},
		"bad event":  {[]mock.Step{{Event: &mock.RawEvent{Kind: "nonsense"}}}, nil, "turn.error", ""},
		"delay":      {[]mock.Step{{Delay: mock.Duration(time.Microsecond)}}, nil, "turn.complete", ""},
		"fail":       {[]mock.Step{{Fail: terret.Errorf(terret.CodeModelError, "x")}, {Text: "never"}}, nil, "turn.error", ""},
		"crash":      {[]mock.Step{{Crash: true}, {Text: "never"}}, nil, "turn.error process.exit session.end", ""},
		"do":         {[]mock.Step{{Do: func(_ context.Context, dir string) error { return os.WriteFile(dir+"/x", nil, 0o600) }}}, nil, "turn.complete", ""},
		"do fails":   {[]mock.Step{{Do: func(context.Context, string) error { return errors.New("x") }}}, nil, "turn.error", ""},
		"background": {[]mock.Step{{Background: []mock.Step{{Think: "b"}}}}, nil, "turn.complete reasoning.delta turn.complete", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			if c.decide != nil {
				h.decide = c.decide
			}
			a := open(t, mock.New(mock.Script{Turns: [][]mock.Step{c.steps}}), h)
			prompt(t, a, "trn_1", "go")
			want := strings.Fields(c.want)
			lastKind, n := want[len(want)-1], 0
			for _, k := range want {
				if k == lastKind {
					n++
				}
			}
			events := h.until(terret.Kind(lastKind), n)[1:]
			if diff := cmp.Diff(c.want, kinds(events)); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if end, ok := events[len(events)-1].Data.(terret.TurnComplete); ok && end.Text != c.text {
				t.Errorf("text %q, want %q", end.Text, c.text)
			}
			for _, ev := range events {
				if d, ok := ev.Data.(terret.MessageDelta); ok && strings.ContainsRune(d.Text, '\uFFFD') {
					t.Errorf("a letter was cut in two: %q", d.Text)
				}
			}
			if asked := strings.Contains(c.want, "request"); asked != (len(h.delivered) == 1) {
				t.Errorf("delivered %v", h.delivered)
			}
		})
	}
}

// Hang, Delay and work in the background end with an interrupt, Deaf only with
// Close; all say so.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]mock.Step{
		"hang": {Hang: true}, "deaf": {Deaf: true}, "delay": {Delay: mock.Duration(time.Hour)},
		"background": {Background: []mock.Step{{Text: "x"}, {Hang: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t)
			a := open(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Think: "x"}, step}}}), h)
			prompt(t, a, "trn_1", "go")
			h.until("reasoning.delta", 1)
			turn := "trn_1"
			if name == "background" { // whose id it cannot know
				h.until("message.complete", 1)
				turn = "trn_2"
			} else if err := a.Interrupt(t.Context(), "trn_2"); err != nil {
				t.Fatal(err)
			}
			if err := a.Interrupt(t.Context(), turn); err != nil {
				t.Fatal(err)
			}
			if name == "deaf" {
				if err := a.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			events := h.until("turn.error", 1)
			end := events[len(events)-1].Data.(terret.TurnError)
			if end.Error.Code != terret.CodeInterrupted {
				t.Errorf("end %+v", end.Error)
			}
		})
	}
}

// An interrupt ends one turn of a talker; the next one is as good as the first.
func TestTalkerInterrupt(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	began := make(chan struct{}, 1)
	talker := mock.Talker(func(ctx context.Context, _, prompt string) (string, error) {
		if prompt == "wait" {
			began <- struct{}{}
			<-ctx.Done()
		}
		return prompt, ctx.Err()
	})
	a, err := talker.Open(t.Context(), terret.OpenRequest{Host: h})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close(context.Background())
	prompt(t, a, "trn_1", "wait")
	<-began
	for _, turn := range []string{"trn_0", "trn_1", "trn_1"} {
		if err := a.Interrupt(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	h.until("turn.error", 1)
	prompt(t, a, "trn_2", "again")
	events := h.until("turn.complete", 1)
	if end := events[len(events)-1].Data.(terret.TurnComplete); end.Text != "again" {
		t.Errorf("end %+v", end)
	}
}

// An agent that is opened again goes on with the script; the last turn repeats.
func TestResume(t *testing.T) {
	t.Parallel()
	d := mock.New(mock.Script{Turns: [][]mock.Step{{{Crash: true}}, {{Text: "two"}}, {{Text: "three"}}}})
	h := newHost(t)
	a := open(t, d, h)
	prompt(t, a, "trn_1", "x")
	h.until("session.end", 1)
	if err := a.Prompt(t.Context(), "trn_2", terret.Prompt{}, terret.Settings{}); terret.AsError(err).Code != terret.CodeProcessFailed {
		t.Errorf("prompted a dead agent: %v", err)
	}
	b := open(t, d, h, func(r *terret.OpenRequest) { r.Cursor, r.Session.NativeID = []byte(h.cursor), "mock-s" })
	for i, want := range []string{"two", "three", "three"} {
		prompt(t, b, "trn_x", "x")
		events := h.until("turn.complete", i+1)
		if got := events[len(events)-1].Data.(terret.TurnComplete).Text; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	starts := 0
	for _, ev := range h.events {
		if s, ok := ev.Data.(terret.SessionStart); ok {
			if want := []string{"new", "resume"}[starts]; s.Source != want || s.NativeID != "mock-s" {
				t.Errorf("start %+v", s)
			}
			starts++
		}
	}
	_, err := d.Open(t.Context(), terret.OpenRequest{Cursor: []byte("x"), Host: h})
	if terret.AsError(err).Code != terret.CodeResumeFailed {
		t.Errorf("bad cursor: %v", err)
	}
}

func TestSteerAndBusy(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	reached, goOn := make(chan struct{}), make(chan struct{})
	a := open(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Do: func(context.Context, string) error {
		close(reached)
		<-goOn
		return nil
	}}}}}), h)
	prompt(t, a, "trn_1", "x")
	<-reached
	if err := a.Prompt(t.Context(), "trn_2", terret.Prompt{}, terret.Settings{}); err == nil {
		t.Error("a busy agent took a prompt")
	}
	s := a.(terret.Steerer)
	if err := s.Steer(t.Context(), "trn_1", terret.Prompt{Blocks: []terret.Block{terret.Text("more")}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Steer(t.Context(), "trn_2", terret.Prompt{}); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("steered another turn: %v", err)
	}
	close(goOn)
	events := h.until("turn.complete", 1)
	if got := events[len(events)-1].Data.(terret.TurnComplete).Text; got != "You added: more" {
		t.Errorf("text %q", got)
	}
}

func TestOpenErrorAndProbe(t *testing.T) {
	t.Parallel()
	d := mock.New(mock.Script{OpenError: terret.Errorf(terret.CodeNotAuthenticated, "sign in"), Without: []terret.Capability{terret.CanSteer}})
	if _, err := d.Open(t.Context(), terret.OpenRequest{Host: newHost(t)}); terret.AsError(err).Code != terret.CodeNotAuthenticated {
		t.Errorf("open: %v", err)
	}
	p, err := d.Probe(t.Context())
	if err != nil || !p.Found || p.Agent != "mock" {
		t.Errorf("probe %+v, %v", p, err)
	}
	a := open(t, mock.New(mock.Script{Without: []terret.Capability{terret.CanSteer}}), newHost(t))
	if c := terret.CapabilitiesOf(a); c.Has(terret.CanSteer) || !c.Has(terret.CanStream) {
		t.Errorf("capabilities %+v", c)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	load := func(script string) (mock.Script, error) {
		path := filepath.Join(t.TempDir(), "script.json")
		if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		return mock.Load(path)
	}
	s, err := load(`{"turns":[[{"text":"a"},{"delay":"150ms"},{"tool":{"name":"Bash","input":{"command":"ls"},"ask":true}},{"background":[{"crash":true}]}]],
		"without":["steer"],"open_error":{"kind":"billing","message":"pay"}}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Turns[0]) != 4 || s.Turns[0][1].Delay != mock.Duration(150*time.Millisecond) || s.OpenError.Code != terret.CodeBilling || !s.Turns[0][3].Background[0].Crash {
		t.Errorf("script %+v", s)
	}
	for script, want := range map[string]string{
		`{"turns":[[{"txet":"a"}]]}`:             "txet",
		`{"trun":[]}`:                            "trun",
		`{"turns":[[{"delay":5}]]}`:              "150ms",
		`{"turns":[[{"delay":"soon"}]]}`:         "soon",
		`{"turns":[]} x`:                         "after the JSON value",
		`{"turns":[[{"text":"a"},{}]]}`:          "turn 1, step 2",
		`{"turns":[[{"text":"a","hang":true}]]}`: "not 2",
		`{"turns":[[{"background":[{}]}]]}`:      "in the background, step 1",
		`{"turns":`:                              "unexpected EOF",
	} {
		if _, err := load(script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", script, err, want)
		}
	}
	if _, err := mock.Load(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

// The script in the package comment is one that Load takes.
func TestDoc(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("mock.go")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	for line := range strings.Lines(string(source)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			script.WriteString(code)
		}
	}
	path := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(path, []byte(script.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := mock.Load(path)
	if err != nil || len(s.Turns) != 1 || len(s.Turns[0]) != 3 {
		t.Errorf("%+v, %v", s, err)
	}
}

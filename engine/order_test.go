package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// story is a log in short: kinds, states in brackets, with a star outside turns.
func story(events []terret.Event) []string {
	var out []string
	for _, ev := range events {
		word := string(ev.Kind())
		if d, ok := ev.Data.(terret.SessionStateChange); ok {
			word = "[" + string(d.State) + "]"
		}
		if ev.Turn == "" {
			word += "*"
		}
		out = append(out, word)
	}
	return out
}

func wantStory(t *testing.T, events []terret.Event, want string) {
	t.Helper()
	if diff := cmp.Diff(strings.Fields(want), story(events)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestOrderOfATurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	id := f.session()
	if got := f.stored(id).State; got != terret.SessionPending {
		t.Errorf("a new session is %s", got)
	}
	f.run(id, "hello there\nand more")
	f.run(id, "again")
	f.until(id, 0, func() func(terret.Event) bool {
		idle := 0
		return func(ev terret.Event) bool {
			if isState(terret.SessionIdle)(ev) {
				idle++
			}
			return idle == 2
		}
	}())
	f.close()
	wantStory(t, f.log(id), `
		turn.start session.updated [starting] session.start diag.warning [busy] message.delta message.complete turn.complete [idle]*
		turn.start [busy] message.delta message.complete turn.complete [idle]*
		session.end*`)
	end := last[terret.TurnComplete](t, f.log(id))
	if end.Text != "You said: again" || end.StopReason != "end_turn" {
		t.Errorf("end %+v", end)
	}
	if s := f.stored(id); s.Title != "hello there" || s.NativeID == "" {
		t.Errorf("title %q, native id %q", s.Title, s.NativeID)
	}
	checkLog(t, f.store, id)
}

// A title has 80 characters at most, however many bytes they are.
func TestTitleIsCut(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	fits := strings.Repeat("ö", 80)
	for prompt, want := range map[string]string{
		fits:                                fits,
		fits + "ö":                          strings.Repeat("ö", 79) + "…",
		strings.Repeat("ö", 78) + " and on": strings.Repeat("ö", 78) + "…",
		" \n" + fits + "\nand more":         fits,
	} {
		id := f.session()
		f.run(id, prompt)
		if got := f.stored(id).Title; got != want {
			t.Errorf("title of %q: %q", prompt, got)
		}
	}
}

func TestOrderOfARequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{ask("make"), {Text: "done"}}}})
	id := f.session()
	turn := f.prompt(id, "go")
	r := f.request(id, 1)
	f.until(id, 0, isState(terret.SessionWaiting))
	if s := f.stored(id); s.State != terret.SessionWaiting || s.OpenRequests != 1 {
		t.Errorf("while it waits: %s, %d open", s.State, s.OpenRequests)
	}
	f.allow(r.RequestID)
	events := f.ended(id, turn.ID)
	wantStory(t, events, `
		turn.start session.updated [starting] session.start diag.warning [busy]
		tool.pre permission.request [waiting] permission.decision [busy] tool.post
		message.delta message.complete turn.complete`)
	if by := events[9].By; by != "tester" {
		t.Errorf("decided by %q", by)
	}
	f.close()
	checkLog(t, f.store, id)
}

// Every state that the vocabulary knows of a working session is told of, once.
func TestStates(t *testing.T) {
	t.Parallel()
	say := func(kind terret.Kind, data string) mock.Step {
		return mock.Step{Event: &mock.RawEvent{Kind: kind, Data: terret.JSON(data)}}
	}
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{
		{say("retry", `{"attempt":1,"delay_ms":5,"error":"529"}`), say("retry", `{"attempt":2,"delay_ms":5}`), {Text: "a"}},
		{say("compact.pre", `{"trigger":"auto"}`), say("compact.post", `{}`), {Text: "b"}},
		{{Fail: terret.Errorf(terret.CodeModelError, "no")}},
		{{Hang: true}},
	}})
	id := f.session()
	f.run(id, "1")
	f.run(id, "2")
	f.run(id, "3")
	turn := f.prompt(id, "4")
	f.until(id, 0, func(ev terret.Event) bool { return ev.Turn == turn.ID && isState(terret.SessionBusy)(ev) })
	if err := f.Interrupt(t.Context(), id, "me"); err != nil {
		t.Fatal(err)
	}
	f.ended(id, turn.ID)
	f.close()
	var got []string
	for _, s := range all[terret.SessionStateChange](f.log(id)) {
		got = append(got, string(s.State))
	}
	want := strings.Fields("starting busy retrying busy idle busy compacting busy idle busy failed busy interrupting idle")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if d := all[terret.SessionStateChange](f.log(id))[2].Detail; d != "529" {
		t.Errorf("retrying because of %q", d)
	}
	e := last[terret.TurnError](t, f.log(id)).Error
	if e.Code != terret.CodeInterrupted || !strings.Contains(e.Message, "by me") {
		t.Errorf("interrupted turn: %+v", e)
	}
	checkLog(t, f.store, id)
}

// An agent that speaks without having been prompted has begun a turn.
func TestBackgroundTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{
		{{Text: "a"}, {Background: []mock.Step{ask("make"), {Text: "by the way"}}}},
		{{Text: "b"}, {Background: []mock.Step{{Hang: true}, {Text: "never"}}}},
	}})
	id := f.session(withPolicy(terret.PolicyAutoApprove))
	first := f.prompt(id, "go")
	background := func(ev terret.Event) bool { return turnEnd(ev) && ev.Turn != first.ID }
	events := f.until(id, 0, background)
	starts := all[terret.TurnStart](events)
	if len(starts) != 2 || starts[1].Origin != terret.OriginBackground || starts[1].Prompt == nil {
		t.Errorf("starts %+v", starts)
	}
	if got := last[terret.TurnComplete](t, events).Text; got != "by the way" {
		t.Errorf("text %q", got)
	}
	f.until(id, events[len(events)-1].Seq, isState(terret.SessionIdle))
	f.close()
	checkLog(t, f.store, id)
}

// An interrupted turn keeps what the agent had said.
func TestInterruptKeepsText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{
		{Event: &mock.RawEvent{Kind: "message.delta", Data: terret.JSON(`{"message_id":"m","text":"half a sen"}`)}}, {Hang: true},
	}}})
	id := f.session()
	turn := f.prompt(id, "go")
	f.until(id, 0, isKind("message.delta"))
	if err := f.Interrupt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if got := last[terret.TurnError](t, f.ended(id, turn.ID)).Text; got != "half a sen" {
		t.Errorf("text %q", got)
	}
	wantKind(t, f.Interrupt(t.Context(), id, ""), terret.CodeConflict)
	wantKind(t, f.Kill(t.Context(), id, ""), terret.CodeConflict)
	wantKind(t, f.Interrupt(t.Context(), terret.NewSessionID(), ""), terret.CodeSessionNotFound)
}

func TestCreateAndPromptRefuse(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	create := func(change func(*terret.Session)) error {
		s := terret.Session{Agent: "mock", Cwd: f.dir}
		change(&s)
		_, err := f.Create(t.Context(), s)
		return err
	}
	wantKind(t, create(func(s *terret.Session) { s.Agent = "nobody" }), terret.CodeAgentNotFound)
	wantKind(t, create(func(s *terret.Session) { s.Cwd = "" }), terret.CodeInvalidRequest)
	wantKind(t, create(func(s *terret.Session) { s.Cwd += "/missing" }), terret.CodeInvalidRequest)
	wantKind(t, create(func(s *terret.Session) { s.Policy = "yolo" }), terret.CodeInvalidRequest)
	for field, change := range map[string]func(*terret.SessionOptions){
		"options.max_turns":     func(o *terret.SessionOptions) { o.MaxTurns = -1 },
		"options.max_cost_usd":  func(o *terret.SessionOptions) { o.MaxCostUSD = -1 },
		"options.on_stale":      func(o *terret.SessionOptions) { o.OnStale = "perhaps" },
		"options.mcp":           func(o *terret.SessionOptions) { o.MCP = terret.JSON("{") },
		"options.output_schema": func(o *terret.SessionOptions) { o.OutputSchema = terret.JSON("[]") },
	} {
		err := create(func(s *terret.Session) { change(&s.Options) })
		if wantKind(t, err, terret.CodeInvalidRequest); err != nil && terret.AsError(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	id := f.session()
	for _, r := range []engine.PromptRequest{
		{Session: id},
		{Session: id, Prompt: text("x"), When: "now"},
		{Session: id, Prompt: text("x"), Turn: "../../etc"},
	} {
		_, err := f.Prompt(t.Context(), r)
		wantKind(t, err, terret.CodeInvalidRequest)
	}
	_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: terret.NewSessionID(), Prompt: text("x")})
	wantKind(t, err, terret.CodeSessionNotFound)
	if n := len(f.log(id)); n != 0 {
		t.Errorf("%d events of prompts that were refused", n)
	}
}

// An engine says what it lacks.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	for name, cfg := range map[string]engine.Config{
		"nothing":   {},
		"no driver": {Store: f.store, Drivers: []terret.Driver{nil}},
		"no name":   {Store: f.store, Drivers: []terret.Driver{mock.NewFunc("", nil)}},
		"two":       {Store: f.store, Drivers: []terret.Driver{mock.New(mock.Script{}), mock.New(mock.Script{})}},
	} {
		e, err := engine.New(t.Context(), cfg)
		if !errors.Is(err, terret.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = e.Close(t.Context())
		}
	}
}

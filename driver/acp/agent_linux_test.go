package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/rpc"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	events := s.says(a, "hello", "You said hello")
	if d := all[terret.TurnComplete](events)[0]; d.Usage.Input != 10 || d.Usage.Output != 2 || d.StopReason != "end_turn" || d.NumSteps != 1 {
		t.Errorf("%+v", d)
	}
	if start := all[terret.SessionStart](s.host.said()); len(start) != 1 || start[0].NativeID != "s1" || start[0].AgentVersion != "1.2.3" || start[0].PermissionMode != "ask" || start[0].Model != "m1" {
		t.Errorf("%+v", start)
	}
	s.says(a, "again", "You said again")
	p := a.Current()
	if p.dead() {
		t.Error("it runs and is taken for dead")
	}
	s.close(a)
	if !p.dead() {
		t.Error("it has ended and is not taken for dead")
	}
	if n := len(all[terret.SessionEnd](s.host.said())); n != 0 {
		t.Error("an agent that is closed has not ended by itself")
	}
	if err := a.Prompt(t.Context(), "turn", terret.Prompt{}, terret.Settings{}); !errors.Is(err, terret.ErrClosed) {
		t.Errorf("prompt after close: %v", err)
	}
}

// TestNoStart has programs that never get as far as a session.
func TestNoStart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]terret.ErrorCode{
		"dead": terret.CodeProcessFailed, "later": terret.CodeStartupRefused, "nonsense": terret.CodeMalformedOutput,
		"stranger": terret.CodeNotAuthenticated, "mute": terret.CodeTimeout, "missing": terret.CodeAgentNotFound,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, name, func(s *setup) {
				if name == "mute" {
					s.d.patience = time.Second
				}
				if name == "stranger" {
					s.d.p.SignIn.Command = "fake login"
				}
				if name == "missing" {
					s.d.p.Argv = []string{"/there/is/none"}
				}
			})
			err := s.refused(want)
			if name == "stranger" && !strings.Contains(err.Message, "Run `fake login`") {
				t.Errorf("it does not say what to do: %+v", err)
			}
			if name == "dead" && (err.ExitCode == nil || *err.ExitCode != 3 || !strings.Contains(err.Message, "I do not feel well")) {
				t.Errorf("%+v", err)
			}
		})
	}
}

// TestDies has a program that ends in the middle of a turn. The session goes on.
func TestDies(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	e := s.fails(s.turn(a, "die"), terret.CodeProcessFailed)
	if e.Text != "I beg" || e.Error.ExitCode == nil || *e.Error.ExitCode != 7 || !strings.Contains(e.Error.Message, "out of memory") {
		t.Errorf("%+v", e)
	}
	if got := all[terret.DiagStderr](s.host.said()); len(got) != 1 || got[0].Text != "out of memory" {
		t.Errorf("the log has %+v of what it wrote to stderr", got)
	}
	events := s.says(a, "hello", "You said hello")
	if len(all[terret.Unknown](events)) > 0 {
		t.Errorf("what was replayed is told again:\n%s", dump(events))
	}
	starts := all[terret.SessionStart](s.host.said())
	if len(starts) != 2 || starts[1].Source != "resume" {
		t.Errorf("%+v", starts)
	}
	if exits := all[terret.ProcessExit](s.host.said()); len(exits) != 1 || *exits[0].Code != 7 {
		t.Errorf("%+v", exits)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"hang", "tool"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "fair")
			a := s.open()
			if err := a.Interrupt(t.Context(), "none"); err != nil {
				t.Error(err)
			}
			before := s.host.said()
			s.prompt(a, word)
			s.await("beginning", func(events []terret.Event) bool {
				return len(all[terret.MessageDelta](events))+len(all[terret.ToolPre](events)) > 0
			})
			if err := a.Interrupt(t.Context(), "turn"); err != nil {
				t.Error(err)
			}
			events := s.end(before)
			s.fails(events, terret.CodeInterrupted)
			if failures := all[terret.ToolFailure](events); word == "tool" && (len(failures) != 1 || !failures[0].Interrupted) {
				t.Errorf("%+v", failures)
			}
			s.says(a, "hello", "You said hello")
		})
	}
}

// TestInterruptedEarly has an agent that begins only after it was told to stop: it is
// told again.
func TestInterruptedEarly(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	before := s.host.said()
	s.prompt(a, "begin late")
	if err := a.Interrupt(t.Context(), "turn"); err != nil {
		t.Error(err)
	}
	s.fails(s.end(before), terret.CodeInterrupted)
}

// TestSilence has agents that say nothing for too long. One of them does not even stop,
// and one asks for more when it is told to.
func TestSilence(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"hang", "hang deaf", "hang and ask"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "fair", func(s *setup) { s.d.idle, s.d.grace = 100*time.Millisecond, 100*time.Millisecond })
			a := s.open()
			events := s.turn(a, word)
			e := s.fails(events, terret.CodeTimeout)
			if !e.Error.Retryable || !strings.HasPrefix(e.Text, "Let me see") || len(all[terret.PermissionRequest](events)) != 0 {
				t.Errorf("%s", dump(events))
			}
			s.d.idle = time.Minute
			s.says(a, "hello", "You said hello")
		})
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	events := s.says(a, "garbage", "You said garbage")
	if n := len(all[terret.DiagParseError](events)); n != 4 {
		t.Errorf("%d lines are not JSON", n)
	}
	var kept []string
	for _, ev := range events {
		if d, ok := ev.Data.(terret.Unknown); ok {
			if len(ev.Raw) == 0 {
				t.Errorf("%s is not kept", d.NativeType)
			}
			kept = append(kept, d.NativeType)
		}
	}
	want := "later, session/update of_a_later_version, session/update, session/update tool_call, later/notification, later/request"
	if got := strings.Join(kept, ", "); got != want {
		t.Errorf("kept %s", got)
	}
	if d := all[terret.TurnComplete](s.turn(a, "long")); len(d) != 1 || !strings.HasPrefix(d[0].Text, "You said long") && len(d[0].Text) < 3<<20 {
		t.Errorf("%d", len(d))
	}
	s.fails(s.turn(a, "nonsense"), terret.CodeMalformedOutput)
	s.says(a, "hello", "You said hello")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	e := s.fails(s.turn(a, "fail"), terret.CodeRateLimited)
	if e.Error.HTTPStatus != 429 || !e.Error.Retryable || !strings.Contains(e.Error.Message, "slow down") {
		t.Errorf("%+v", e.Error)
	}
	s.says(a, "hello", "You said hello")
}

// TestHear is that only the agent's own session counts, and nothing that the profile
// calls of no interest.
func TestHear(t *testing.T) {
	t.Parallel()
	a := newAgent(New(Profile{Argv: []string{"x"}, quirks: quirks{ignore: []string{"_x/*", "hum"}}}, Config{}), terret.OpenRequest{})
	a.native = "s1"
	running := newTurn(a.d.p, nil, terret.Settings{}, "/")
	for _, tt := range []struct {
		turn                 *turn
		method, params, want string
	}{
		{nil, "_x/y", `{}`, ""},
		{nil, "_y/x", `{}`, "_y/x"},
		{nil, methodUpdate, `{"sessionId":"s1","update":{"sessionUpdate":"plan"}}`, "session/update plan"}, // it is of no turn
		{nil, methodUpdate, `{"sessionId":"s2","update":{"sessionUpdate":"notice"}}`, "session/update"},
		{running, methodUpdate, `{"sessionId":"s1","update":{"sessionUpdate":"hum"}}`, ""},
		{running, methodUpdate, `{"sessionId":"s1","update":{"sessionUpdate":"user_message_chunk"}}`, ""},
		{running, methodUpdate, `{"sessionId":"s1","update":{"sessionUpdate":"usage_update"}}`, ""}, // and it changes nothing
		{running, methodUpdate, `{"sessionId":"s1","update":{"sessionUpdate":"later"}}`, "session/update later"},
	} {
		running.heard = time.Time{}
		h := &host{changed: make(chan struct{})}
		a.Req.Host, a.turn = h, tt.turn
		if err := a.hear(rpc.Message{Method: tt.method, Params: json.RawMessage(tt.params)}); err != nil {
			t.Error(err)
		}
		kept := all[terret.Unknown](h.said())
		if tt.want == "" && len(h.said()) > 0 || tt.want != "" && (len(kept) != 1 || kept[0].NativeType != tt.want) {
			t.Errorf("%s %s: %s", tt.method, tt.params, dump(h.said()))
		}
		if heard := !running.heard.IsZero(); heard != (tt.turn != nil && tt.want != "") {
			t.Errorf("%s %s: it counts as a sign of life: %v", tt.method, tt.params, heard)
		}
	}
}

// TestLate has an agent that goes on after the end of a turn: that begins no other, and
// what it asks is refused.
func TestLate(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	s.says(a, "late", "")
	if err := a.SetPermissionMode(t.Context(), "yolo"); err != nil {
		t.Fatal(err)
	}
	events := s.says(a, "hello", "You said hello")
	over := slices.IndexFunc(events, func(ev terret.Event) bool { return ev.Kind().InTurn() })
	late := events[:over]
	if n := len(all[terret.Unknown](late)); n != 2 || !strings.Contains(string(late[2].Raw), `\"cancelled\"`) || len(all[terret.PermissionRequest](events)) != 0 {
		t.Errorf("%s", dump(events))
	}
}

func TestPermission(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		d    terret.Decision
		want string
	}{
		"allowed": {terret.Decision{Behavior: terret.BehaviorAllow}, "a1"},
		"always":  {terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways}, "a1"},
		"denied":  {terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not today"}, "r1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "fair")
			s.host.decide = func(context.Context, terret.Ask) (terret.Decision, error) { return tt.d, nil }
			events := s.turn(s.open(), "ask twice")
			end := all[terret.TurnComplete](events)
			if len(end) != 1 || strings.Count(end[0].Text, `"optionId":"`+tt.want+`"`) != 2 {
				t.Fatalf("%s", dump(events))
			}
			asked := all[terret.PermissionRequest](events)
			if len(asked) != 2 || asked[0].ToolID != "t1" || asked[0].Class != terret.ClassExecute || string(asked[0].Input) != `{"command":"rm -rf x"}` {
				t.Errorf("%+v", asked)
			}
			if n := len(all[terret.ToolPre](events)); n != 1 {
				t.Errorf("the call was told %d times", n)
			}
			// The agent says no more of it: it ends with the turn.
			failure := all[terret.ToolFailure](events)
			if len(failure) != 1 || failure[0].Denied != (name == "denied") || name == "denied" && failure[0].Error != "not today" {
				t.Errorf("%+v", failure)
			}
		})
	}
}

// TestWithdrawn has a turn that ends while somebody is asked.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	s.host.decide = func(ctx context.Context, _ terret.Ask) (terret.Decision, error) {
		if err := a.Current().notify(methodCancel, object{"sessionId": "s1"}); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return terret.Decision{Behavior: terret.BehaviorDeny, Source: terret.ByAgentExit}, context.Cause(ctx)
	}
	events := s.says(a, "ask and leave", "You said ask and leave")
	if _, ok := events[len(events)-1].Data.(terret.TurnComplete); !ok || len(all[terret.PermissionDecision](events)) != 1 {
		t.Errorf("%s", dump(events))
	}
}

func TestDeniedAndStopped(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	s.host.decide = func(context.Context, terret.Ask) (terret.Decision, error) {
		return terret.Decision{Behavior: terret.BehaviorDeny, Interrupt: true}, nil
	}
	a := s.open()
	events := s.turn(a, "ask")
	if !strings.Contains(dump(events), `\"cancelled\"`) {
		t.Errorf("%s", dump(events))
	}
	// One that does not stop by itself is told to.
	e := s.fails(s.turn(a, "ask and wait"), terret.CodeInterrupted)
	if len(e.Denials) != 1 {
		t.Errorf("%+v", e)
	}
}

// TestQuestions has an agent that asks for more than permission.
func TestQuestions(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]terret.Decision{
		`{"action":"accept","content":{"age":41}}`: {Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"age": {"41"}}},
		`{"action":"decline"}`:                     {Behavior: terret.BehaviorReject},
	} {
		s := newSetup(t, "fair")
		s.host.decide = func(context.Context, terret.Ask) (terret.Decision, error) { return d, nil }
		events := s.says(s.open(), "question", want)
		asked := all[terret.QuestionRequest](events)
		if len(asked) != 1 || len(asked[0].Questions) != 1 || asked[0].Questions[0].ID != "age" {
			t.Errorf("%s", dump(events))
		}
	}
}

// TestCloseWhileStarting is that an agent can be closed while its process says nothing.
func TestCloseWhileStarting(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "mute", func(s *setup) { s.req.Session.OneShot = true })
	a := s.open()
	prompted := make(chan error, 1)
	go func() { prompted <- a.Prompt(t.Context(), "turn", terret.Prompt{}, terret.Settings{}) }()
	for a.Switching.TryLock() { // until it has begun
		a.Switching.Unlock()
		runtime.Gosched()
	}
	s.close(a)
	if err := <-prompted; !errors.Is(err, terret.ErrClosed) {
		t.Errorf("the prompt: %v", err)
	}
}

func TestLost(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "forgetful", func(s *setup) { s.req.Session.NativeID = "s0" })
	s.says(s.open(), "hello", "You said hello")
	ids := all[terret.SessionNativeID](s.host.said())
	if len(ids) != 1 || ids[0].Old != "s0" || ids[0].New != "s1" || ids[0].Reason != "stale" || ids[0].Error == "" {
		t.Errorf("%+v", ids)
	}
	s.req.Settings.OnStale = terret.OnStaleError
	s.refused(terret.CodeResumeFailed)
}

// TestResume has agents that go on with a session in different ways.
func TestResume(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		load bool // the profile's quirk
		want string
	}{
		"fair":     {false, methodLoad},
		"resuming": {false, methodResume},
		"either":   {false, methodResume},
		"either 2": {true, methodLoad},
		"neither":  {false, methodNew},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, strings.TrimSuffix(name, " 2"), func(s *setup) {
				s.req.Session.NativeID = "s1"
				s.d.p.quirks.load = tt.load
			})
			s.says(s.open(), "opened?", tt.want)
			start := all[terret.SessionStart](s.host.said())
			if len(start) != 1 || (start[0].Source == "resume") != (tt.want != methodNew) {
				t.Errorf("%+v", start)
			}
		})
	}
}

// TestOneTurn is that the mode and the model of a turn are not those of the next one.
func TestOneTurn(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	for _, in := range []terret.Settings{{}, {PermissionMode: "yolo", Model: "m2", Effort: "high"}, {Effort: "high"}, {}, {Effort: "low"}, {}} {
		s.req.Settings = in
		s.says(a, "hello", "You said hello")
		want := picked{cmp.Or(in.Model, "m1"), cmp.Or(in.PermissionMode, "ask")}
		if now := a.now(); (picked{now.model, now.mode}) != want {
			t.Errorf("model %s and mode %s, want %v", now.model, now.mode, want)
		}
		now := a.now()
		if got, want := now.option("thought_level").current(), cmp.Or(in.Effort, "low"); got != want {
			t.Errorf("%+v: effort %s, want %s", in, got, want)
		}
	}
}

// TestRefusedChoices has an agent that does not take what a turn is to have.
func TestRefusedChoices(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	for _, tt := range []struct {
		in   terret.Settings
		want terret.ErrorCode
		says string
	}{
		{terret.Settings{PermissionMode: "none"}, terret.CodeInvalidRequest, `no mode "none"; it has ask, yolo`},
		{terret.Settings{Model: "none"}, terret.CodeModelNotFound, `the model "none"`},
		{terret.Settings{Effort: "none"}, terret.CodeInvalidRequest, `the effort "none"`},
	} {
		err := a.Prompt(t.Context(), "turn", terret.Prompt{}, tt.in)
		if e := terret.AsError(err); e == nil || e.Code != tt.want || !strings.Contains(e.Message, tt.says) || !strings.Contains(e.Message, "there is none") {
			t.Errorf("%+v: %v", tt.in, err)
		}
	}
	s.says(a, "hello", "You said hello")
}

func TestChoices(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair", func(s *setup) { s.req.Session.Model = "Two" })
	a := s.open()
	s.says(a, "hello", "You said hello")
	models, err := a.Models(t.Context())
	if err != nil || len(models) != 2 || models[1].ID != "m2" {
		t.Errorf("%+v, %v", models, err)
	}
	if err := a.SetPermissionMode(t.Context(), "none"); !errors.Is(err, terret.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := a.SetPermissionMode(t.Context(), "yolo"); err != nil {
		t.Error(err)
	}
	s.says(a, "hello", "You said hello")
	if got := a.now().mode; got != "yolo" {
		t.Errorf("the mode is %s", got)
	}
	if id, err := a.Fork(t.Context(), ""); err != nil || id != "s1" {
		t.Errorf("%s, %v", id, err)
	}
	if _, err := a.Fork(t.Context(), "msg_1"); !errors.Is(err, terret.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	c := a.Capabilities()
	if !c.Has(terret.CanFork) || !c.Has(terret.CanSelectModel) || c.Has(terret.CanAttachments) {
		t.Errorf("%+v", c)
	}
}

// TestLogFull has a log that takes nothing more: the agent is stopped.
func TestLogFull(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair")
	a := s.open()
	p := a.Current()
	s.host.note(func() { s.host.full = true })
	s.prompt(a, "hello")
	<-p.Done()
}

func TestOneShot(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "fair", func(s *setup) { s.req.Session.OneShot = true })
	a := s.open()
	s.says(a, "hello", "You said hello")
	s.await("its end", func(events []terret.Event) bool { return len(all[terret.ProcessExit](events)) == 1 })
	s.says(a, "more", "You said more")
	if n := len(all[terret.SessionStart](s.host.said())); n != 2 {
		t.Errorf("%d processes", n)
	}
}

// eager is a host that prompts as soon as a turn ends, as an engine with a queue does.
type eager struct {
	*host
	again func()
}

func (h *eager) Emit(ctx context.Context, events []terret.Event, cursor []byte) error {
	err := h.host.Emit(ctx, events, cursor)
	if ends(events) > 0 && h.again != nil {
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
	prompted := make(chan error, 1)
	s := newSetup(t, "fair", func(s *setup) { s.req.Session.OneShot = true })
	h := &eager{host: s.host}
	s.req.Host = h
	a := s.open()
	h.again = func() {
		go func() {
			p := terret.Prompt{Blocks: []terret.Block{terret.Text("more")}, MessageID: "m2"}
			prompted <- a.Prompt(t.Context(), "turn2", p, s.req.Settings)
		}()
		for a.Switching.TryLock() { // until it has begun
			a.Switching.Unlock()
			runtime.Gosched()
		}
	}
	s.says(a, "hello", "You said hello")
	if err := <-prompted; err != nil {
		t.Fatal(err)
	}
	events := s.await("the second end", func(events []terret.Event) bool { return ends(events) == 2 })
	if d := all[terret.TurnComplete](events); len(d) != 2 || d[1].Text != "You said more" || len(all[terret.SessionStart](events)) != 2 {
		t.Errorf("%s", dump(events))
	}
}

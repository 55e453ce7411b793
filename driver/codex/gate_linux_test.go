package codex

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// TestStopHook is that all that Codex has said is told before somebody decides whether it
// may stop.
func TestStopHook(t *testing.T) {
	t.Parallel()
	h := &host{changed: make(chan struct{})}
	p := &process{
		Process: &seat.Process{Log: slog.New(slog.DiscardHandler)}, t: newTranslator(),
		a: &agent{Seat: seat.New[*process](terret.OpenRequest{Host: h})},
	}
	p.t.thread = "root"
	p.t.begin(terret.Settings{}, time.Time{})
	p.t.hear("item/completed", json.RawMessage(`{"threadId":"root","item":{"type":"agentMessage","id":"m1","text":"Done."}}`), nil, time.Time{})
	var before []terret.Event
	h.decide = func(terret.Ask) terret.Decision {
		before = h.said()
		return terret.Decision{Behavior: terret.BehaviorBlock, Reason: "run the tests"}
	}
	answer, _ := p.gateHook(hookInput{Event: "Stop", LastSaid: "Done."}, nil)
	if said := all[terret.MessageComplete](before); len(said) != 1 || terret.TextOf(said[0].Blocks) != "Done." {
		t.Errorf("told before:\n%s", dump(before))
	}
	if q, ok := h.asked[0].Event.Data.(terret.StopRequest); !ok || q.LastMessage != "Done." || answer.Decision != "block" || answer.Reason != "run the tests" {
		t.Errorf("%+v, %+v", h.asked, answer)
	}
}

// TestLeaveSandbox is that only a person who says so lets a command out of the sandbox.
func TestLeaveSandbox(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d    terret.Decision
		want string
	}{
		"yes":        {terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"leave_sandbox": {"Run it outside"}}}, "accept"},
		"no":         {terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"leave_sandbox": {"Keep the sandbox"}}}, "decline"},
		"both":       {terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"leave_sandbox": {"Run it outside", "Keep the sandbox"}}}, "decline"},
		"allowed":    {terret.Decision{Behavior: terret.BehaviorAllow}, "decline"},
		"not at all": {terret.Decision{Behavior: terret.BehaviorReject, Answers: map[string]terret.Choice{"leave_sandbox": {"Run it outside"}}}, "decline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "plain")
			s.req.Session.PermissionMode = workspaceWrite
			s.host.decide = func(terret.Ask) terret.Decision { return c.d }
			end, _ := s.run(s.open(), "x", terret.Settings{}).(terret.TurnComplete)
			s.host.mu.Lock()
			asked := slices.Clone(s.host.asked)
			s.host.mu.Unlock()
			if end.Text != c.want || len(asked) != 1 || asked[0].Gate != terret.GateQuestion {
				t.Errorf("%q, want %q; asked %+v", end.Text, c.want, asked)
			}
		})
	}
}

// TestApprovals is what Codex is told where its hooks do not ask us.
func TestApprovals(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "plain")
	s.d.noHooks = true
	decisions := []struct {
		d    terret.Decision
		want string
	}{
		{terret.Decision{Behavior: terret.BehaviorAllow}, "accept"},
		{terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeSession}, "accept"},
		{terret.Decision{Behavior: terret.BehaviorAllow, Scope: terret.ScopeAlways}, "accept"},
		{terret.Decision{Behavior: terret.BehaviorDeny, Reason: "not on a Sunday"}, "decline"},
		{terret.Decision{Behavior: terret.BehaviorDeny, Reason: "stop it", Interrupt: true}, "cancel"},
	}
	n := 0
	s.host.decide = func(terret.Ask) terret.Decision { return decisions[n].d }
	a := s.open()
	if a.Capabilities().Oversight != terret.OversightAsked || a.Capabilities().Has(terret.CanEditInput) {
		t.Error("without hooks not every tool use passes us")
	}
	for i, c := range decisions {
		n = i
		switch end := s.run(a, c.want, terret.Settings{}).(type) {
		case terret.TurnComplete:
			if end.Text != c.want || (len(end.Denials) == 1) != (c.want == "decline") {
				t.Errorf("%s: %+v", c.want, end)
			}
		case terret.TurnError:
			if c.want != "cancel" || end.Error.Code != terret.CodeInterrupted || len(end.Denials) != 1 || end.Denials[0].Reason != "stop it" {
				t.Errorf("%s: %+v", c.want, end)
			}
		}
	}
	q := s.host.asked[0]
	if r, ok := q.Event.Data.(terret.PermissionRequest); !ok || q.Gate != terret.GatePermission || r.Tool != shellTool || !strings.Contains(string(r.Input), "touch accept") {
		t.Errorf("%+v", q)
	}
}

// TestRelay is the way of a hook: its script, our answer, and what is left.
func TestRelay(t *testing.T) {
	t.Parallel()
	r, err := newRelay()
	if err != nil {
		t.Fatal(err)
	}
	r.serve(func(input []byte, answer func([]byte) error) {
		if err := answer([]byte("you said " + string(input) + "\nand more")); err != nil {
			t.Error(err)
		}
	})
	sweepRelays() // somebody reads this one
	for range 3 {
		if got := runHook(t, r.command(), `{"a":1}`); got != "you said {\"a\":1} and more\n" {
			t.Errorf("the hook printed %q", got)
		}
	}
	left, err := os.ReadDir(r.dir)
	if err != nil || len(left) != 2 {
		t.Errorf("in the folder are %v (%v)", left, err)
	}
	if err := answerHookAt(filepath.Join(r.dir, "nobody"), nil); err == nil {
		t.Error("a hook that is gone was answered")
	}
	r.close()
	if _, err := os.Stat(r.dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestSweep is that the folder of a relay whose owner was killed is removed.
func TestSweep(t *testing.T) {
	t.Parallel()
	r, err := newRelay()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.asks.Close(); err != nil { // as when its process is gone
		t.Fatal(err)
	}
	sweepRelays()
	if _, err := os.Stat(r.dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestElicitation has an MCP server ask: a question for each field of its form, answers of
// the fields' types, and no as no.
func TestElicitation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt, id string
		decision   terret.Decision
		want       string
	}{
		{"form", "age", terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"age": {"41"}, "member": {"Yes"}}}, `{"action":"accept","content":{"age":41,"member":true}}`},
		{"form", "age", terret.Decision{Behavior: terret.BehaviorReject}, `{"action":"decline"}`},
		{"form", "age", terret.Decision{Behavior: terret.BehaviorReject, Source: terret.ByInterrupt}, `{"action":"cancel"}`},
		{"confirm", "confirm", terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"confirm": {"Yes"}}}, `{"action":"accept"}`},
		{"confirm", "confirm", terret.Decision{Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{"confirm": {"No"}}}, `{"action":"decline"}`},
	} {
		s := newSetup(t, "plain")
		var asked terret.QuestionRequest
		s.host.decide = func(q terret.Ask) terret.Decision {
			asked, _ = q.Event.Data.(terret.QuestionRequest)
			return c.decision
		}
		end, _ := s.run(s.open(), c.prompt, terret.Settings{}).(terret.TurnComplete)
		if end.Text != c.want || len(asked.Questions) == 0 || asked.Questions[0].ID != c.id || asked.Questions[0].Header != "club" || len(asked.Schema) == 0 {
			t.Errorf("%s %v: %q, asked %+v", c.prompt, c.decision, end.Text, asked)
		}
	}
}

package claude

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

func TestPlanApproved(t *testing.T) {
	t.Parallel()
	approve := func(next string) func(context.Context, terret.Ask) (terret.Decision, error) {
		return func(_ context.Context, q terret.Ask) (terret.Decision, error) {
			return terret.Decision{RequestID: q.Key, Gate: q.Gate, Behavior: terret.BehaviorApprove, NextMode: next}, nil
		}
	}
	t.Run("of the session", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t, "talk", but(func(s *terret.Session) { s.PermissionMode = "plan" }))
		s.host.decide = approve("acceptEdits")
		a := s.open()
		s.turn(a, words("plan it"))
		s.says(a, "who", " acceptEdits")
		if _, mode := sessionOf(s.host.said(), "", ""); mode != "acceptEdits" {
			t.Errorf("the log says %s", mode)
		}
	})
	t.Run("of a turn", func(t *testing.T) {
		t.Parallel()
		s := newSetup(t, "talk")
		s.host.decide = approve("")
		a := s.open()
		plan := func(in *terret.Settings) { in.PermissionMode = "plan" }
		s.turn(a, words("plan it"), plan)
		if _, mode := sessionOf(s.host.said(), "", ""); mode != "default" {
			t.Errorf("the log says %s", mode)
		}
		s.host.decide = approve("acceptEdits")
		s.turn(a, words("plan it"), plan)
		s.says(a, "who", " default")
	})
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	decide := func(d terret.Decision, err error) func(context.Context, terret.Ask) (terret.Decision, error) {
		return func(_ context.Context, q terret.Ask) (terret.Decision, error) {
			d.RequestID, d.Gate = "req_"+q.Key, q.Gate
			return d, err
		}
	}
	tests := map[string]struct {
		prompt string
		decide func(context.Context, terret.Ask) (terret.Decision, error)
		want   string
	}{
		"allow":  {"ask ls", decide(terret.Decision{Behavior: terret.BehaviorAllow}, nil), `{"behavior":"allow","updatedInput":{"command":"ls"}}`},
		"edit":   {"ask ls", decide(terret.Decision{Behavior: terret.BehaviorAllow, UpdatedInput: terret.JSON(`{"command":"pwd"}`)}, nil), `{"behavior":"allow","updatedInput":{"command":"pwd"}}`},
		"deny":   {"ask ls", decide(terret.Decision{Behavior: terret.BehaviorDeny, Reason: "no", Interrupt: true}, nil), `{"behavior":"deny","interrupt":true,"message":"no"}`},
		"error":  {"ask ls", decide(terret.Decision{}, errors.New("broken")), `{"behavior":"deny","message":"it could not be decided"}`},
		"hook":   {"hook PreToolUse", decide(terret.Decision{}, errors.New("broken")), `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"it could not be decided"}}`},
		"prompt": {"hook UserPromptSubmit", decide(terret.Decision{}, errors.New("broken")), `{}`},
		"block":  {"hook Stop", decide(terret.Decision{Behavior: terret.BehaviorBlock, Reason: "go on"}, nil), `{"decision":"block","reason":"go on"}`},
		"stop":   {"hook Stop", decide(terret.Decision{}, errors.New("broken")), `{}`},
		"note":   {"hook Notification", nil, `{}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			s.host.decide = tt.decide
			s.says(s.open(), tt.prompt, tt.want)
			var want []string
			switch {
			case strings.Contains(tt.want, "could not"):
			case strings.HasPrefix(tt.prompt, "ask"):
				want = []string{"req_r1"}
			case name == "block":
				want = []string{"req_h1"}
			}
			s.await("word that it was told", func(h *host) bool { return slices.Equal(h.delivered, want) })
		})
	}
}

func TestSeveralRequests(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	second := make(chan struct{})
	s.host.decide = func(_ context.Context, q terret.Ask) (terret.Decision, error) {
		d := terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorAllow}
		if q.Key == "r1" {
			<-second
			d = terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorDeny, Reason: "no"}
		} else {
			defer close(second)
		}
		return d, nil
	}
	s.says(s.open(), "ask-two", `[{"behavior":"deny","message":"no"},{"behavior":"allow","updatedInput":{"command":"two"}}]`)
}

// TestRequestsEnd is that requests of an agent that no longer waits are given up, and
// that this is told before the end of the turn.
func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]error{"withdraw": seat.ErrWithdrawn, "die-asking": seat.ErrEnded} {
		t.Run(prompt, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, "talk")
			cause := make(chan error, 1)
			s.host.decide = func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return terret.Decision{Gate: q.Gate, Behavior: terret.BehaviorDeny, Source: terret.ByAgentExit}, nil
			}
			a := s.open()
			s.turn(a, words(prompt))
			if err := <-cause; !errors.Is(err, want) {
				t.Errorf("given up because of %v", err)
			}
			events := s.host.said()
			decided := slices.IndexFunc(events, func(ev terret.Event) bool { _, ok := ev.Data.(terret.PermissionDecision); return ok })
			end := slices.IndexFunc(events, isEnd)
			if prompt == "die-asking" && (decided < 0 || decided > end) {
				t.Errorf("decided at %d, ended at %d", decided, end)
			}
			s.host.mu.Lock()
			defer s.host.mu.Unlock()
			if len(s.host.delivered) > 0 {
				t.Errorf("the agent was told of %q", s.host.delivered)
			}
		})
	}
}

// endHost calls told when the end of a turn is told.
type endHost struct {
	*host
	told func()
}

func (h endHost) Emit(ctx context.Context, events []terret.Event, cursor []byte) error {
	if slices.ContainsFunc(events, isEnd) {
		h.told()
	}
	return h.host.Emit(ctx, events, cursor)
}

// TestLateRequests is that a request about a tool call that ended with the turn is given
// up before the end is told, and that one that comes even later is refused: the host would
// take either for the beginning of another turn.
func TestLateRequests(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk")
	hold := s.holds()
	asked := make(chan context.Context, 1)
	s.host.decide = func(ctx context.Context, _ terret.Ask) (terret.Decision, error) {
		asked <- ctx
		if err := os.WriteFile(hold, nil, 0o600); err != nil { // now the turn may end
			return terret.Decision{}, err
		}
		<-ctx.Done()
		return terret.Decision{}, context.Cause(ctx)
	}
	once := sync.OnceFunc(func() {
		if ctx := <-asked; !errors.Is(context.Cause(ctx), errTurnOver) {
			t.Errorf("at the end of the turn the request was still open: %v", context.Cause(ctx))
		}
	})
	s.req.Host = endHost{s.host, once}
	a := s.open()
	s.says(a, "ask-late", "over")
	s.says(a, "told", `[{"behavior":"deny","message":"the turn is over"},`+
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"the turn is over"}},`+
		`{"behavior":"deny","message":"the turn is over"}]`)
	if n := len(s.host.asked); n != 1 {
		t.Errorf("%d requests", n)
	}
	calls := map[terret.Kind]int{}
	for _, ev := range s.host.said() {
		calls[ev.Kind()]++
	}
	if calls[terret.KindToolPre] != 1 || calls[terret.KindToolFailure] != 1 {
		t.Errorf("the call was told again: %v", calls)
	}
}

func TestGreeting(t *testing.T) {
	t.Parallel()
	s := newSetup(t, "talk", inForce(func(in *terret.Settings) {
		in.SystemAppend, in.Agents = "Talk like a pirate.", terret.JSON(`{"scout":{"description":"d","prompt":"p"}}`)
	}))
	end, ok := s.turn(s.open(), words("greeting")).Data.(terret.TurnComplete)
	var said struct {
		Hooks  map[string][]hookMatcher `json:"hooks"`
		Agents map[string]object        `json:"agents"`
		Append string                   `json:"appendSystemPrompt"`
	}
	if err := json.Unmarshal([]byte(end.Text), &said); err != nil || !ok {
		t.Fatalf("%v: %+v", err, end)
	}
	if said.Append != "Talk like a pirate." || said.Agents["scout"] == nil {
		t.Errorf("%+v", said)
	}
	for name, m := range said.Hooks {
		if len(m) != 1 || m[0].Timeout*1000 >= 1<<31 || m[0].Timeout < 7*24*60*60 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestHooksOnDemand is that a process reports only what somebody wants, and is
// replaced only if it reports too little.
func TestHooksOnDemand(t *testing.T) {
	t.Parallel()
	always := []string{
		"PreToolUse", "Notification", "TaskCreated", "TaskCompleted", "TeammateIdle", "ConfigChange", "CwdChanged", "FileChanged",
		"InstructionsLoaded", "UserPromptExpansion",
	}
	s := newSetup(t, "talk")
	a := s.open()
	for _, step := range []struct {
		wanted    []terret.Gate
		hooks     []string // beside those
		processes int
	}{
		{nil, nil, 1},
		{[]terret.Gate{terret.GatePreTool, terret.GatePermission}, nil, 1}, // which need none of their own
		{[]terret.Gate{terret.GateStop}, []string{"Stop"}, 2},
		{nil, []string{"Stop"}, 2},
		{[]terret.Gate{terret.GateStop, terret.GatePrompt}, []string{"Stop", "UserPromptSubmit"}, 3},
		{[]terret.Gate{terret.GatePrompt}, []string{"Stop", "UserPromptSubmit"}, 3},
		{[]terret.Gate{terret.GateCompact, terret.GateSubagentStop}, []string{"PreCompact", "SubagentStop"}, 4},
	} {
		end, _ := s.turn(a, words("greeting"), func(in *terret.Settings) { in.Gates = step.wanted }).Data.(terret.TurnComplete)
		var said struct {
			Hooks map[string]any `json:"hooks"`
		}
		if err := json.Unmarshal([]byte(end.Text), &said); err != nil {
			t.Fatalf("%v: %+v", err, end)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(slices.Concat(always, step.hooks))), slices.Sorted(maps.Keys(said.Hooks))); diff != "" {
			t.Errorf("%q: -want +got\n%s", step.wanted, diff)
		}
		if n := len(s.starts()); n != step.processes {
			t.Errorf("%q: %d processes", step.wanted, n)
		}
	}
	if n := count[terret.SessionNativeID](s.host.said()); n != 1 {
		t.Errorf("%d sessions", n)
	}
}

package claude

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
)

// gated is a real session in which somebody wants to decide at a gate.
func gated(t *testing.T, gate terret.Gate) *real {
	t.Helper()
	return newReal(t, inForce(func(in *terret.Settings) { in.Gates = []terret.Gate{gate} }))
}

// TestRealNoGates is that nobody is asked where nobody wants to decide.
func TestRealNoGates(t *testing.T) {
	r := newReal(t)
	a := r.open()
	r.says(a, "hello", "Said hello")
	r.turn(a, words("delegate"))
	r.turn(a, words("/compact"))
	r.close(a)
	for _, q := range r.host.asked {
		if q.Gate != terret.GatePreTool {
			t.Errorf("asked at %s", q.Gate)
		}
	}
	events := r.host.said()
	if count[terret.SubagentStart](events) != 1 || count[terret.SubagentStop](events) != 1 || count[terret.CompactPre](events) != 1 || count[terret.CompactPost](events) != 1 {
		t.Errorf("the stream does not tell of subagents and compaction:\n%s", dump(events))
	}
	for _, h := range all[terret.HookEvent](events) {
		t.Errorf("hook %s", h.Hook)
	}
}

// TestRealGateWaits is that the agent waits as long as the decision takes, and can be
// talked to meanwhile.
func TestRealGateWaits(t *testing.T) {
	r := gated(t, terret.GatePrompt)
	a := r.open()
	r.host.decide = func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
		if _, err := a.Context(ctx); err != nil {
			t.Error(err)
		}
		return terret.Decision{RequestID: q.Key, Gate: q.Gate, Behavior: terret.BehaviorBlock, Reason: "after some thought"}, nil
	}
	if end, ok := r.turn(a, words("hello")).Data.(terret.TurnComplete); !ok || !strings.Contains(end.Text, "after some thought") {
		t.Errorf("%+v", end)
	}
}

// TestRealGateInterrupted is that a turn can be stopped while a decision is awaited.
func TestRealGateInterrupted(t *testing.T) {
	for gate, prompt := range map[terret.Gate]string{
		terret.GatePrompt: "hello", terret.GateStop: "hello", terret.GatePreTool: "run touch it", terret.GateSubagentStop: "delegate",
	} {
		t.Run(string(gate), func(t *testing.T) {
			r := gated(t, gate)
			var over atomic.Bool
			r.host.decide = func(ctx context.Context, q terret.Ask) (terret.Decision, error) {
				if q.Gate == gate && !over.Load() {
					<-ctx.Done()
					return terret.Decision{}, context.Cause(ctx)
				}
				return terret.Decision{RequestID: q.Key, Gate: q.Gate, Behavior: terret.BehaviorPassthrough}, nil
			}
			a := r.open()
			if err := a.Prompt(t.Context(), "t", words(prompt), r.req.Settings); err != nil {
				t.Fatal(err)
			}
			r.await("request", func(h *host) bool {
				return slices.ContainsFunc(h.asked, func(q terret.Ask) bool { return q.Gate == gate })
			})
			if err := a.Interrupt(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
			if end := r.end(0); gate == terret.GateStop { // it had done its work
				r.complete(end, "Said hello")
			} else {
				r.failed(end, terret.CodeInterrupted)
			}
			over.Store(true)
			if end, ok := r.turn(a, words("good day")).Data.(terret.TurnComplete); !ok || !strings.HasSuffix(end.Text, "good day") {
				t.Errorf("it does not go on: %+v", end)
			}
		})
	}
}

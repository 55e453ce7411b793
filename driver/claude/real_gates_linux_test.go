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

// blockFirst blocks the first request at the gate with that reason, and has no
// opinion on others.
func (r *real) blockFirst(gate terret.Gate, reason string) {
	blocked := false
	r.host.decide = func(_ context.Context, q terret.Ask) (terret.Decision, error) {
		d := terret.Decision{RequestID: q.Key, Gate: q.Gate, Behavior: terret.BehaviorPassthrough}
		if q.Gate == terret.GatePermission {
			d.Behavior = terret.BehaviorAllow
		}
		r.host.mu.Lock()
		defer r.host.mu.Unlock()
		if q.Gate == gate && !blocked {
			blocked, d.Behavior, d.Reason = true, terret.BehaviorBlock, reason
		}
		return d, nil
	}
}

// asks are the requests at the gate so far.
func (r *real) asks(gate terret.Gate) []terret.Ask {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.host.asked), func(q terret.Ask) bool { return q.Gate != gate })
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

func TestRealStopBlocked(t *testing.T) {
	r := gated(t, terret.GateStop)
	r.blockFirst(terret.GateStop, "name the colour as well")
	a := r.open()
	end, ok := r.turn(a, words("hello")).Data.(terret.TurnComplete)
	if !ok || !strings.Contains(end.Text, "name the colour as well") {
		t.Errorf("it did not go on: %+v", end)
	}
	r.hears([]string{"hello", "name the colour as well"})
	asks := r.asks(terret.GateStop)
	if len(asks) != 2 {
		t.Fatalf("asked %d times", len(asks))
	}
	first, _ := asks[0].Event.Data.(terret.StopRequest)
	again, _ := asks[1].Event.Data.(terret.StopRequest)
	if first.Again || first.LastMessage != "Said hello" || !again.Again {
		t.Errorf("%+v, then %+v", first, again)
	}
	if n := ends(r.host.said()); n != 1 {
		t.Errorf("%d ends", n)
	}
	r.says(a, "and now", "Said and now")
}

func TestRealPromptBlocked(t *testing.T) {
	r := gated(t, terret.GatePrompt)
	r.blockFirst(terret.GatePrompt, "not that word")
	a := r.open()
	end, ok := r.turn(a, words("hello")).Data.(terret.TurnComplete)
	if !ok || !strings.Contains(end.Text, "not that word") {
		t.Errorf("%+v", end)
	}
	if heard := r.heard(); heard != "" {
		t.Errorf("the model was sent %s", heard)
	}
	r.says(a, "good day", "Said good day")
	r.hears([]string{"good day"}, "hello", "not that word")
	if n := len(r.asks(terret.GatePrompt)); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestRealSubagentStopBlocked(t *testing.T) {
	r := gated(t, terret.GateSubagentStop)
	r.blockFirst(terret.GateSubagentStop, "look once more")
	a := r.open()
	r.turn(a, words("delegate"))
	events := r.await("end of the subagent", func(h *host) bool { return count[terret.SubagentStop](h.events) == 1 })
	if stop := all[terret.SubagentStop](events)[0]; !strings.Contains(stop.Result, "look once more") {
		t.Errorf("it did not go on: %+v", stop)
	}
	if n := len(r.asks(terret.GateSubagentStop)); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestRealCompactBlocked(t *testing.T) {
	r := gated(t, terret.GateCompact)
	r.blockFirst(terret.GateCompact, "keep it all")
	a := r.open()
	r.says(a, "the alpha word", "Said the alpha word")
	end, ok := r.turn(a, words("/compact")).Data.(terret.TurnComplete)
	if !ok || !strings.Contains(end.Text, "keep it all") {
		t.Errorf("%+v", end)
	}
	r.turn(a, words("the beta word"))
	const kept = "This session is being continued from a previous conversation"
	r.hears([]string{"the alpha word", "the beta word"}, kept)
	r.turn(a, words("/compact"))
	r.turn(a, words("the gamma word"))
	r.hears([]string{"the gamma word", kept})
	if n := len(r.asks(terret.GateCompact)); n != 2 {
		t.Errorf("asked %d times", n)
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

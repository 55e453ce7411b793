package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// waits waits for a request at the gate in the turn, and decides it.
func (f *fixture) waits(session, turn string, gate terret.Gate, d terret.Decision) terret.Event {
	f.t.Helper()
	seen := map[int64]bool{}
	for _, ev := range f.decided {
		seen[ev] = true
	}
	events := f.until(session, func(ev terret.Event) bool {
		return ev.Turn == turn && ev.Expects != nil && ev.Expects.Gate == gate && !seen[ev.Seq]
	})
	ev := events[len(events)-1]
	f.decided = append(f.decided, ev.Seq)
	d.Gate = gate
	f.decide(ev, d)
	return ev
}

// TestHooks blocks at every gate, and looks at what the model hears after that: from
// the agent that was there, and from one that is opened anew.
func TestHooks(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {text: first}}
  - {match: {user: and a half}, answer: {text: and a half it is}}
  - {match: {user: two}, answer: {text: second}}
  - {match: {user: three}, answer: {text: third}}
`)
	id := f.session(claude, withOptions(terret.SessionOptions{Gates: []terret.Gate{terret.GatePrompt, terret.GateStop, terret.GateCompact}}))
	allow, block := terret.Decision{Behavior: terret.BehaviorAllow}, func(why string) terret.Decision {
		return terret.Decision{Behavior: terret.BehaviorBlock, Reason: why}
	}
	turn := f.prompt(id, "forbidden").ID
	f.waits(id, turn, terret.GatePrompt, block("not that"))
	if end := last[terret.TurnComplete](t, f.end(id, turn)); end.Text != "The prompt was blocked: not that" {
		t.Errorf("%+v", end)
	}
	turn = f.prompt(id, "one").ID
	f.waits(id, turn, terret.GatePrompt, allow)
	f.waits(id, turn, terret.GateStop, block("and a half"))
	if ev := f.waits(id, turn, terret.GateStop, allow); ev.Data.(terret.StopRequest).LastMessage != "and a half it is" || !ev.Data.(terret.StopRequest).Again {
		t.Errorf("%+v", ev.Data)
	}
	last[terret.TurnComplete](t, f.end(id, turn))
	compact, err := f.Compact(t.Context(), engine.CompactRequest{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	f.waits(id, compact.ID, terret.GateCompact, block("keep it"))
	if end := last[terret.TurnComplete](t, f.end(id, compact.ID)); !strings.Contains(end.Text, "keep it") {
		t.Errorf("%+v", end)
	}
	want := []string{"user one", "assistant first", "user and a half", "assistant and a half it is"}
	for n, prompt := range []string{"two", "three"} {
		turn = f.prompt(id, prompt).ID
		f.waits(id, turn, terret.GatePrompt, allow)
		f.waits(id, turn, terret.GateStop, allow)
		last[terret.TurnComplete](t, f.end(id, turn))
		want = append(want, "user "+prompt)
		if diff := cmp.Diff(want, spoken(got.nth(t, n+2))); diff != "" {
			t.Error(diff)
		}
		want = append(want, "assistant second")
		if err := f.CloseSession(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPreTool is that somebody who wants to decides about every tool before the rules of
// the session are asked.
func TestPreTool(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, `
steps:
  - {match: {user: go}, answer: {tools: [{name: Bash, input: {command: touch a}}, {name: Bash, input: {command: touch b}}, {name: Bash, input: {command: touch c}}]}}
  - {answer: {text: done}}
`)
	id := f.session(claude, withPolicy(terret.PolicyAsk), withOptions(terret.SessionOptions{Gates: []terret.Gate{terret.GatePreTool}}))
	turn := f.prompt(id, "go").ID
	left := map[string]terret.Behavior{"Run `touch a`": terret.BehaviorAllow, "Run `touch b`": terret.BehaviorDeny, "Run `touch c`": terret.BehaviorPassthrough}
	for len(left) > 0 {
		events := f.until(id, func(ev terret.Event) bool {
			d, ok := ev.Data.(terret.ToolPre)
			return ok && ev.Expects != nil && left[d.Title] != ""
		})
		ev := events[len(events)-1]
		title := ev.Data.(terret.ToolPre).Title
		f.decide(ev, terret.Decision{Gate: terret.GatePreTool, Behavior: left[title], Reason: "so"})
		delete(left, title)
	}
	request := f.asked(id, turn)
	if d := request.Data.(terret.PermissionRequest); d.Title != "Run `touch c`" {
		t.Errorf("%+v", d)
	}
	f.decide(request, terret.Decision{Gate: terret.GatePermission, Behavior: terret.BehaviorDeny})
	last[terret.TurnComplete](t, f.end(id, turn))
	if got := []string{f.file("a"), f.file("b"), f.file("c")}; !cmp.Equal(got, []string{"", "(no file)", "(no file)"}) {
		t.Error(got)
	}
}

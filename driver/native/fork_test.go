package native_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// TestFork is that a fork knows what was said before it, and nothing that was said after
// it elsewhere; also a fork of a fork, after something was undone, and by agents that are
// opened anew.
func TestFork(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `{steps: [{answer: {text: ok}, repeat: forever}]}`)
	ctx := t.Context()
	heard := func(id, prompt string, want ...string) []terret.Event {
		t.Helper()
		events := f.run(id, prompt)
		last[terret.TurnComplete](t, events)
		said := strings.Join(spoken(got.nth(t, len(got.list())-1)), " ")
		if diff := cmp.Diff(strings.Join(want, " "), strings.ReplaceAll(strings.ReplaceAll(said, "user ", ""), "assistant ok ", "")); diff != "" {
			t.Errorf("%s: %s", prompt, diff)
		}
		return events
	}
	fork := func(id, message string) string {
		t.Helper()
		s, err := f.Fork(ctx, id, message)
		if err != nil {
			t.Fatal(err)
		}
		return s.ID
	}
	trunk := f.session(claude)
	first := all[terret.MessageComplete](heard(trunk, "one", "one"))[0].MessageID
	heard(trunk, "two", "one", "two")
	branch, early := fork(trunk, ""), fork(trunk, first)
	heard(trunk, "three", "one", "two", "three")
	heard(branch, "a", "one", "two", "a")
	heard(early, "b", "one", "b")
	twig := fork(branch, "")
	heard(branch, "c", "one", "two", "a", "c")
	for _, id := range []string{trunk, branch, twig} {
		if err := f.CloseSession(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
	}
	heard(twig, "d", "one", "two", "a", "d")
	heard(branch, "e", "one", "two", "a", "c", "e")
	heard(trunk, "four", "one", "two", "three", "four")
	if _, err := f.Fork(ctx, trunk, "msg_unheard_of"); terret.AsError(err).Code != terret.CodeNotFound {
		t.Error(err)
	}
	var sources []string
	for _, start := range all[terret.SessionStart](f.until(branch, func(ev terret.Event) bool {
		d, ok := ev.Data.(terret.TurnStart)
		return ok && terret.TextOf(d.Prompt) == "e"
	})) {
		sources = append(sources, start.Source)
	}
	if diff := cmp.Diff([]string{"fork"}, sources); diff != "" {
		t.Error(diff)
	}
}

// TestForkedFromNothing is a fork whose origin was deleted: it begins anew and says so,
// or fails if the session wants that.
func TestForkedFromNothing(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `{steps: [{answer: {text: ok}, repeat: forever}]}`)
	for stale, want := range map[terret.OnStale]string{"": "user two", terret.OnStaleError: ""} {
		id := f.session(claude, withOptions(terret.SessionOptions{OnStale: stale}))
		f.says(id, "one")
		made, err := f.Fork(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Delete(t.Context(), id, false); err != nil {
			t.Fatal(err)
		}
		events := f.run(made.ID, "two")
		if want == "" {
			if e := last[terret.TurnError](t, events).Error; e.Code != terret.CodeResumeFailed {
				t.Errorf("%+v", e)
			}
			continue
		}
		last[terret.TurnComplete](t, events)
		if said := spoken(got.nth(t, len(got.list())-1)); len(said) != 1 || said[0] != want {
			t.Errorf("%q", said)
		}
		if d := last[terret.SessionNativeID](t, f.until(made.ID, ended(events[0].Turn))); d.Reason != "stale" {
			t.Errorf("%+v", d)
		}
	}
}

// TestCompactFails is that the model never hears of a command to compact that failed.
func TestCompactFails(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - {match: {user: one}, answer: {text: first}}
  - {match: {user: Summarize}, answer: {error: {status: 400, message: no}}}
  - {match: {user: two}, answer: {text: second}}
`)
	id := f.session(claude)
	f.says(id, "one")
	turn, err := f.Compact(t.Context(), engine.CompactRequest{Session: id})
	if err != nil {
		t.Fatal(err)
	}
	last[terret.TurnError](t, f.end(id, turn.ID))
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.says(id, "two")
	if diff := cmp.Diff([]string{"user one", "assistant first", "user two"}, spoken(got.nth(t, 2))); diff != "" {
		t.Error(diff)
	}
}

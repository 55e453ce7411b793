package native_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

func kindsOf(events []terret.Event) []string {
	var out []string
	for _, ev := range events {
		out = append(out, string(ev.Kind()))
	}
	return out
}

// story is the kinds of events without those that the engine adds.
func story(events []terret.Event) string {
	return strings.Join(slices.DeleteFunc(kindsOf(events), func(k string) bool {
		return strings.HasPrefix(k, "session.") || k == "usage.update" || k == "message.delta" || k == "tool.delta"
	}), " ")
}

// last is the last event of a type.
func last[T terret.Data](t *testing.T, events []terret.Event) T {
	t.Helper()
	found := all[T](events)
	if len(found) == 0 {
		var none T
		for _, ev := range events {
			if d, ok := ev.Data.(terret.TurnError); ok {
				t.Logf("turn.error: %+v", d.Error)
			}
		}
		t.Fatalf("no %T in %v", none, kindsOf(events))
	}
	return found[len(found)-1]
}

func all[T terret.Data](events []terret.Event) []T {
	var out []T
	for _, ev := range events {
		if d, ok := ev.Data.(T); ok {
			out = append(out, d)
		}
	}
	return out
}

func wantKind(t *testing.T, err error, kind terret.ErrorCode) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %s", kind)
	} else if got := terret.AsError(err).Code; got != kind {
		t.Errorf("error %s, want %s: %v", got, kind, err)
	}
}

func wantWords(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q does not say %q", text, w)
		}
	}
}

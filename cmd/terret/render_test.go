package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestRenderFailure holds that the words in which Claude Code says why a turn failed are
// left to whoever reports the error: they would come twice.
func TestRenderFailure(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"api_400", "api_500_exhausted", "api_connection_refused"} {
		golden, err := os.ReadFile("../../driver/claude/testdata/golden/" + name + ".ndjson")
		if err != nil {
			t.Fatal(err)
		}
		var words, talk strings.Builder
		r := newRenderer(&screen{words: &words, talk: &talk})
		failed := false
		for line := range strings.Lines(string(golden)) {
			ev := terret.Event{}
			if err := json.Unmarshal([]byte(line), &ev); err != nil {
				t.Fatal(err)
			}
			ev.Actor = terret.ActorRoot
			r.show(ev)
			if d, ok := ev.Data.(terret.TurnError); ok {
				failed = strings.HasPrefix(d.Error.Message, "API Error")
			}
		}
		if !failed || strings.Contains(words.String()+talk.String(), "API Error") {
			t.Errorf("%s: failed %t, said %q and %q", name, failed, words.String(), talk.String())
		}
	}
}

// TestRenderHidden holds that notes between programs, such as the title that an agent
// gives its session, are not shown.
func TestRenderHidden(t *testing.T) {
	t.Parallel()
	var words, talk strings.Builder
	r := newRenderer(&screen{words: &words, talk: &talk})
	r.show(terret.Event{Visibility: terret.VisibleInternal, Data: terret.Notification{Text: "a title", Level: "info"}})
	r.show(terret.Event{Visibility: terret.VisibleUI, Data: terret.Notification{Text: "for you", Level: "info"}})
	if got := talk.String(); got != "i for you\n" || words.Len() > 0 {
		t.Errorf("got %q and %q", got, words.String())
	}
}

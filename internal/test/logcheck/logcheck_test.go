package logcheck_test

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/test/logcheck"
)

// TestProblems has logs in which something is wrong.
func TestProblems(t *testing.T) {
	t.Parallel()
	start := terret.Event{Turn: "a", Data: terret.TurnStart{}}
	end := terret.Event{Turn: "a", Data: terret.TurnComplete{}}
	ask := terret.Event{Turn: "a", Expects: &terret.Expects{RequestID: "r"}, Data: terret.PermissionRequest{}}
	answer := terret.Event{Turn: "a", Data: terret.PermissionDecision{Decision: terret.Decision{RequestID: "r"}}}
	state := func(s terret.SessionState) terret.Event {
		return terret.Event{Data: terret.SessionStateChange{State: s}}
	}
	in := func(turn string, ev terret.Event) terret.Event {
		ev.Turn = turn
		return ev
	}
	for name, c := range map[string]struct {
		events []terret.Event
		want   string
	}{
		"good":                {[]terret.Event{start, ask, answer, end, state(terret.SessionIdle)}, ""},
		"no end":              {[]terret.Event{start}, "turn a never ended"},
		"two ends":            {[]terret.Event{start, end, end}, "is of turn a"},
		"begun twice":         {[]terret.Event{start, end, start, end}, "starts turn"},
		"two turns":           {[]terret.Event{start, in("b", start), end, in("b", end)}, "starts turn"},
		"no decision":         {[]terret.Event{start, ask, end}, "has 0 decisions"},
		"two decisions":       {[]terret.Event{start, ask, answer, answer, end}, "has 2 decisions"},
		"decided, not asked":  {[]terret.Event{start, answer, end}, "never asked"},
		"decided elsewhere":   {[]terret.Event{start, ask, end, in("b", start), in("b", answer), in("b", end)}, "decides a request of turn a"},
		"an end of nothing":   {[]terret.Event{in("", end)}, "ends no turn"},
		"still at work":       {[]terret.Event{state(terret.SessionBusy)}, "at rest the session is busy"},
		"said twice":          {[]terret.Event{state(terret.SessionIdle), state(terret.SessionIdle)}, "says idle again"},
		"of another version":  {[]terret.Event{{Data: terret.Opaque{Name: "x.y"}}}, "not known"},
		"outside of its turn": {[]terret.Event{start, end, in("a", state(terret.SessionIdle))}, "is of turn a"},
	} {
		for i := range c.events {
			c.events[i].Seq = int64(i + 1)
		}
		got := strings.Join(logcheck.Problems(c.events), "\n")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := logcheck.Problems([]terret.Event{{Seq: 2, Data: terret.DiagWarning{}}}); len(got) != 1 {
		t.Errorf("a gap: %v", got)
	}
}

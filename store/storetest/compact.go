package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// kindsOf lists numbers and kinds, as "3 message.delta".
func kindsOf(entries []terret.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, fmt.Sprintf("%d %s", e.Seq, e.Kind))
	}
	return out
}

func compact(t *testing.T, st terret.Store, before terret.Time, want int64) {
	t.Helper()
	dropped, err := maintainer(t, st).Compact(t.Context(), before.Time)
	if err != nil || dropped != want {
		t.Errorf("dropped %d, want %d, %v", dropped, want, err)
	}
}

func timed(when terret.Time, events ...terret.Event) []terret.Event {
	for i := range events {
		events[i].Time = when
	}
	return events
}

func piece(turn, message, text string) terret.Event {
	return event(turn, terret.MessageDelta{MessageID: message, Text: text})
}

func whole(turn, message, text string) terret.Event {
	return event(turn, terret.MessageComplete{MessageID: message, Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(text)}})
}

// testCompact drops pieces of text whose whole is there, when their time has come.
func testCompact(t *testing.T, s *suite) {
	st := s.fresh(t)
	w := newWriter(t, st)
	message := func(turn, id string) []terret.Event {
		return []terret.Event{
			start(turn), piece(turn, id, "hello "), note("between"), piece(turn, id, "world"),
			event(turn, terret.ToolDelta{ToolID: "tool-" + id, PartialInput: "{}"}),
			event(turn, terret.ToolPre{ToolID: "tool-" + id, Name: "Bash", Input: []byte("{}")}),
			whole(turn, id, "hello world"), event(turn, terret.TurnComplete{}),
		}
	}
	w.must(t, timed(at(1, 0), message("trn_1", "m1")...)...)
	w.must(t, timed(at(2, 0), message("trn_2", "m2")...)...)
	all := mustRead(t, st, w.session)

	compact(t, st, at(1, 0), 0) // the cut-off itself is too young
	same(t, mustRead(t, st, w.session), all)
	compact(t, st, at(2, 0), 3)
	got := mustRead(t, st, w.session)
	diff(t, "after the first day", kindsOf(got[:5]),
		[]string{"1 turn.start", "3 notification", "6 tool.pre", "7 message.complete", "8 turn.complete"})
	same(t, got[5:], all[8:])
	compact(t, st, at(2, 0), 0)
	compact(t, st, at(3, 0), 3)
	diff(t, "after the second day", kindsOf(mustRead(t, st, w.session)[5:]),
		[]string{"9 turn.start", "11 notification", "14 tool.pre", "15 message.complete", "16 turn.complete"})

	page, err := st.Read(t.Context(), terret.ReadQuery{Session: w.session, After: 1, Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "a page across a gap", kindsOf(page), []string{"3 notification", "6 tool.pre"})
	if entries := w.must(t, note("and on")); entries[0].Seq != 17 || entries[0].Pos <= got[len(got)-1].Pos {
		t.Errorf("the log goes on with %d at %d", entries[0].Seq, entries[0].Pos)
	}
	if turns, err := st.Turns(t.Context(), w.session); err != nil || len(turns) != 2 {
		t.Errorf("turns: %v, %v", turns, err)
	}
	if findings, err := maintainer(t, st).Check(t.Context()); err != nil || len(findings) != 0 {
		t.Errorf("check: %v, %v", findings, err)
	}
}

// testCompactAgain has a message that went on after it was complete.
func testCompactAgain(t *testing.T, s *suite) {
	st := s.fresh(t)
	w := newWriter(t, st)
	w.must(t, timed(at(1, 0), start("trn_1"), piece("trn_1", "m1", "hello "), whole("trn_1", "m1", "hello "),
		piece("trn_1", "m1", "world"), whole("trn_1", "m1", "hello world"), event("trn_1", terret.TurnComplete{}))...)
	compact(t, st, at(2, 0), 2)
	diff(t, "what is left", kindsOf(mustRead(t, st, w.session)),
		[]string{"1 turn.start", "3 message.complete", "5 message.complete", "6 turn.complete"})
}

// testCompactKeeps has pieces that are all there is.
func testCompactKeeps(t *testing.T, s *suite) {
	thinking := func(turn, message string) terret.Event {
		return event(turn, terret.ReasoningDelta{MessageID: message, Text: "hm"})
	}
	interrupted := event("trn_1", terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted}})
	done := func(turn string) terret.Event { return event(turn, terret.TurnComplete{}) }
	thought := whole("trn_1", "m", "text")
	thought.Data = terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{{Type: terret.BlockThinking, Text: "hm"}, terret.Text("text")}}
	large := piece("trn_1", "m", strings.Repeat("a large piece ", 10_000))
	for _, c := range []struct {
		what    string
		events  []terret.Event
		dropped int64
	}{
		{"an interrupted message", []terret.Event{start("trn_1"), piece("trn_1", "m", "half a"), interrupted}, 0},
		{"an interrupted tool call", []terret.Event{start("trn_1"), event("trn_1", terret.ToolDelta{ToolID: "t", PartialInput: "{"}), interrupted}, 0},
		{"a message of a turn that runs", []terret.Event{start("trn_1"), piece("trn_1", "m", "text"), whole("trn_1", "m", "text")}, 0},
		{"the same id in a later turn", []terret.Event{
			start("trn_1"), piece("trn_1", "m", "half a"), interrupted,
			start("trn_2"), piece("trn_2", "m", "whole"), whole("trn_2", "m", "whole"), done("trn_2"),
		}, 1},
		{"the same id in an earlier turn", []terret.Event{
			start("trn_2"), piece("trn_2", "m", "whole"), whole("trn_2", "m", "whole"), done("trn_2"),
			start("trn_1"), piece("trn_1", "m", "half a"), interrupted,
		}, 1},
		{"thoughts that the whole leaves out", []terret.Event{
			start("trn_1"), thinking("trn_1", "m"), piece("trn_1", "m", "text"), whole("trn_1", "m", "text"), done("trn_1"),
		}, 1},
		{"thoughts that the whole holds", []terret.Event{
			start("trn_1"), thinking("trn_1", "m"), piece("trn_1", "m", "text"), thought, done("trn_1"),
		}, 2},
		{"text that the whole leaves out", []terret.Event{
			start("trn_1"), piece("trn_1", "m", "text"), event("trn_1", terret.MessageComplete{MessageID: "m"}), done("trn_1"),
		}, 0},
		{"a message without an id", []terret.Event{start("trn_1"), piece("trn_1", "", "text"), whole("trn_1", "", "text"), done("trn_1")}, 0},
	} {
		t.Run(c.what, func(t *testing.T) {
			st := s.fresh(t)
			w := newWriter(t, st)
			w.must(t, timed(at(1, 0), c.events...)...)
			compact(t, st, at(2, 0), c.dropped)
			if got := len(mustRead(t, st, w.session)); got != len(c.events)-int(c.dropped) {
				t.Errorf("%d events are left of %d", got, len(c.events))
			}
		})
	}
	t.Run("a large piece may stay, but can be read", func(t *testing.T) {
		st := s.fresh(t)
		w := newWriter(t, st)
		w.must(t, timed(at(1, 0), start("trn_1"), large, whole("trn_1", "m", "text"), done("trn_1"))...)
		if _, err := maintainer(t, st).Compact(t.Context(), at(2, 0).Time); err != nil {
			t.Fatal(err)
		}
		mustRead(t, st, w.session)
	})
	t.Run("another session's running turn", func(t *testing.T) {
		st := s.fresh(t)
		busy, idle := newWriter(t, st), newWriter(t, st)
		busy.must(t, timed(at(1, 0), start("trn_b"), piece("trn_b", "m", "text"), whole("trn_b", "m", "text"))...)
		idle.must(t, timed(at(1, 0), start("trn_i"), piece("trn_i", "m", "text"), whole("trn_i", "m", "text"), done("trn_i"))...)
		before := mustRead(t, st, busy.session)
		if _, err := maintainer(t, st).Compact(t.Context(), at(2, 0).Time); err != nil {
			t.Fatal(err)
		}
		same(t, mustRead(t, st, busy.session), before)
		busy.must(t, timed(at(1, 1), done("trn_b"))...)
		if _, err := maintainer(t, st).Compact(t.Context(), at(2, 0).Time); err != nil {
			t.Fatal(err)
		}
		for _, w := range []*writer{busy, idle} {
			for _, e := range mustRead(t, st, w.session) {
				if e.Kind.Delta() {
					t.Errorf("event %d stays after all turns have ended", e.Seq)
				}
			}
		}
	})
}

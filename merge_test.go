package terret_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func TestMerge(t *testing.T) {
	message := terret.Event{Session: "s", Turn: "t", Time: goldenTime, Data: terret.MessageDelta{MessageID: "m", Index: 1, Text: "a"}}
	reasoning := terret.Event{Session: "s", Data: terret.ReasoningDelta{MessageID: "m", Index: 1, Text: "a"}}
	tool := terret.Event{Session: "s", Data: terret.ToolDelta{ToolID: "x", MessageID: "m", Index: 1, PartialInput: "a"}}
	with := func(e terret.Event, edit func(*terret.Event)) terret.Event { edit(&e); return e }
	text := func(s string) func(*terret.Event) {
		return func(e *terret.Event) {
			switch d := e.Data.(type) {
			case terret.MessageDelta:
				d.Text = s
				e.Data = d
			case terret.ReasoningDelta:
				d.Text = s
				e.Data = d
			case terret.ToolDelta:
				d.PartialInput = s
				e.Data = d
			}
		}
	}
	data := func(d terret.Data) func(*terret.Event) { return func(e *terret.Event) { e.Data = d } }

	for name, test := range map[string]struct {
		a, b terret.Event
		want string // the text of the merged event; empty: they stay apart
	}{
		"messages":      {message, with(message, text("b")), "ab"},
		"reasoning":     {reasoning, with(reasoning, text("b")), "ab"},
		"tools":         {tool, with(tool, text("b")), "ab"},
		"empty":         {with(message, text("")), with(message, text("b")), "b"},
		"half a rune":   {with(message, text("\xe2\x82")), with(message, text("\xac")), "€"},
		"kind":          {message, with(message, data(reasoning.Data)), ""},
		"message":       {message, with(message, data(terret.MessageDelta{MessageID: "n", Index: 1, Text: "b"})), ""},
		"index":         {message, with(message, data(terret.MessageDelta{MessageID: "m", Index: 2, Text: "b"})), ""},
		"thought":       {reasoning, with(reasoning, data(terret.ReasoningDelta{MessageID: "n", Index: 1, Text: "b"})), ""},
		"thought index": {reasoning, with(reasoning, data(terret.ReasoningDelta{MessageID: "m", Index: 2, Text: "b"})), ""},
		"tool":          {tool, with(tool, data(terret.ToolDelta{ToolID: "y", MessageID: "m", Index: 1})), ""},
		"tool message":  {tool, with(tool, data(terret.ToolDelta{ToolID: "x", MessageID: "n", Index: 1})), ""},
		"tool index":    {tool, with(tool, data(terret.ToolDelta{ToolID: "x", MessageID: "m", Index: 2})), ""},
		"tool kind":     {tool, with(tool, data(message.Data)), ""},
		"thought kind":  {reasoning, with(reasoning, data(tool.Data)), ""},
		"session":       {message, with(message, func(e *terret.Event) { e.Session = "other" }), ""},
		"turn":          {message, with(message, func(e *terret.Event) { e.Turn = "other" }), ""},
		"actor":         {message, with(message, func(e *terret.Event) { e.Actor = terret.SubActor("1") }), ""},
		"parent tool":   {message, with(message, func(e *terret.Event) { e.ParentTool = "x" }), ""},
		"source":        {message, with(message, func(e *terret.Event) { e.Source = "x" }), ""},
		"visibility":    {message, with(message, func(e *terret.Event) { e.Visibility = terret.VisibleLog }), ""},
		"raw first":     {with(message, func(e *terret.Event) { e.Raw = []byte("{}") }), message, ""},
		"raw second":    {message, with(message, func(e *terret.Event) { e.Raw = []byte("{}") }), ""},
		"request":       {message, with(message, func(e *terret.Event) { e.Expects = &terret.Expects{} }), ""},
		"no delta":      {with(message, data(terret.TaskUpdate{ID: "1"})), with(message, data(terret.TaskUpdate{ID: "1"})), ""},
		"no data":       {terret.Event{}, terret.Event{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.b.Time = terret.TimeOf(goldenTime.Add(1e9))
			got, merged := terret.Merge(test.a, test.b)
			want := test.a
			if test.want != "" {
				text(test.want)(&want)
			}
			if merged != (test.want != "") {
				t.Errorf("merged %t", merged)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// TestDeltaKindsMerge ties Kind.Delta to Merge: what may be dropped is what merges.
func TestDeltaKindsMerge(t *testing.T) {
	for _, e := range examples() {
		event := e.event
		event.Raw, event.Expects = nil, nil
		if _, merged := terret.Merge(event, event); merged != event.Kind().Delta() {
			t.Errorf("%s: merged %t, delta %t", e.name(), merged, event.Kind().Delta())
		}
	}
}

// FuzzMerge merges a run of events as a store does and checks that no text is
// lost and none changes its place. Each pair of bytes makes one event.
func FuzzMerge(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		run := make([]byte, 2*n)
		for i := range run {
			run[i] = byte(random.UintN(256))
			if n%2 == 0 {
				run[i] &= 0x0f // few streams, so that much merges
			}
		}
		f.Add(run)
	}
	f.Fuzz(func(t *testing.T, run []byte) {
		var events, merged []terret.Event
		for i := 0; i+1 < len(run); i += 2 {
			events = append(events, eventOf(run[i], run[i+1]))
		}
		for _, e := range events {
			if n := len(merged); n > 0 {
				if joined, ok := terret.Merge(merged[n-1], e); ok {
					merged[n-1] = joined
					continue
				}
			}
			merged = append(merged, e)
		}
		if diff := cmp.Diff(spell(events), spell(merged)); diff != "" {
			t.Errorf("-before +after\n%s", diff)
		}
		for i := 1; i < len(merged); i++ {
			if _, ok := terret.Merge(merged[i-1], merged[i]); ok {
				t.Errorf("events %d and %d could still be merged", i-1, i)
			}
		}
	})
}

// eventOf makes an event of one of a few streams: where says which, what is its
// text.
func eventOf(where, what byte) terret.Event {
	e := terret.Event{Session: "s", Turn: fmt.Sprint("t", where>>7)}
	id, index := fmt.Sprint("m", where>>2&1), int(where>>3&1)
	text := fmt.Sprintf("%c%d", rune(what)+0x20, what)
	switch where & 3 {
	case 0:
		e.Data = terret.MessageDelta{MessageID: id, Index: index, Text: text}
	case 1:
		e.Data = terret.ReasoningDelta{MessageID: id, Index: index, Text: text}
	case 2:
		e.Data = terret.ToolDelta{ToolID: id, Index: index, PartialInput: text}
	case 3:
		e.Data = terret.TaskUpdate{ID: id, Text: text}
	}
	if where>>4&7 == 7 {
		e.Raw = []byte(text)
	}
	return e
}

// spell lists each rune of the events' texts with the stream that it belongs to,
// so that a run and the merged run spell the same.
func spell(events []terret.Event) []string {
	var out []string
	for _, e := range events {
		var stream, text string
		switch d := e.Data.(type) {
		case terret.MessageDelta:
			stream, text = fmt.Sprint(d.MessageID, d.Index), d.Text
		case terret.ReasoningDelta:
			stream, text = fmt.Sprint(d.MessageID, d.Index), d.Text
		case terret.ToolDelta:
			stream, text = fmt.Sprint(d.ToolID, d.Index), d.PartialInput
		case terret.TaskUpdate:
			stream, text = d.ID, d.Text
		}
		for len(text) > 0 {
			_, size := utf8.DecodeRuneInString(text)
			out = append(out, fmt.Sprintf("%s %s %s %q", e.Turn, e.Kind(), stream, text[:size]))
			text = text[size:]
		}
	}
	return out
}

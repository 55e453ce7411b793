package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/terret-dev/terret"
)

var noon = terret.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))

func event(turn string, d terret.Data) terret.Event {
	return terret.Event{Turn: turn, Time: noon, Data: d}
}

func text(s string) terret.Event {
	return event("t", terret.MessageDelta{MessageID: "m", Text: s})
}

// TestRows checks how many rows a batch becomes, and what is in them.
func TestRows(t *testing.T) {
	t.Parallel()
	withRaw := text("raw")
	withRaw.Raw = []byte("x")
	for _, c := range []struct {
		what   string
		events []terret.Event
		want   []string
	}{
		{"nothing", nil, nil},
		{"one", []terret.Event{text("a")}, []string{"a"}},
		{"pieces", []terret.Event{text("a"), text("b"), text("c")}, []string{"abc"}},
		{"a character in two halves", []terret.Event{text("\xc3"), text("\xa9")}, []string{"é"}},
		{"empty pieces", []terret.Event{text(""), text("a"), text("")}, []string{"a"}},
		{"two streams in turn", []terret.Event{text("a"), event("t", terret.ReasoningDelta{MessageID: "m", Text: "b"}), text("c")}, []string{"a", "b", "c"}},
		{"raw messages stay apart", []terret.Event{text("a"), withRaw, text("b")}, []string{"a", "raw", "b"}},
		{"other turns stay apart", []terret.Event{text("a"), event("u", terret.MessageDelta{MessageID: "m", Text: "b"})}, []string{"a", "b"}},
		{"an end between", []terret.Event{text("a"), event("t", terret.Notification{Text: "n"}), text("b")}, []string{"a", "n", "b"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			rows, _, err := Rows(terret.Batch{Session: "s", Events: c.events})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range rows {
				got = append(got, textOf(t, r))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// textOf reads a row back.
func textOf(t *testing.T, r Row) string {
	t.Helper()
	e, err := terret.Entry{Session: "s", Kind: r.Kind, Body: r.Body}.Decode()
	if err != nil {
		t.Fatal(err)
	}
	if e.Kind() != r.Kind || !e.Time.Equal(r.Time.Time) || e.Session != "s" {
		t.Errorf("the row says %s at %s, the body %s at %s in %q", r.Kind, r.Time, e.Kind(), e.Time, e.Session)
	}
	switch d := e.Data.(type) {
	case terret.MessageDelta:
		return d.Text
	case terret.ReasoningDelta:
		return d.Text
	case terret.ToolDelta:
		return d.PartialInput
	case terret.Notification:
		return d.Text
	}
	t.Fatalf("data %T", e.Data)
	return ""
}

// TestRowsFails checks that a bad event fails the batch whole.
func TestRowsFails(t *testing.T) {
	t.Parallel()
	rows, p, err := Rows(terret.Batch{Session: "s", Events: []terret.Event{event("t", terret.TurnStart{}), {Time: noon}}})
	if err == nil || rows != nil || !p.Empty() {
		t.Errorf("rows %v, projection %+v, %v", rows, p, err)
	}
}

// TestRowsOfLongRun checks that joining a long run is not slow: a square of its
// length would take minutes.
func TestRowsOfLongRun(t *testing.T) {
	t.Parallel()
	events := make([]terret.Event, 100_000)
	for i := range events {
		events[i] = text("0123456789")
	}
	rows, _, err := Rows(terret.Batch{Session: "s", Events: events})
	if err != nil || len(rows) != 1 || textOf(t, rows[0]) != strings.Repeat("0123456789", len(events)) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// TestProjection checks what each kind of event changes.
func TestProjection(t *testing.T) {
	t.Parallel()
	usage := terret.Usage{Input: 1}
	d := terret.Decision{RequestID: "r", Gate: terret.GatePlan, Behavior: terret.BehaviorApprove}
	created, rewound := terret.CheckpointCreated{CheckpointID: "c"}, terret.CheckpointRewound{CheckpointID: "c", Direction: "undo"}
	asked := event("t", terret.Unknown{})
	asked.Expects = &terret.Expects{RequestID: "r", Gate: terret.GateStop}
	fail := func(k terret.ErrorCode) terret.Event {
		return event("t", terret.TurnError{Error: terret.Error{Code: k}, Usage: usage, CostUSD: 2})
	}
	ended := func(s terret.TurnState) Projection {
		return Projection{Touched: true, Session: SessionChange{Turn: new("")}, Ended: []TurnEnded{{ID: "t", Seq: 11, At: noon, State: s, Usage: usage, Cost: 2}}}
	}
	started := []TurnStarted{{ID: "t", Seq: 11, At: noon, Origin: terret.OriginUser}}
	start := event("t", terret.TurnStart{Origin: terret.OriginUser})
	for _, c := range []struct {
		what   string
		events []terret.Event
		want   Projection
	}{
		{"a piece of text", []terret.Event{text("a")}, Projection{}},
		{"a note", []terret.Event{event("", terret.Notification{})}, Projection{Touched: true}},
		{"start", []terret.Event{event("", terret.SessionStart{NativeID: "n", Model: "m"})}, Projection{Touched: true, Session: SessionChange{NativeID: new("n"), Model: new("m")}}},
		{"start that says nothing", []terret.Event{event("", terret.SessionStart{})}, Projection{Touched: true}},
		{"native id", []terret.Event{event("", terret.SessionNativeID{New: "n"})}, Projection{Touched: true, Session: SessionChange{NativeID: new("n")}}},
		{"state", []terret.Event{event("", terret.SessionStateChange{State: "idle"})}, Projection{Touched: true, Session: SessionChange{State: new("idle")}}},
		{"update", []terret.Event{event("", terret.SessionUpdated{Title: new(""), Policy: new(terret.PolicyAsk)})}, Projection{Touched: true, Session: SessionChange{Title: new(""), Policy: new("ask")}}},
		{"the last update counts", []terret.Event{event("", terret.SessionUpdated{Title: new("a")}), event("", terret.SessionUpdated{Title: new("b")})}, Projection{Touched: true, Session: SessionChange{Title: new("b")}}},
		{"turn", []terret.Event{start}, Projection{Touched: true, Session: SessionChange{Turn: new("t")}, Started: started}},
		{"turn that is complete", []terret.Event{event("t", terret.TurnComplete{Usage: usage, CostUSD: 2})}, ended(terret.TurnCompleted)},
		{"turn that failed", []terret.Event{fail(terret.CodeModelError)}, ended(terret.TurnFailed)},
		{"turn that was interrupted", []terret.Event{fail(terret.CodeInterrupted)}, ended(terret.TurnInterrupted)},
		{"turn that was killed", []terret.Event{fail(terret.CodeKilled)}, ended(terret.TurnKilled)},
		{"request", []terret.Event{asked}, Projection{Touched: true, Opened: []Opened{{Expects: *asked.Expects, Seq: 11, Turn: "t", At: noon}}}},
		{
			"decisions",
			[]terret.Event{
				event("", terret.PermissionDecision{Decision: d}), event("", terret.QuestionDecision{Decision: d}), event("", terret.PlanDecision{Decision: d}),
				event("", terret.StopDecision{Decision: d}), event("", terret.HookDecision{Decision: d}),
			},
			Projection{Touched: true, Decided: []terret.Decision{d, d, d, d, d}},
		},
		{"checkpoint", []terret.Event{event("", created)}, Projection{Touched: true, Snapshot: []terret.CheckpointCreated{created}}},
		{"undo", []terret.Event{event("", rewound)}, Projection{Touched: true, Rewound: []Rewound{{CheckpointRewound: rewound}}}},
		{
			"undo and a turn",
			[]terret.Event{start, event("", rewound), event("u", terret.TurnStart{Origin: terret.OriginUser}), event("", rewound)},
			Projection{
				Touched: true, Session: SessionChange{Turn: new("u")},
				Started: append(started, TurnStarted{ID: "u", Seq: 13, At: noon, Origin: terret.OriginUser}),
				Rewound: []Rewound{{CheckpointRewound: rewound, Final: true}, {CheckpointRewound: rewound}},
			},
		},
		{
			"the model at the end of a turn",
			[]terret.Event{
				event("", terret.SessionUpdated{Model: new("a")}), event("t", terret.TurnComplete{}), event("", terret.SessionUpdated{Model: new("b")}),
			},
			Projection{
				Touched: true, Session: SessionChange{Turn: new(""), Model: new("b")},
				Ended: []TurnEnded{{ID: "t", Seq: 12, At: noon, State: terret.TurnCompleted, Model: new("a")}},
			},
		},
		{"numbers count merged rows", []terret.Event{text("a"), text("b"), event("", terret.Notification{}), start}, Projection{
			Touched: true, Session: SessionChange{Turn: new("t")}, Started: []TurnStarted{{ID: "t", Seq: 13, At: noon, Origin: terret.OriginUser}},
		}},
		{"another version's event", []terret.Event{event("t", terret.Opaque{Name: "turn.start", JSON: []byte(`{"prompt":7}`)})}, Projection{Touched: true}},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			_, got, err := Rows(terret.Batch{Session: "s", After: 10, Events: c.events})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreUnexported(SessionChange{})); d != "" {
				t.Error(d)
			}
			same := c.want
			same.Touched = false
			if empty := cmp.Equal(same, Projection{}, cmpopts.IgnoreUnexported(SessionChange{})); got.Empty() != empty {
				t.Errorf("empty is %v, want %v", got.Empty(), empty)
			}
		})
	}
}

// FuzzRows cuts text into pieces of several streams: whatever is merged, each
// stream's text is whole, in order, and no stream's pieces pass another event.
func FuzzRows(f *testing.F) {
	f.Add("hello, world", []byte{0, 0, 1, 2, 0})
	f.Add("é\xff\x00\"<&>", []byte{3, 4, 5, 5, 5, 9, 7})
	f.Fuzz(func(t *testing.T, s string, streams []byte) {
		var events []terret.Event
		want := map[string]string{}
		var order []string // streams in order, without repetition
		for i, b := range streams {
			piece := fmt.Sprintf("%d:%s", i, s)
			piece = strings.ToValidUTF8(piece, "?")
			turn, id := fmt.Sprint("t", b&1), fmt.Sprint("m", b>>1&1)
			var d terret.Data
			switch b >> 2 % 4 {
			case 0:
				d = terret.MessageDelta{MessageID: id, Text: piece}
			case 1:
				d = terret.ReasoningDelta{MessageID: id, Text: piece}
			case 2:
				d = terret.ToolDelta{ToolID: id, PartialInput: piece}
			default:
				d = terret.Notification{Text: piece}
			}
			e := event(turn, d)
			stream := fmt.Sprint(turn, id, e.Kind())
			if e.Kind() == "notification" { // each by itself
				stream = fmt.Sprint(turn, e.Kind(), i)
			}
			want[stream] += piece
			if len(order) == 0 || order[len(order)-1] != stream {
				order = append(order, stream)
			}
			events = append(events, e)
		}
		rows, _, err := Rows(terret.Batch{Session: "s", Events: events})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != len(order) {
			t.Fatalf("%d rows, want %d", len(rows), len(order))
		}
		got := map[string]string{}
		for i, r := range rows {
			got[order[i]] += textOf(t, r)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	})
}

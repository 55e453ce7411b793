package view_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

const session = "0195e0c4-8b1e-7a3c-9d2f-4e5a6b7c8d9e"

var when = terret.TimeOf(time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC))

// in is an event in the turn t.
func in(d terret.Data) terret.Event {
	return terret.Event{Seq: 7, Session: session, Turn: "t", Time: when, Actor: terret.ActorRoot, Data: d}
}

// out is an event outside a turn.
func out(d terret.Data) terret.Event {
	e := in(d)
	e.Turn = ""
	return e
}

// of is the event as one of a subagent.
func of(sub, tool string, e terret.Event) terret.Event {
	e.Actor, e.ParentTool = terret.SubActor(sub), tool
	return e
}

// asking is the event with somebody waiting for a decision.
func asking(gate terret.Gate, e terret.Event) terret.Event {
	expires := terret.TimeOf(when.Add(4 * time.Second))
	e.Expects = &terret.Expects{RequestID: "req_1", Gate: gate, Fallback: terret.BehaviorAsk, ExpiresAt: &expires}
	return e
}

func newView(t testing.TB, name string, o view.Options) view.View {
	t.Helper()
	v, err := view.New(name, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// play gives the events to a view and checks what every message must be.
func play(t testing.TB, v view.View, events ...terret.Event) []view.Message {
	t.Helper()
	var all []view.Message
	for _, e := range events {
		for _, m := range v.Event(e) {
			if m.Name == "" || !json.Valid(m.Data) || !utf8.Valid(m.Data) || strings.Contains(string(m.Data), "\n") {
				t.Fatalf("%s gives a bad message: %q %q", e.Kind(), m.Name, m.Data)
			}
			all = append(all, m)
		}
	}
	return all
}

// names lists the names of messages.
func names(messages []view.Message) []string {
	list := []string{}
	for _, m := range messages {
		list = append(list, m.Name)
	}
	return list
}

// values are the messages' data.
func values(t testing.TB, messages []view.Message) []any {
	t.Helper()
	list := []any{}
	for _, m := range messages {
		list = append(list, decoded(t, string(m.Data)))
	}
	return list
}

func decoded(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// row is a line of a document's table: what gives what.
type row struct {
	id     string
	before []terret.Event // whose messages do not count
	events []terret.Event
	want   string // a JSON list
}

func (r row) run(t *testing.T, v view.View) {
	t.Helper()
	play(t, v, r.before...)
	if diff := cmp.Diff(decoded(t, r.want), any(values(t, play(t, v, r.events...)))); diff != "" {
		t.Errorf("%s: -want +got\n%s", r.id, diff)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	want := []string{"athena", "hive", "orchestration", "neovate", "chirality"}
	if diff := cmp.Diff(want, view.Names()); diff != "" {
		t.Error(diff)
	}
	_, err := view.New("klingon", view.Options{})
	if !errors.Is(err, terret.ErrInvalid) {
		t.Fatalf("got %v", err)
	}
	for _, name := range want {
		newView(t, name, view.Options{})
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %s", err, name)
		}
	}
}

// examples are the events that the root package shows for each kind.
func examples(t testing.TB) map[terret.Kind][]terret.Event {
	t.Helper()
	files, err := filepath.Glob("../testdata/events/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no examples", err)
	}
	all := map[terret.Kind][]terret.Event{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var e terret.Event
		if err := json.Unmarshal(b, &e); err != nil {
			t.Fatal(f, err)
		}
		all[e.Kind()] = append(all[e.Kind()], e)
	}
	return all
}

// dropped are the kinds of which each view deliberately tells nothing. A new kind
// belongs here or in a view.
var dropped = map[string][]terret.Kind{
	"athena": {
		"agent.state", "bus.message", "bus.receipt", "checkpoint.created", "checkpoint.rewound", "compact.post",
		"diag.parse_error", "diag.stderr", "diag.warning", "file.changed", "hook.response", "message.complete",
		"model.fallback", "permission.denied", "process.exit", "process.spawn", "queue.change", "rate_limit", "retry",
		"session.commands", "session.native_id", "session.resumed", "session.state", "session.updated",
		"task.start", "task.update", "tool.delta", "tool.progress", "tool.start",
	},
	"hive": {
		"agent.state", "bus.message", "bus.receipt", "checkpoint.created", "checkpoint.rewound", "compact.post",
		"diag.parse_error", "diag.stderr", "diag.warning", "file.changed", "hook.decision", "hook.event",
		"hook.response", "model.fallback", "notification", "permission.denied", "plan.update", "process.exit",
		"process.spawn", "queue.change", "rate_limit", "session.commands", "session.end", "session.resumed", "stop.decision",
		"stop.request", "subagent.start", "subagent.stop", "task.end", "task.start", "task.update", "tool.delta",
		"unknown", "usage.update",
	},
	"orchestration": {
		"agent.state", "bus.message", "bus.receipt", "checkpoint.created", "checkpoint.rewound", "compact.post",
		"compact.pre", "diag.parse_error", "diag.stderr", "diag.warning", "file.changed", "hook.decision",
		"hook.event", "hook.response", "message.delta", "model.fallback", "notification", "permission.decision",
		"permission.denied", "permission.request", "plan.decision", "plan.request", "plan.update", "process.exit",
		"process.spawn", "question.decision", "question.request", "queue.change", "rate_limit", "reasoning.delta", "retry",
		"session.auth", "session.commands", "session.end", "session.native_id", "session.resumed", "session.start",
		"session.state", "session.updated", "stop.decision", "stop.request", "subagent.start", "subagent.stop",
		"task.end", "task.start", "task.update", "tool.delta", "tool.pre", "tool.progress", "tool.start",
		"turn.start", "unknown", "usage.update", "user.prompt",
	},
	"neovate": {
		"agent.state", "bus.message", "bus.receipt", "checkpoint.created", "checkpoint.rewound", "compact.post",
		"compact.pre", "diag.parse_error", "diag.stderr", "diag.warning", "file.changed", "hook.decision",
		"hook.event", "hook.response", "message.delta", "model.fallback", "notification", "permission.decision",
		"permission.denied", "permission.request", "plan.decision", "plan.request", "plan.update", "process.exit",
		"process.spawn", "question.decision", "question.request", "queue.change", "rate_limit", "reasoning.delta", "retry",
		"session.auth", "session.commands", "session.end", "session.native_id", "session.resumed", "session.state",
		"session.updated", "stop.decision", "stop.request", "subagent.start", "subagent.stop", "task.end",
		"task.start", "task.update", "tool.delta", "tool.failure", "tool.post", "tool.pre", "tool.progress",
		"tool.start", "unknown", "usage.update",
	},
	"chirality": {
		"agent.state", "bus.message", "bus.receipt", "checkpoint.created", "checkpoint.rewound", "compact.post",
		"compact.pre", "diag.parse_error", "diag.stderr", "diag.warning", "file.changed", "hook.decision",
		"hook.event", "hook.response", "model.fallback", "notification", "permission.decision",
		"permission.denied", "permission.request", "plan.decision", "plan.request", "plan.update",
		"process.spawn", "question.decision", "question.request", "queue.change", "rate_limit", "reasoning.delta", "retry",
		"session.auth", "session.commands", "session.resumed", "session.state", "session.updated",
		"stop.decision", "stop.request", "subagent.start", "subagent.stop", "task.end", "task.start", "task.update",
		"tool.delta", "tool.progress", "turn.start", "unknown", "usage.update", "user.prompt",
	},
}

// TestEveryKind holds which kinds each view tells of, in an example alone or after
// a turn whose process has yet to end.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	events := examples(t)
	for _, name := range view.Names() {
		got := []terret.Kind{}
		for _, k := range terret.Kinds() {
			if len(events[k]) == 0 {
				t.Fatalf("there is no example of %s", k)
			}
			told := slices.ContainsFunc(events[k], func(e terret.Event) bool {
				if len(play(t, newView(t, name, view.Options{}), e)) > 0 {
					return true
				}
				v := newView(t, name, view.Options{Session: terret.Session{OneShot: true}})
				play(t, v, in(terret.TurnStart{}), in(terret.TurnComplete{}))
				return e.Turn == "" && len(play(t, v, e)) > 0
			})
			if !told {
				got = append(got, k)
			}
		}
		if diff := cmp.Diff(dropped[name], got); diff != "" {
			t.Errorf("%s: dropped kinds: -want +got\n%s", name, diff)
		}
	}
}

// TestDeep holds that views survive what nests deeper than anybody can read.
func TestDeep(t *testing.T) {
	t.Parallel()
	for _, n := range []int{9990, 9998, 9999, 10000, 10001} {
		deep := terret.JSON(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
		use := terret.Block{Type: terret.BlockToolUse, ToolID: "u", Name: "Bash", Input: deep}
		for _, name := range view.Names() {
			v := newView(t, name, view.Options{})
			play(t, v, in(terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{use}}),
				in(terret.ToolPre{ToolID: "v", Input: deep}), in(terret.PermissionRequest{Input: deep}), in(terret.HookEvent{Hook: "New", Data: deep}),
				in(terret.ToolPost{ToolID: "w", Structured: deep}), in(terret.TurnComplete{}))
		}
	}
}

// TestStrangers holds that views ignore what other versions write, what is hidden
// from people, and an event without data.
func TestStrangers(t *testing.T) {
	t.Parallel()
	summary := in(terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("summary")}})
	summary.Visibility = terret.VisibleInternal
	for _, name := range view.Names() {
		v := newView(t, name, view.Options{})
		got := play(t, v, terret.Event{}, summary,
			in(terret.Opaque{Name: "turn.complete", JSON: terret.JSON(`[1]`)}), in(terret.Opaque{Name: "new.kind", JSON: terret.JSON(`{"a":1}`)}))
		if len(got) > 0 {
			t.Errorf("%s says %v", name, names(got))
		}
	}
}

// TestToolIDsComeAgain holds that a call with the id of one that is over is news in
// the next turn, while one that goes on is not.
func TestToolIDsComeAgain(t *testing.T) {
	t.Parallel()
	pre, post := in(terret.ToolPre{ToolID: "u", Name: "Bash"}), in(terret.ToolPost{ToolID: "u", Name: "Bash"})
	long := in(terret.ToolPre{ToolID: "long", Name: "Bash"})
	turn2 := func(events ...terret.Event) []terret.Event {
		for i := range events {
			events[i].Turn = "t2"
		}
		return events
	}
	for name, want := range map[string][2]string{
		"chirality": {
			"session:init tool:start tool:start tool:result chat:complete session:complete process:exit",
			"session:init tool:start tool:result chat:complete session:complete process:exit",
		},
		"orchestration": {"message message message", "message message message"},
	} {
		v := newView(t, name, view.Options{})
		first := names(play(t, v, pre, long, post, pre, post, in(terret.TurnComplete{})))
		second := names(play(t, v, turn2(pre, long, post, pre, post, in(terret.TurnComplete{}))...))
		if got := [2]string{strings.Join(first, " "), strings.Join(second, " ")}; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

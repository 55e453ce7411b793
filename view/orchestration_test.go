package view_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

type teamMessage struct {
	ID         string         `json:"id"`
	Sender     string         `json:"sender"`
	Recipients []string       `json:"recipients"`
	Content    string         `json:"content"`
	Type       string         `json:"message_type"`
	Timestamp  time.Time      `json:"timestamp"`
	Metadata   map[string]any `json:"metadata"`
}

func team(t *testing.T, messages []view.Message) []teamMessage {
	t.Helper()
	var all []teamMessage
	for _, m := range messages {
		dec := json.NewDecoder(strings.NewReader(string(m.Data)))
		dec.DisallowUnknownFields()
		var out teamMessage
		if err := dec.Decode(&out); err != nil || m.Name != "message" {
			t.Fatal(m.Name, err)
		}
		all = append(all, out)
	}
	return all
}

// TestOrchestrationMessages is the translation table, O33 to O38.
func TestOrchestrationMessages(t *testing.T) {
	t.Parallel()
	use := terret.Block{Type: terret.BlockToolUse, ToolID: "u", Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)}
	said := func(role terret.Role, blocks ...terret.Block) terret.Event {
		return in(terret.MessageComplete{MessageID: "m", Role: role, Blocks: blocks})
	}
	pre := in(terret.ToolPre{ToolID: "u", Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)})
	post := in(terret.ToolPost{ToolID: "u", Name: "Bash", Content: []terret.Block{terret.Text("a.go")}})
	results := said(terret.RoleTool, terret.Block{Type: terret.BlockToolResult, ToolID: "u", Content: []terret.Block{terret.Text("a.go")}})
	using := teamMessage{Content: "Using tool: Bash", Type: "system", Metadata: map[string]any{"sdk_type": "tool_use", "tool_name": "Bash", "tool_input": map[string]any{"command": "ls"}}}
	result := teamMessage{Content: "a.go", Type: "system", Metadata: map[string]any{"sdk_type": "tool_result"}}
	chat := teamMessage{Content: "hi", Type: "chat", Metadata: map[string]any{"sdk_type": "assistant_text"}}
	failed := map[string]any{"sdk_type": "result", "subtype": "error"}
	for _, c := range []struct {
		id     string
		events []terret.Event
		want   []teamMessage
	}{
		{"O33 text", []terret.Event{said(terret.RoleAssistant, terret.Text("hi"))}, []teamMessage{chat}},
		{"O33 two texts", []terret.Event{said(terret.RoleAssistant, terret.Text("hi"), terret.Text(""), terret.Text("hi"))}, []teamMessage{chat, chat}},
		{"O34 tool_use", []terret.Event{pre, said(terret.RoleAssistant, terret.Text("hi"), use), pre}, []teamMessage{chat, using}},
		{"O35 tool_result", []terret.Event{said(terret.RoleAssistant, use), post, results}, []teamMessage{using, result}},
		{"O35 in a user message", []terret.Event{pre, results, post}, []teamMessage{using, result}},
		{"O35 without a message", []terret.Event{pre, post}, []teamMessage{using, result}},
		{
			"O35 failed",
			[]terret.Event{said(terret.RoleAssistant, use), in(terret.ToolFailure{ToolID: "u", Name: "Bash", Error: "denied"})},
			[]teamMessage{using, {Content: "denied", Type: "system", Metadata: result.Metadata}},
		},
		{"O36 success", []terret.Event{in(terret.TurnComplete{Text: "hi"})}, []teamMessage{{Content: "hi", Type: "chat", Metadata: map[string]any{"sdk_type": "result", "subtype": "success"}}}},
		{
			"O36 X15 said twice",
			[]terret.Event{said(terret.RoleAssistant, terret.Text("hi")), in(terret.TurnComplete{Text: "hi"})},
			[]teamMessage{chat, {Content: "hi", Type: "chat", Metadata: map[string]any{"sdk_type": "result", "subtype": "success"}}},
		},
		{
			"O37 error",
			[]terret.Event{in(terret.TurnError{Error: terret.Error{Code: terret.CodeMaxTurns, Message: "Too long."}, Errors: []string{"2 turns", "Too long"}})},
			[]teamMessage{{Content: "Too long.\n2 turns", Type: "system", Metadata: failed}},
		},
		{"O37 nothing said", []terret.Event{in(terret.TurnError{Error: terret.Error{Code: terret.CodeKilled}})}, []teamMessage{{Content: "killed", Type: "system", Metadata: failed}}},
		{"O38 others", []terret.Event{
			in(terret.TurnStart{}), started(), in(terret.MessageDelta{Text: "h"}), in(terret.Unknown{}), said(terret.RoleUser, terret.Text("go")),
			said(terret.RoleAssistant, terret.Block{Type: terret.BlockThinking, Text: "hm"}), of("a", "u", said(terret.RoleAssistant, terret.Text("hi"))),
		}, nil},
	} {
		for i := range c.events {
			c.events[i].Seq = int64(i + 1)
		}
		got := team(t, play(t, newView(t, "orchestration", view.Options{Sender: "reviewer"}), c.events...))
		ids := map[string]bool{}
		for i, m := range got {
			if !terret.ValidID("", m.ID) || ids[m.ID] {
				t.Errorf("%s: id %q", c.id, m.ID) // O42
			}
			ids[m.ID] = true
			if m.Sender != "reviewer" || !cmp.Equal(m.Recipients, []string{"all"}) || m.Timestamp.Location() != time.UTC || !m.Timestamp.Equal(when.Time) {
				t.Errorf("%s: %+v", c.id, m) // O39, O40, O41
			}
			got[i].ID, got[i].Sender, got[i].Recipients, got[i].Timestamp = "", "", nil, time.Time{}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.id, diff)
		}
	}
}

// TestOrchestrationIDs holds that every message has an id of its own, and the same
// one whenever the log is read.
func TestOrchestrationIDs(t *testing.T) {
	t.Parallel()
	events := load(t, "long_lived")
	read := func(events []terret.Event) (ids []string) {
		for _, m := range team(t, play(t, newView(t, "orchestration", view.Options{}), events...)) {
			ids = append(ids, m.ID)
		}
		return ids
	}
	whole := read(events)
	seen := map[string]bool{}
	for _, id := range whole {
		if seen[id] || !terret.ValidID("", id) {
			t.Errorf("id %q", id)
		}
		seen[id] = true
	}
	rest := read(events[55:])
	if diff := cmp.Diff(whole[len(whole)-len(rest):], rest); diff != "" || len(rest) == 0 || len(rest) == len(whole) {
		t.Errorf("read from the middle: %s", diff)
	}
	for i := range events {
		events[i].Seq = 0
	}
	seen = map[string]bool{}
	for _, id := range read(events) {
		if seen[id] {
			t.Errorf("id %q twice without numbers", id)
		}
		seen[id] = true
	}
}

func TestOrchestrationCut(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		3999: strings.Repeat("ß", 3999), 4000: strings.Repeat("ß", 4000),
		4001: strings.Repeat("ß", 4000) + "\n[cut: 1 more characters]", 9000: strings.Repeat("ß", 4000) + "\n[cut: 5000 more characters]",
	} {
		got := team(t, play(t, newView(t, "orchestration", view.Options{}), in(terret.ToolPost{ToolID: "u", Content: []terret.Block{terret.Text(strings.Repeat("ß", n))}})))
		if len(got) != 1 || got[0].Content != want {
			t.Errorf("%d characters become %d bytes", n, len(got[0].Content))
		}
	}
}

func TestOrchestrationSender(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]view.Options{
		"reviewer": {Sender: "reviewer", Session: terret.Session{Agent: "codex"}}, "codex": {Session: terret.Session{Agent: "codex"}}, "agent": {},
	} {
		got := team(t, play(t, newView(t, "orchestration", o), in(terret.TurnComplete{})))
		if len(got) != 1 || got[0].Sender != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

package view_test

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

// TestNeovateMessages is N24 to N26, N30, N31 and N41: the three messages, their
// fields, and nothing else.
func TestNeovateMessages(t *testing.T) {
	t.Parallel()
	hi := []terret.Block{terret.Text("<hi>")}
	const (
		u1, u2 = "0195e0c4-0000-7000-8000-000000000001", "0195e0c4-0000-7000-8000-000000000002"
		a1, t1 = "0195e0c4-0000-7000-8000-00000000000a", "0195e0c4-0000-7000-8000-00000000000b"
		p      = "0195e0c4-0000-7000-8000-00000000000c"
	)
	message := func(role, uuid, parent string) string {
		if parent != "null" {
			parent = strconv.Quote(parent)
		}
		return `{"type":"message","role":"` + role + `","content":[{"type":"text","text":"<hi>"}],"timestamp":"2026-03-14T15:09:26.000000Z","uuid":"` + uuid + `","parentUuid":` + parent + `}`
	}
	usage := `"usage":{"input":1,"output":0,"cache_read":0,"cache_write":0,"reasoning":0}`
	prompt := in(terret.TurnStart{MessageID: u1, Prompt: hi})
	answer := in(terret.MessageComplete{MessageID: a1, Role: terret.RoleAssistant, Blocks: hi})
	for _, r := range []row{
		{"N14 N29 no parent", []terret.Event{answer}, []terret.Event{in(terret.TurnStart{MessageID: u2, Root: true, Prompt: hi})}, `[` + message("user", u2, "null") + `]`},
		{"N14 N29 no parent, steered", []terret.Event{answer}, []terret.Event{in(terret.UserPrompt{MessageID: u2, Root: true, Blocks: hi})}, `[` + message("user", u2, "null") + `]`},
		{
			"N25 system", nil,
			[]terret.Event{out(terret.SessionStart{Model: "m", Cwd: "/w"})},
			`[{"type":"system","subtype":"init","sessionId":"` + session + `","model":"m","cwd":"/w","tools":[]}]`,
		},
		{
			"N24 thread", nil,
			[]terret.Event{prompt, answer, in(terret.UserPrompt{MessageID: u2, Blocks: hi}), in(terret.MessageComplete{MessageID: t1, Role: terret.RoleTool, Blocks: hi})},
			`[` + message("user", u1, "null") + `,` + message("assistant", a1, u1) + `,` + message("user", u2, a1) + `,` + message("tool", t1, u2) + `]`,
		},
		{"N29 parent given", []terret.Event{answer}, []terret.Event{in(terret.TurnStart{MessageID: u2, ParentID: p, Prompt: hi})}, `[` + message("user", u2, p) + `]`},
		{"told again", []terret.Event{prompt}, []terret.Event{in(terret.UserPrompt{MessageID: u1, Blocks: hi})}, `[]`},
		{
			"N30 N31 deltas",
			[]terret.Event{prompt},
			[]terret.Event{in(terret.MessageDelta{MessageID: a1, Text: "<hi>"}), in(terret.ReasoningDelta{MessageID: a1, Text: "hm"}), answer},
			`[` + message("assistant", a1, u1) + `]`,
		},
		{
			"N26 success", nil,
			[]terret.Event{in(terret.TurnComplete{Text: "done", Usage: terret.Usage{Input: 1}, CostUSD: terret.USD / 2})},
			`[{"type":"result","subtype":"success","isError":false,"content":"done",` + usage + `,"costUsd":0.5}]`,
		},
		{
			"N26 error", nil,
			[]terret.Event{in(terret.TurnError{Error: terret.Error{Code: terret.CodeModelError, Message: "no"}, Usage: terret.Usage{Input: 1}})},
			`[{"type":"result","subtype":"error","isError":true,"content":"no",` + usage + `,"costUsd":0,"error":{"kind":"model_error","message":"no","retryable":false}}]`,
		},
		{
			"no content", nil,
			[]terret.Event{in(terret.MessageComplete{Role: terret.RoleAssistant})},
			`[{"type":"message","role":"assistant","content":[],"timestamp":"2026-03-14T15:09:26.000000Z","uuid":"` + terret.MessageUUID(session, "event 7") + `","parentUuid":null}]`,
		},
		{"others'", nil, []terret.Event{of("a", "u", answer), in(terret.TurnStart{Origin: terret.OriginBackground})}, `[]`},
	} {
		r.run(t, newView(t, "neovate", view.Options{}))
	}
}

// Whatever an agent calls its messages, their ids are UUIDs here, always the same, and
// parents still point to messages.
func TestNeovateUUIDs(t *testing.T) {
	t.Parallel()
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	ids := []string{terret.NewID(terret.PrefixMessage), "msg_01AbC", "prt_7", ""}
	read := func() (out []*view.NormalizedMessage) {
		var n view.Neovate
		for i, id := range ids {
			e := in(terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("a"), terret.Text("b")}})
			e.Seq = int64(i + 1)
			m, ok := n.Message(e).(*view.NormalizedMessage)
			if !ok || m.Text() != "ab" {
				t.Fatalf("%q: %+v", id, m)
			}
			out = append(out, m)
		}
		return out
	}
	once, again := read(), read()
	seen := map[string]bool{}
	for i, m := range once {
		if !uuid.MatchString(m.UUID) || seen[m.UUID] || again[i].UUID != m.UUID {
			t.Errorf("%q becomes %q, then %q", ids[i], m.UUID, again[i].UUID)
		}
		seen[m.UUID] = true
		if i > 0 && *m.ParentUUID != once[i-1].UUID {
			t.Errorf("%q follows %q, want %q", ids[i], *m.ParentUUID, once[i-1].UUID)
		}
	}
	if "msg_"+once[0].UUID != ids[0] {
		t.Errorf("our own %q becomes %q", ids[0], once[0].UUID)
	}
	if m := new(view.Neovate).Message(in(terret.Unknown{})); m != nil {
		t.Errorf("an unknown event is %+v", m)
	}
}

package view_test

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/view"
)

// TestNeovateMessages is N24 to N26, N30, N31 and N41: the three messages, their
// fields, and nothing else.
func TestNeovateMessages(t *testing.T) {
	t.Parallel()
	hi := []terret.Block{terret.Text("<hi>")}
	message := func(role, uuid, parent string) string {
		return `{"type":"message","role":"` + role + `","content":[{"type":"text","text":"<hi>"}],"timestamp":"2026-03-14T15:09:26.000000Z","uuid":"` + uuid + `","parentUuid":` + parent + `}`
	}
	usage := `"usage":{"input":1,"output":0,"cache_read":0,"cache_write":0,"reasoning":0}`
	prompt := in(terret.TurnStart{MessageID: "u1", Prompt: hi})
	answer := in(terret.MessageComplete{MessageID: "a1", Role: terret.RoleAssistant, Blocks: hi})
	for _, r := range []row{
		{
			"N25 system", nil,
			[]terret.Event{out(terret.SessionStart{Model: "m", Cwd: "/w"})},
			`[{"type":"system","subtype":"init","sessionId":"` + session + `","model":"m","cwd":"/w","tools":[]}]`,
		},
		{
			"N24 thread", nil,
			[]terret.Event{prompt, answer, in(terret.UserPrompt{MessageID: "u2", Blocks: hi}), in(terret.MessageComplete{MessageID: "t1", Role: terret.RoleTool, Blocks: hi})},
			`[` + message("user", "u1", "null") + `,` + message("assistant", "a1", `"u1"`) + `,` + message("user", "u2", `"a1"`) + `,` + message("tool", "t1", `"u2"`) + `]`,
		},
		{"N29 parent given", []terret.Event{answer}, []terret.Event{in(terret.TurnStart{MessageID: "u2", ParentID: "p", Prompt: hi})}, `[` + message("user", "u2", `"p"`) + `]`},
		{"told again", []terret.Event{prompt}, []terret.Event{in(terret.UserPrompt{MessageID: "u1", Blocks: hi})}, `[]`},
		{
			"N30 N31 deltas",
			[]terret.Event{prompt},
			[]terret.Event{in(terret.MessageDelta{MessageID: "a1", Text: "<hi>"}), in(terret.ReasoningDelta{MessageID: "a1", Text: "hm"}), answer},
			`[` + message("assistant", "a1", `"u1"`) + `]`,
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
			`[{"type":"message","role":"assistant","content":[],"timestamp":"2026-03-14T15:09:26.000000Z","uuid":"","parentUuid":null}]`,
		},
		{"others'", nil, []terret.Event{of("a", "u", answer), in(terret.TurnStart{Origin: terret.OriginBackground})}, `[]`},
	} {
		r.run(t, newView(t, "neovate", view.Options{}))
	}
}

func TestNeovateThread(t *testing.T) {
	t.Parallel()
	var n view.Neovate
	m, ok := n.Message(in(terret.MessageComplete{MessageID: "a1", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("a"), terret.Text("b")}})).(*view.NormalizedMessage)
	if !ok || m.Text() != "ab" || n.Last() != "a1" {
		t.Errorf("%+v, last %q", m, n.Last())
	}
	if m := n.Message(in(terret.Unknown{})); m != nil {
		t.Errorf("an unknown event is %+v", m)
	}
}

package native

import (
	"encoding/json"
	"testing"

	"github.com/terret-dev/terret"
)

// TestResponsesWhole has servers that send the arguments of a call, or the text of a
// message, whole at the end of an item: with and without the item's beginning, and with
// pieces before.
func TestResponsesWhole(t *testing.T) {
	t.Parallel()
	const (
		call    = `{"type":"function_call","call_id":"c1","name":"Bash","arguments":"{\"command\":\"ls\"}"}`
		message = `{"type":"message","content":[{"type":"output_text","text":"Hello."}]}`
	)
	for name, events := range map[string][]string{
		"no pieces": {
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":` + message + `}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"Bash","arguments":""}}`,
			`{"type":"response.output_item.done","output_index":1,"item":` + call + `}`,
		},
		"no beginning": {
			`{"type":"response.output_item.done","output_index":0,"item":` + message + `}`,
			`{"type":"response.output_item.done","output_index":1,"item":` + call + `}`,
		},
		"pieces": {
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":"Hello."}`,
			`{"type":"response.output_item.done","output_index":0,"item":` + message + `}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c1","name":"Bash"}}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"command\":"}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"\"ls\"}"}`,
			`{"type":"response.output_item.done","output_index":1,"item":` + call + `}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := responsesAnswer{chatAnswer: newChatAnswer(), items: map[int]int{}}
			text, input := "", ""
			for _, line := range events {
				var e responsesEvent
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				for _, p := range a.take(e, "m") {
					text, input = text+p.text, input+p.input
				}
			}
			const want = `{"command":"ls"}`
			if r := a.reply(); len(r.blocks) != 2 || r.blocks[0].Text != "Hello." || r.blocks[1].Type != terret.BlockToolUse || string(r.blocks[1].Input) != want {
				t.Errorf("%+v", r.blocks)
			}
			if text != "Hello." || input != want {
				t.Errorf("pieces %q and %q", text, input)
			}
		})
	}
}

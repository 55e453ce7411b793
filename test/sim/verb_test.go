package sim_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/terret-dev/terret/test/sim"
)

// tool makes a tool whose required parameters have those names.
func tool(name string, required ...string) sim.Tool {
	properties := map[string]any{}
	for _, p := range required {
		properties[p] = map[string]any{"type": "string"}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		panic(err) // strings
	}
	return sim.Tool{Name: name, Schema: schema}
}

// TestVerbs holds which tool does what, in the agent's own words.
func TestVerbs(t *testing.T) {
	t.Parallel()
	write := `{do: write, input: {path: "{{dir}}/x", content: "a\nb"}}`
	edit := `{do: edit, input: {path: /x, old: "a\n", new: b}}`
	read := `{do: read, input: {path: "/it's"}}`
	shell := `{do: shell, input: {command: ls}}`
	patch := func(text string) string { return `*** Begin Patch\n` + text + `*** End Patch` }
	free := sim.Tool{Name: "apply_patch", Freeform: true}
	for _, c := range []struct {
		name, do string
		tools    []sim.Tool
		want     string
	}{
		{"claude writes", write, []sim.Tool{tool("Bash", "command"), tool("Write", "file_path", "content")}, `Write {"content":"a\nb","file_path":"/a.b/x"}`},
		{"opencode writes", write, []sim.Tool{tool("write", "content", "filePath")}, `write {"content":"a\nb","filePath":"/a.b/x"}`},
		{"copilot writes", write, []sim.Tool{tool("create", "path", "file_text")}, `create {"file_text":"a\nb","path":"/a.b/x"}`},
		{"codex writes by shell", write, []sim.Tool{tool("exec_command", "cmd")}, `exec_command {"cmd":"apply_patch <<'EOF'\n` + patch(`*** Add File: /a.b/x\n+a\n+b\n`) + `\nEOF\n"}`},
		{"codex writes by patch", write, []sim.Tool{tool("exec_command", "cmd"), free}, `apply_patch {"input":"` + patch(`*** Add File: /a.b/x\n+a\n+b\n`) + `"}`},
		{"a patch as a parameter", write, []sim.Tool{tool("apply_patch", "patchText")}, `apply_patch {"patchText":"` + patch(`*** Add File: /a.b/x\n+a\n+b\n`) + `"}`},
		{"gemini edits", edit, []sim.Tool{tool("replace", "file_path", "instruction", "old_string", "new_string")}, `replace {"file_path":"/x","instruction":"Scripted","new_string":"b","old_string":"a\n"}`},
		{"copilot edits", edit, []sim.Tool{tool("edit", "path", "old_str", "new_str")}, `edit {"new_str":"b","old_str":"a\n","path":"/x"}`},
		{"goose edits", edit, []sim.Tool{tool("edit", "path", "before", "after")}, `edit {"after":"b","before":"a\n","path":"/x"}`},
		{"pi edits", edit, []sim.Tool{tool("edit", "path", "edits")}, `edit {"edits":[{"newText":"b","oldText":"a\n"}],"path":"/x"}`},
		{"codex edits", edit, []sim.Tool{free}, `apply_patch {"input":"` + patch(`*** Update File: /x\n@@\n-a\n+b\n`) + `"}`},
		{"gemini reads", read, []sim.Tool{tool("read_file", "file_path"), tool("run_shell_command", "command")}, `read_file {"file_path":"/it's"}`},
		{"codex reads", read, []sim.Tool{tool("exec_command", "cmd")}, `exec_command {"cmd":"cat '/it'\\''s'"}`},
		{"a shell", shell, []sim.Tool{tool("bash", "command", "description")}, `bash {"command":"ls","description":"Scripted"}`},
		{"a tool without a schema", shell, []sim.Tool{{Name: "shell"}}, `shell {"command":"ls"}`},
		{"no shell", shell, []sim.Tool{tool("look"), free}, "400 Bad Request: sim: no known tool of the agent can do shell; it offers look, apply_patch"},
		{"no way to write", write, []sim.Tool{tool("Read", "file_path")}, "400 Bad Request: sim: no known tool of the agent can do write; it offers Read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := player(t, "steps:\n  - answer: {tools: ["+c.do+"]}\n")
			r := ask("go")
			r.Tools = c.tools
			reply, err := p.Answer(t.Context(), r)
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = reply.Blocks[0].Name + " " + string(reply.Blocks[0].Input)
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if _, failed := errors.AsType[*sim.Error](err); failed != (len(p.Unmatched()) == 1) {
				t.Errorf("unmatched: %v", p.Unmatched())
			}
		})
	}
}

// TestRequiredParameters holds that tools get something for all that they must have.
func TestRequiredParameters(t *testing.T) {
	t.Parallel()
	p := player(t, "steps:\n  - answer: {tools: [{do: shell, input: {command: ls}}]}\n")
	r := ask("go")
	r.Tools = []sim.Tool{{Name: "bash", Schema: json.RawMessage(`{"properties": {
		"command": {"type": "string"}, "why": {"type": ["string", "null"]}, "background": {"type": "boolean"}, "timeout": {"type": "number", "minimum": 5},
		"mode": {"enum": ["fast", "slow"]}, "one": {"const": 1}, "preset": {"type": "integer", "default": 7}, "list": {"type": "array", "items": {"type": "string"}, "minItems": 1},
		"empty": {"type": "array"}, "either": {"anyOf": [{"type": "null"}, {"type": "string"}]}, "of": {"oneOf": [{"type": "boolean"}]},
		"deep": {"properties": {"x": {"type": "STRING"}}, "required": ["x"]}, "free": {}, "optional": {"type": "string"}
	}, "required": ["command", "why", "background", "timeout", "mode", "one", "preset", "list", "empty", "either", "of", "deep", "free"]}`)}}
	reply, err := p.Answer(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"background":false,"command":"ls","deep":{"x":"Scripted"},"either":null,"empty":[],"free":"Scripted","list":["Scripted"],"mode":"fast","of":false,"one":1,"preset":7,"timeout":5,"why":"Scripted"}`
	if got := string(reply.Blocks[0].Input); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestCallsInSeveralMessages has agents that make several messages of one reply, each
// with its result.
func TestCallsInSeveralMessages(t *testing.T) {
	t.Parallel()
	use := func(id string) sim.Message { return says("assistant", sim.Block{Type: sim.BlockToolUse, ID: id}) }
	done := func(text string) sim.Message { return says("user", resultBlock(text)) }
	for _, c := range []struct {
		messages []sim.Message
		want     string
	}{
		{[]sim.Message{use("call_sim_1_1_1"), done("a"), use("call_sim_1_1_2"), done("b")}, "a\nb"},
		{[]sim.Message{use("bash__call_sim_1_1_1"), done("a"), says("assistant", textBlock("x")), use("bash__call_sim_1_1_2"), done("b")}, "b"},
		{[]sim.Message{use("call_sim_1_1_1"), done("a"), use("call_sim_3_2_1"), done("b")}, "b"},
		{[]sim.Message{use("mine"), done("a"), use("mine too"), done("b")}, "b"},
		{[]sim.Message{done("a"), use("call_sim_1_1_1"), use("call_sim_1_1_2"), done("b"), done("c")}, "b\nc"},
	} {
		p := player(t, "steps:\n  - answer: {text: '{{last}}'}\n")
		if got := answer(t, p, request(c.messages...)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestSideCallsWithTools has agents that ask for themselves and offer their tools.
func TestSideCallsWithTools(t *testing.T) {
	t.Parallel()
	p := player(t, "steps:\n  - {answer: {text: one}}\n  - {side: true, match: {user: what the user might}, answer: {text: 'go on'}}\n")
	for _, c := range [][2]string{
		{"Managed memory has TWO directories. Choose", "Scripted."},
		{"[SUGGESTION MODE: Suggest what the user might naturally type next.]", "go on"},
		{"<system-reminder>x</system-reminder>[SUGGESTION MODE: Suggest", "Scripted."},
		{"say [SUGGESTION MODE: Suggest", "one"},
	} {
		if got := answer(t, p, ask(c[0])); got != c[1] {
			t.Errorf("%s: got %s, want %s", c[0], got, c[1])
		}
	}
}

// TestContextOfAgents has what agents add to the user's text.
func TestContextOfAgents(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"<environment_context>\n<cwd>/x</cwd>\n</environment_context>\ngo", "<session_context>a</session_context>go",
		"<current_datetime>now</current_datetime>\n\ngo", "go\n<turn-context>\n<a>b</a>\n</turn-context>",
		"<system-reminder>a < b</system-reminder>go<system-reminder></system-reminder>",
	} {
		p := player(t, "steps:\n  - {match: {user: /^go$/, first: /^go$/}, answer: {text: fine}}\n")
		if got := answer(t, p, ask(text)); got != "fine" {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, text := range []string{"<b>go</b>", "<turn-context>go", "1 < 2 <", "</turn-context>"} {
		p := player(t, "steps:\n  - answer: {text: '{{last}}', chunk: 100}\n")
		if got := answer(t, p, ask(text)); got != text {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestFreeformOverHTTP(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		_, url := start(t, parse(t, "steps:\n  - answer: {tools: [{name: apply_patch, input: {input: a patch}}, {name: apply_patch, input: {a: b, c: d}}]}\n"), sim.Options{})
		path, body := askResponses(stream, user("go"))
		body["tools"] = []any{object{"type": "custom", "name": "apply_patch"}}
		_, data, err := post(t, client(t), url+path, body)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			`{"id":"ctc_sim_1_1_0","type":"custom_tool_call","status":"completed","call_id":"call_sim_1_1_1","name":"apply_patch","input":"a patch"}`,
			`"input":"{\"a\":\"b\",\"c\":\"d\"}"`,
		} {
			if !strings.Contains(string(data), want) {
				t.Errorf("stream %v: %s is not in %s", stream, want, data)
			}
		}
		if got := strings.Count(string(data), `"type":"response.custom_tool_call_input.delta"`); stream && got != 2 {
			t.Errorf("%d deltas in %s", got, data)
		}
	}
}

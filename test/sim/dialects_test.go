package sim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/test/sim"
)

// object is JSON.
type object = map[string]any

// dialect says the same request in the words of an API. It has one tool.
type dialect struct {
	name string
	ask  func(stream bool, messages ...message) (path string, body object)
}

var dialects = []dialect{
	{"anthropic", func(stream bool, messages ...message) (string, object) {
		return "/v1/messages", body(stream, messages...)
	}},
	{"chat", askChat},
	{"responses", askResponses},
	{"gemini", askGemini},
}

// resultText is the text of a message that is the result of a tool.
func (m message) resultText() (string, bool) {
	blocks, ok := m.Content.([]any)
	if !ok {
		return "", false
	}
	text, ok := blocks[0].(map[string]any)["content"].(string)
	return text, ok
}

func askChat(stream bool, messages ...message) (string, object) {
	list := []any{object{"role": "system", "content": "You are a test"}}
	for _, m := range messages {
		if text, ok := m.resultText(); ok {
			list = append(list, object{"role": "tool", "tool_call_id": "t", "content": text})
		} else {
			list = append(list, object{"role": m.Role, "content": m.Content})
		}
	}
	return "/v1/chat/completions", object{
		"model": "gpt-test", "messages": list, "stream": stream, "stream_options": object{"include_usage": true},
		"tools": []any{object{"type": "function", "function": object{"name": "Bash", "parameters": object{"type": "object"}}}},
	}
}

func askResponses(stream bool, messages ...message) (string, object) {
	var list []any
	for _, m := range messages {
		if text, ok := m.resultText(); ok {
			list = append(list, object{"type": "function_call_output", "call_id": "t", "output": text})
		} else {
			list = append(list, object{"role": m.Role, "content": []any{object{"type": "input_text", "text": m.Content}}})
		}
	}
	return "/v1/responses", object{
		"model": "gpt-test", "instructions": "You are a test", "input": list, "stream": stream,
		"tools": []any{object{"type": "function", "name": "Bash", "parameters": object{"type": "object"}}},
	}
}

func askGemini(stream bool, messages ...message) (string, object) {
	var list []any
	for _, m := range messages {
		part := object{"text": m.Content}
		if text, ok := m.resultText(); ok {
			part = object{"functionResponse": object{"name": "Bash", "response": object{"output": text}}}
		}
		role := strings.Replace(m.Role, "assistant", "model", 1)
		list = append(list, object{"role": role, "parts": []any{part}})
	}
	path := "/v1beta/models/gemini-test:generateContent"
	if stream {
		path = "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"
	}
	return path, object{
		"systemInstruction": object{"parts": []any{object{"text": "You are a test"}}}, "contents": list,
		"tools": []any{object{"functionDeclarations": []any{object{"name": "Bash", "parameters": object{"type": "OBJECT"}}}}},
	}
}

// TestDialectsReadTheSame holds that a request is the same in all dialects.
func TestDialectsReadTheSame(t *testing.T) {
	t.Parallel()
	messages := []message{user("make a file"), assistant("I will."), result("File created."), user("and more")}
	for _, d := range dialects[1:] {
		var rec recorder
		_, url := start(t, parse(t, "steps:\n  - {match: {user: /^and more$/, tool_result: /^File created.$/, system: You are, first: /^make a file$/}, answer: {text: fine}}\n"), sim.Options{Record: rec.record})
		path, body := d.ask(true, messages...)
		if res, data, err := post(t, client(t), url+path, body); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v %s", d.name, err, data)
		}
		got := rec.requests()[0].Request
		got.Raw, got.Tools[0].Schema = nil, nil
		for i := range got.Messages {
			for j := range got.Messages[i].Blocks {
				b := &got.Messages[i].Blocks[j]
				b.ID, b.Name = "", ""
			}
		}
		block := func(kind sim.BlockType, text string) []sim.Block { return []sim.Block{{Type: kind, Text: text}} }
		want := sim.Request{
			Model: map[string]string{"gemini": "gemini-test"}[d.name], System: "You are a test", Stream: true, Tools: []sim.Tool{{Name: "Bash"}},
			Messages: []sim.Message{
				{Role: "user", Blocks: block(sim.BlockText, "make a file")},
				{Role: "assistant", Blocks: block(sim.BlockText, "I will.")},
				{Role: "user", Blocks: block(sim.BlockToolResult, "File created.")},
				{Role: "user", Blocks: block(sim.BlockText, "and more")},
			},
		}
		if want.Model == "" {
			want.Model = "gpt-test"
		}
		if diff := cmp.Diff(want, *got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".wantUsage" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s: %s", d.name, diff)
		}
	}
}

// TestSideCallsOfDialects holds that requests without tools get an answer, and JSON where that
// is asked for, and use up no step.
func TestSideCallsOfDialects(t *testing.T) {
	t.Parallel()
	schema := object{"type": "OBJECT", "required": []string{"why", "score", "who"}, "properties": object{
		"why": object{"type": "STRING"}, "score": object{"type": "INTEGER"}, "who": object{"enum": []string{"user", "model"}}, "not": object{"type": "string"},
	}}
	formats := map[string]func(object){
		"anthropic": func(object) {},
		"chat": func(b object) {
			b["response_format"] = object{"type": "json_schema", "json_schema": object{"schema": schema}}
		},
		"responses": func(b object) { b["text"] = object{"format": object{"type": "json_schema", "schema": schema}} },
		"gemini":    func(b object) { b["generationConfig"] = object{"responseJsonSchema": schema} },
	}
	for _, d := range dialects {
		srv, url := start(t, parse(t, "side_answer: A title\nsteps:\n  - answer: {text: one}\n"), sim.Options{})
		for _, stream := range []bool{false, true} {
			path, body := d.ask(stream, user("hello"))
			delete(body, "tools")
			res, data, err := post(t, client(t), url+path, body)
			if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(data, []byte("A ")) || !bytes.Contains(data, []byte("title")) {
				t.Errorf("%s: %v %s", d.name, err, data)
			}
			formats[d.name](body)
			res, data, err = post(t, client(t), url+path, body)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("%s: %v %s", d.name, err, data)
			}
			want, _ := json.Marshal(`{"score":1,"who":"user","why":"A title"}`)
			if d.name != "anthropic" && !stream && !bytes.Contains(data, want[1:len(want)-1]) {
				t.Errorf("%s: %s", d.name, data)
			}
		}
		if got := srv.Player().Remaining(); len(got) != 1 {
			t.Errorf("%s: steps left: %v", d.name, got)
		}
	}
}

// TestBadRequestsOfDialects holds that what cannot be read is refused in the API's
// words.
func TestBadRequestsOfDialects(t *testing.T) {
	t.Parallel()
	srv, url := start(t, parse(t, "require_key: sk-canary\nmodels: [m]\n"+twoSteps), sim.Options{})
	for _, test := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/chat/completions", `{`, 400, `{"error":{"message":"We could not parse`},
		{"/v1/chat/completions", `{}`, 400, `{"error":{"message":"you must provide a model parameter","type":"invalid_request_error","param":null,"code":null}}`},
		{"/v1/chat/completions", `{"model":"m"}`, 400, `{"error":{"message":"Missing required parameter: 'messages'.`},
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":3}]}`, 400, `{"error":{"message":"Invalid type for 'messages[].content'`},
		{"/v1/chat/completions", `{"model":"gone","messages":[{"role":"user","content":"x"}]}`, 404, `{"error":{"message":"model: gone","type":"not_found_error","param":null,"code":"model_not_found"}}`},
		{"/v1/responses", `[]`, 400, `{"error":{"message":"We could not parse`},
		{"/v1/responses", `{}`, 400, `{"error":{"message":"Missing required parameter: 'model'.`},
		{"/v1/responses", `{"model":"m"}`, 400, `{"error":{"message":"Invalid type for 'input'`},
		{"/v1/responses", `{"model":"m","input":""}`, 400, `{"error":{"message":"Invalid type for 'input'`},
		{"/v1/responses", `{"model":"m","input":[]}`, 400, `{"error":{"message":"Missing required parameter: 'input'.`},
		{"/v1/responses", `{"model":"m","input":[{"role":"user","content":3}]}`, 400, `{"error":{"message":"Invalid type for 'input[].content'`},
		{"/v1/responses", `{"model":"m","input":"hello"}`, 200, `{"id":"resp_sim_`},
		{"/v1beta/models/m:generateContent", `x`, 400, `{"error":{"code":400,"message":"Invalid JSON payload received`},
		{"/v1beta/models/m:generateContent", `{}`, 400, `{"error":{"code":400,"message":"contents is not specified","status":"INVALID_ARGUMENT"}}`},
		{"/v1beta/models/gone:generateContent", `{"contents":[{}]}`, 404, `{"error":{"code":404,"message":"model: gone","status":"NOT_FOUND"}}`},
		{"/v1beta/models/m:embedContent", `{}`, 404, `{"error":{"code":404,"message":"sim: nothing is served at POST /v1beta/models/m:embedContent","status":"NOT_FOUND"}}`},
		{"/v1beta/models/m:countTokens", `{"contents":[{"parts":[{"text":"four characters for a token"}]}]}`, 200, `{"totalTokens":16}`},
	} {
		res, data, err := postText(t, url+test.path, test.body)
		if err != nil || res.StatusCode != test.status || !strings.HasPrefix(string(data), test.want) {
			t.Errorf("%s %s: %v %s", test.path, test.body, err, data)
		}
	}
	if got := srv.Player().Remaining(); len(got) != 2 {
		t.Errorf("steps were used up; left: %v", got)
	}
	for _, test := range []struct{ path, header string }{
		{"/v1beta/models", "X-Goog-Api-Key"}, {"/v1beta/models?key=sk-canary", "X-Other"}, {"/v1/models", "X-Api-Key"},
	} {
		status, got := get(t, client(t), "GET", url+test.path, http.Header{test.header: {"sk-canary"}})
		if status != http.StatusOK || !strings.Contains(got, `"m"`) && !strings.Contains(got, `"models/m"`) {
			t.Errorf("%s: %d %s", test.path, status, got)
		}
	}
	if status, got := get(t, client(t), "GET", url+"/v1beta/models/gone?key=sk-canary", nil); status != http.StatusNotFound {
		t.Errorf("%d %s", status, got)
	}
	if status, got := get(t, client(t), "GET", url+"/v1beta/models/m?key=sk-canary", nil); status != http.StatusOK || !strings.HasPrefix(got, `{"name":"models/m"`) {
		t.Errorf("%d %s", status, got)
	}
	if status, got := get(t, client(t), "GET", url+"/v1beta/models?key=wrong", nil); status != http.StatusUnauthorized || !strings.Contains(got, `"status":"UNAUTHENTICATED"`) {
		t.Errorf("%d %s", status, got)
	}
}

// postText posts what need not be JSON.
func postText(t *testing.T, url, text string) (*http.Response, []byte, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "sk-canary")
	res, err := client(t).Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	var out bytes.Buffer
	_, err = out.ReadFrom(res.Body)
	return res, out.Bytes(), err
}

// TestImages holds that images are read in all dialects.
func TestImages(t *testing.T) {
	t.Parallel()
	contents := map[string]any{
		"anthropic": object{"type": "image", "source": object{"type": "base64", "media_type": "image/png", "data": "aGk="}},
		"chat":      object{"type": "image_url", "image_url": object{"url": "data:image/png;base64,aGk="}},
		"responses": object{"type": "input_image", "image_url": "data:image/png;base64,aGk="},
		"gemini":    object{"inlineData": object{"mimeType": "image/png", "data": "aGk="}},
	}
	for _, d := range dialects {
		var rec recorder
		_, url := start(t, parse(t, twoSteps), sim.Options{Record: rec.record})
		path, body := d.ask(false, user("look"))
		one := []any{object{"role": "user", "content": []any{contents[d.name]}}}
		switch d.name {
		case "responses":
			body["input"] = one
		case "gemini":
			body["contents"] = []any{object{"role": "user", "parts": []any{contents[d.name]}}}
		default:
			body["messages"] = one
		}
		post(t, client(t), url+path, body)
		got := rec.requests()[0].Request
		if diff := cmp.Diff([]sim.Block{{Type: sim.BlockImage, Data: "aGk="}}, got.Messages[0].Blocks); diff != "" {
			t.Errorf("%s: %s", d.name, diff)
		}
	}
}

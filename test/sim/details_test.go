package sim_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/test/sim"
)

// TestStopReasons holds why a model stopped, in the words of each API.
func TestStopReasons(t *testing.T) {
	t.Parallel()
	want := map[string][]string{ // for max_tokens, refusal, and a word of one's own
		"anthropic": {`"stop_reason":"max_tokens"`, `"stop_reason":"refusal"`, `"stop_reason":"pause_turn"`},
		"chat":      {`"finish_reason":"length"`, `"finish_reason":"content_filter"`, `"finish_reason":"pause_turn"`},
		"responses": {`"incomplete_details":{"reason":"max_output_tokens"}`, `"incomplete_details":{"reason":"content_filter"}`, `"status":"completed"`},
		"gemini":    {`"finishReason":"MAX_TOKENS"`, `"finishReason":"SAFETY"`, `"finishReason":"pause_turn"`},
	}
	for _, d := range dialects {
		for _, stream := range []bool{false, true} {
			_, url := start(t, parse(t, "steps:\n  - answer: {text: a, stop_reason: max_tokens}\n  - answer: {refuse: no}\n  - answer: {text: a, stop_reason: pause_turn}\n"), sim.Options{})
			for _, want := range want[d.name] {
				path, body := d.ask(stream, user("go"))
				if _, data, err := post(t, client(t), url+path, body); err != nil || !strings.Contains(string(data), want) {
					t.Errorf("%s, stream %v: no %s in %s, %v", d.name, stream, want, data, err)
				}
			}
		}
	}
}

// TestUsageOfChat holds that a stream says what it cost only if it is asked to.
func TestUsageOfChat(t *testing.T) {
	t.Parallel()
	_, url := start(t, parse(t, twoSteps), sim.Options{})
	path, body := askChat(true, user("go"))
	delete(body, "stream_options")
	if _, data, err := post(t, client(t), url+path, body); err != nil || strings.Contains(string(data), "usage") {
		t.Errorf("%v %s", err, data)
	}
}

// TestConversationIDs holds where each dialect finds the name of a conversation.
func TestConversationIDs(t *testing.T) {
	t.Parallel()
	chat, chatBody := askChat(false, user("go"))
	responses, responsesBody := askResponses(false, user("go"))
	cached := maps.Clone(responsesBody)
	for _, c := range []struct {
		path, header string
		body         object
	}{
		{"/v1/messages", "X-Claude-Code-Session-Id", body(false, user("go"))},
		{chat, "X-Session-Id", chatBody},
		{chat, "X-Session-Affinity", chatBody},
		{responses, "Session-Id", responsesBody},
		{responses, "Session-Id", cached},
		{responses, "", cached},
	} {
		srv, url := start(t, parse(t, "conversations: id\nsteps:\n  - answer: {text: hello}\n"), sim.Options{})
		for _, id := range []string{"a", "b"} {
			if c.header == "" {
				c.body["prompt_cache_key"] = id
			}
			if got := postWith(t, url+c.path, c.header, id, c.body); got != http.StatusOK {
				t.Errorf("%s %s: %d", c.path, c.header, got)
			}
		}
		if got := srv.Player().Unmatched(); len(got) > 0 {
			t.Error(c.path, c.header, got)
		}
	}
}

// postWith posts with a header, and returns the status.
func postWith(t *testing.T, url, header, value string, body object) int {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	c := &http.Client{Transport: withHeader{tr, header, value}}
	res, _, err := post(t, c, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

type withHeader struct {
	next        http.RoundTripper
	name, value string
}

func (w withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.name != "" {
		r.Header.Set(w.name, w.value)
	}
	return w.next.RoundTrip(r)
}

// TestHistories holds how what was said before is read.
func TestHistories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path, text string
		system           string
		want             []sim.Block
	}{
		{
			"chat", "/v1/chat/completions", `{"model":"m","messages":[{"role":"developer","content":"You are"},{"role":"user","content":"x"},
				{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]}]}`,
			"You are",
			[]sim.Block{{Type: sim.BlockThinking, Text: "hm"}, {Type: sim.BlockToolUse, ID: "c", Name: "ls", Input: []byte("{}")}},
		},
		{
			"responses", "/v1/responses", `{"model":"m","input":[{"role":"system","content":"You are"},{"role":"user","content":"x"},
				{"type":"function_call_output","call_id":"c","output":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]}`,
			"You are",
			[]sim.Block{{Type: sim.BlockToolResult, ID: "c", Text: "a\nb"}},
		},
		{
			"something new", "/v1/responses", `{"model":"m","input":[{"type":"hologram","id":"x"}]}`,
			"",
			[]sim.Block{{Type: "hologram"}},
		},
		{
			"gemini", "/v1beta/models/m:generateContent", `{"contents":[{"role":"user","parts":[{"functionResponse":{"id":"c","name":"ls","response":{"error":"no such"}}},
				{"functionResponse":{"id":"d","name":"ls","response":{"files":3}}}, {"text":"hm","thought":true}]}]}`,
			"",
			[]sim.Block{
				{Type: sim.BlockToolResult, ID: "c", Name: "ls", Text: "no such", Error: true},
				{Type: sim.BlockToolResult, ID: "d", Name: "ls", Text: `{"files":3}`},
				{Type: sim.BlockThinking, Text: "hm"},
			},
		},
	} {
		var rec recorder
		_, url := start(t, parse(t, twoSteps), sim.Options{Record: rec.record})
		if _, data, err := postText(t, url+c.path, c.text); err != nil {
			t.Fatalf("%s: %v %s", c.name, err, data)
		}
		got := rec.requests()[0].Request
		if diff := cmp.Diff(c.want, got.Messages[len(got.Messages)-1].Blocks); diff != "" || got.System != c.system {
			t.Errorf("%s: system %q, %s", c.name, got.System, diff)
		}
	}
}

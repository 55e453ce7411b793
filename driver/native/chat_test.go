package native_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

func TestChat(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `
steps:
  - match: {user: hi}
    answer: {thinking: Hm., text: I will., tools: [{name: Write, input: {file_path: a.txt, content: hi}}, {name: Read, input: {file_path: none.txt}}], usage: {input: 100, output: 20, cache_read: 7}}
  - match: {tool_result: Created a.txt}
    answer: {text: Done., usage: {input: 1, output: 2}}
`)
	id := f.session(gpt, func(s *terret.Session) { s.Policy = terret.PolicyAutoApprove })
	events := f.run(id, "hi")
	end := last[terret.TurnComplete](t, events)
	if want := (terret.Usage{Input: 101, Output: 22, CacheRead: 7}); end.Text != "Done." || end.StopReason != "end_turn" || end.Usage != want || end.NumSteps != 2 {
		t.Errorf("%+v", end)
	}
	if u := all[terret.UsageUpdate](events)[0]; u.ContextUsed != 127 {
		t.Errorf("%+v", u)
	}
	if thoughts := all[terret.ReasoningDelta](events); len(thoughts) == 0 || thoughts[0].Text != "Hm." {
		t.Errorf("thoughts: %+v", thoughts)
	}
	if len(all[terret.ToolPost](events)) != 1 || len(all[terret.ToolFailure](events)) != 1 {
		t.Error("not one tool worked and one failed")
	}
	sent := got.list()
	if len(sent) != 2 || sent[0].Path != "/v1/chat/completions" || sent[0].Headers["authorization"] != "(hidden)" || sent[0].Headers["x-api-key"] != "" {
		t.Fatalf("%+v", sent)
	}
	var second struct {
		Model    string
		Messages []struct {
			Role       string
			Content    any
			ToolCalls  []struct{ ID string } `json:"tool_calls"`
			ToolCallID string                `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(sent[1].Body, &second); err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range second.Messages {
		roles = append(roles, m.Role)
	}
	if diff := cmp.Diff([]string{"system", "user", "assistant", "tool", "tool"}, roles); diff != "" || second.Model != "gpt-test" {
		t.Fatalf("%s: %s", second.Model, diff)
	}
	for i, call := range second.Messages[2].ToolCalls {
		if second.Messages[3+i].ToolCallID != call.ID {
			t.Errorf("result %d is of %s, not %s", i, second.Messages[3+i].ToolCallID, call.ID)
		}
	}
	if text := fmt.Sprint(second.Messages[4].Content); !strings.HasPrefix(text, "Error: ") {
		t.Errorf("the model does not hear that a tool failed: %s", text)
	}
}

// TestChatOddities has servers that only nearly speak the API.
func TestChatOddities(t *testing.T) {
	t.Parallel()
	const finished = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	for name, c := range map[string]struct {
		status int
		body   string
		text   string
		code   terret.ErrorCode
		words  string
	}{
		"thoughts by another name": {body: `data: {"choices":[{"delta":{"reasoning":"Hm."}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"Yes."}}]}` + "\n\n" + finished, text: "Yes."},
		"another choice":           {body: `data: {"choices":[{"index":1,"delta":{"content":"No."}},{"index":0,"delta":{"content":"Yes."}}]}` + "\n\n" + finished, text: "Yes."},
		"usage of null":            {body: `data: {"choices":[{"delta":{"content":"Yes."}}],"usage":null}` + "\n\n" + finished, text: "Yes."},
		"no end":                   {body: `data: {"choices":[{"delta":{"content":"Yes."}}]}` + "\n\n", code: terret.CodeConnectionFailed, words: "in the middle"},
		"an error in the middle":   {body: `data: {"choices":[{"delta":{"content":"Yes."}}]}` + "\n\n" + `data: {"error":{"message":"out of memory","type":"server_error"}}` + "\n\n", code: terret.CodeModelError, words: "out of memory"},
		"not an answer":            {body: "<html>Welcome</html>", code: terret.CodeMalformedOutput, words: "providers.own.base_url"},
		"garbage":                  {body: "data: {\n\n", code: terret.CodeMalformedOutput},
		"an error that is text":    {status: 404, body: `{"error":"model \"m\" not found, try pulling it first"}`, code: terret.CodeModelNotFound, words: "try pulling it"},
		"no credit":                {status: 429, body: `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, code: terret.CodeBilling},
		"a code that is a number":  {status: 429, body: `{"error":{"message":"Slow down","code":429}}`, code: terret.CodeRateLimited, words: "Slow down"},
		"a key is wanted":          {status: 401, body: `{"error":{"message":"No auth"}}`, code: terret.CodeNotAuthenticated, words: "none was sent"},
		"somebody else":            {status: 404, body: "not here", code: terret.CodeConnectionFailed, words: "providers.own.base_url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				_, _ = w.Write([]byte(c.body))
			}))
			t.Cleanup(server.Close)
			f := newFixture(t, setup{native: native.Config{Providers: map[string]native.Provider{"own": {BaseURL: server.URL}}}})
			events := f.run(f.session(func(s *terret.Session) { s.Model = "own/m" }), "hi")
			if c.code == "" {
				if end := last[terret.TurnComplete](t, events); end.Text != c.text {
					t.Errorf("%+v", end)
				}
				return
			}
			if e := last[terret.TurnError](t, events).Error; e.Code != c.code || !strings.Contains(e.Message, c.words) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestCallsWithoutIndex has calls that come whole, as some servers send them.
func TestCallsWithoutIndex(t *testing.T) {
	t.Parallel()
	step := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if step++; step > 1 {
			fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\n")
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","type":"function","function":{"name":"Write","arguments":"{\"file_path\":\"a.txt\",\"content\":\"1\"}"}},`+
			`{"id":"b","type":"function","function":{"name":"Write","arguments":"{\"file_path\":\"b.txt\",\"content\":\"2\"}"}}]},"finish_reason":"tool_calls"}]}`+"\n\n")
	}))
	t.Cleanup(server.Close)
	f := newFixture(t, setup{native: native.Config{Providers: map[string]native.Provider{"own": {BaseURL: server.URL}}}})
	events := f.run(f.session(func(s *terret.Session) { s.Model, s.Policy = "own/m", terret.PolicyAutoApprove }), "hi")
	var done []string
	for _, p := range all[terret.ToolPost](events) {
		done = append(done, p.ToolID)
	}
	if slices.Sort(done); !slices.Equal(done, []string{"a", "b"}) {
		t.Errorf("done: %v", done)
	}
}

func TestModelsThatAreOffered(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"big"},{"id":"org/small","context_length":4096},{"id":""}]}`)
	}))
	t.Cleanup(server.Close)
	env := map[string]string{"OWN_KEY": "k"}
	d := native.New(native.Config{
		Getenv:    func(name string) string { return env[name] },
		Providers: map[string]native.Provider{"own": {BaseURL: server.URL + "/v1", KeyEnv: "OWN_KEY"}, "gone": {BaseURL: "http://127.0.0.1:1"}, "locked": {BaseURL: server.URL, KeyEnv: "OTHER"}},
	})
	t.Cleanup(func() { _ = d.Shutdown(t.Context()) })
	models, err := d.Models(t.Context())
	var ids []string
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	if diff := cmp.Diff([]string{"demo", "own/big", "own/org/small"}, ids); diff != "" || err != nil || models[2].Context != 4096 {
		t.Errorf("%v %s", err, diff)
	}
}

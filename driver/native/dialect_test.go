package native_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// lab is a provider that speaks that API, at an address that the base belongs to.
func lab(api, base string) func(*setup) {
	return func(s *setup) {
		s.native.Providers = map[string]native.Provider{"lab": {BaseURL: s.env["ANTHROPIC_BASE_URL"] + base, KeyEnv: "OPENAI_API_KEY", API: api}}
	}
}

func inLab(s *terret.Session) { s.Model = "lab/m" }

// TestDialects has a turn with everything in each API that is not tested elsewhere: what
// is shown and counted, and what is sent back, also by an agent that is opened anew.
func TestDialects(t *testing.T) {
	t.Parallel()
	for api, c := range map[string]struct {
		base, path string
		back       []string // parts of the second request, in this order
	}{
		"responses": {"/v1", "/v1/responses", []string{
			`"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]`,
			`"type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"c2lnbg"`,
			`"type":"message","role":"assistant","content":[{"type":"output_text","text":"I will."}]`,
			`"type":"function_call","call_id":"`, `"name":"Write","arguments":"{\"content\":\"hi\",\"file_path\":\"a.txt\"}"`, `"name":"Read"`,
			`"type":"function_call_output","call_id":"`, `"output":"Created a.txt`, `"output":"Error: none.txt`,
			`"store":false`, `"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"}`,
		}},
		"gemini": {"", "/v1beta/models/m:streamGenerateContent?alt=sse", []string{
			`"systemInstruction"`, `{"role":"user","parts":[{"text":"hi"}]}`, `{"role":"model","parts":[{"text":"I will."}`,
			`"thoughtSignature":"c2ltLg"`, `"functionCall":{"id":"`, `"name":"Write"`, `"thoughtSignature"`, `"name":"Read"`,
			`"functionResponse":{"id":"`, `"name":"Write","response":{"output":"Created a.txt`, `"name":"Read","response":{"error":"none.txt`,
			`"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}`,
		}},
	} {
		t.Run(api, func(t *testing.T) {
			t.Parallel()
			f, got := simulated(t, `
steps:
  - match: {user: hi}
    answer: {thinking: Hm., signature: c2lnbg, text: I will., tools: [{name: Write, input: {file_path: a.txt, content: hi}}, {name: Read, input: {file_path: none.txt}}], usage: {input: 100, output: 20, cache_read: 7}}
  - match: {tool_result: Created a.txt}
    answer: {text: Done., usage: {input: 1, output: 2}}
  - {match: {user: more}, answer: {text: More.}}
`, lab(api, c.base))
			id := f.session(inLab, withOptions(terret.SessionOptions{Effort: "high"}))
			events := f.run(id, "hi")
			end := last[terret.TurnComplete](t, events)
			if want := (terret.Usage{Input: 101, Output: 22, CacheRead: 7}); end.Text != "Done." || end.StopReason != "end_turn" || end.Usage != want || end.NumSteps != 2 {
				t.Errorf("%+v", end)
			}
			var thought strings.Builder
			for _, d := range all[terret.ReasoningDelta](events) {
				thought.WriteString(d.Text)
			}
			var kinds []terret.BlockType
			for _, b := range all[terret.MessageComplete](events)[0].Blocks {
				kinds = append(kinds, b.Type)
			}
			if diff := cmp.Diff([]terret.BlockType{"thinking", "text", "tool_use", "tool_use"}, kinds); diff != "" || thought.String() != "Hm." {
				t.Errorf("%q: %s", thought.String(), diff)
			}
			if err := f.CloseSession(t.Context(), id, ""); err != nil {
				t.Fatal(err)
			}
			f.says(id, "more")
			for n := 1; n <= 2; n++ {
				r := got.list()[n]
				body := string(r.Body)
				if r.Path != c.path {
					t.Errorf("%s", r.Path)
				}
				for _, words := range c.back {
					i := strings.Index(body, words)
					if i < 0 {
						t.Fatalf("request %d: there is no %s, or not there, in %s", n, words, body)
					}
					body = body[i+len(words):]
				}
			}
		})
	}
}

// TestDialectsFail has answers that are errors, or not answers.
func TestDialectsFail(t *testing.T) {
	t.Parallel()
	event := func(lines ...string) string { return "data: " + strings.Join(lines, "\n\ndata: ") + "\n\n" }
	const begun = `{"type":"response.created","response":{"id":"r"}}`
	for name, c := range map[string]struct {
		api    string
		status int
		body   string
		code   terret.ErrorCode
		words  string
	}{
		"responses: failed":          {"responses", 200, event(begun, `{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow down"}}}`), terret.CodeRateLimited, "slow down"},
		"responses: an error":        {"responses", 200, "event: error\n" + event(`{"type":"error","code":"server_error","message":"oh no"}`), terret.CodeModelError, "oh no"},
		"responses: no end":          {"responses", 200, event(begun, `{"type":"response.output_text.delta","output_index":7,"delta":"x"}`), terret.CodeConnectionFailed, "in the middle"},
		"responses: something else":  {"responses", 200, "<html>", terret.CodeMalformedOutput, "providers.lab.base_url"},
		"responses: garbage":         {"responses", 200, event(begun, `{"type":`), terret.CodeMalformedOutput, ""},
		"gemini: key":                {"gemini", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, terret.CodeNotAuthenticated, "LAB_KEY"},
		"gemini: quota":              {"gemini", 429, `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}`, terret.CodeRateLimited, "Quota"},
		"gemini: busy in the middle": {"gemini", 200, event(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`, `{"error":{"code":503,"message":"try later","status":"UNAVAILABLE"}}`), terret.CodeOverloaded, "try later"},
		"gemini: refused":            {"gemini", 200, event(`{"promptFeedback":{"blockReason":"SAFETY"}}`), terret.CodeModelError, "SAFETY"},
		"gemini: no end":             {"gemini", 200, event(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`), terret.CodeConnectionFailed, "in the middle"},
		"no such api":                {"telepathy", 200, "", terret.CodeInvalidRequest, "use one of anthropic, chat, gemini, responses"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			t.Cleanup(server.Close)
			f := newFixture(t, setup{env: map[string]string{"LAB_KEY": canary}, native: native.Config{Providers: map[string]native.Provider{"lab": {BaseURL: server.URL, KeyEnv: "LAB_KEY", API: c.api}}}})
			if e := last[terret.TurnError](t, f.run(f.session(inLab), "hi")).Error; e.Code != c.code || !strings.Contains(e.Message, c.words) {
				t.Errorf("%+v", e)
			}
		})
	}
}

// TestCannotThinkElsewhere is as TestCannotThink.
func TestCannotThinkElsewhere(t *testing.T) {
	t.Parallel()
	for api, c := range map[string]struct{ base, why, asks string }{
		"responses": {"/v1", "Unsupported parameter: 'reasoning.summary' is not supported with this model.", `"reasoning":`},
		"gemini":    {"", "Thinking is not enabled for models/m", `"thinkingConfig"`},
	} {
		f, got := simulated(t, `
steps:
  - {answer: {error: {status: 400, message: "`+c.why+`"}}}
  - {match: {user: one}, answer: {text: One.}}
  - {match: {user: two}, answer: {text: Two.}}
`, lab(api, c.base))
		id := f.session(inLab)
		if one, two := f.says(id, "one"), f.says(id, "two"); one != "One." || two != "Two." {
			t.Error(one, two)
		}
		for i, asked := range []bool{true, false, false} {
			if strings.Contains(string(got.list()[i].Body), c.asks) != asked {
				t.Errorf("%s: request %d: %s", api, i, got.list()[i].Body)
			}
		}
	}
}

// TestModelsOfGemini is that the list of its models comes from the API.
func TestModelsOfGemini(t *testing.T) {
	t.Parallel()
	f, _ := simulated(t, "models: [m1, m2]\nsteps: [{answer: {text: ok}}]", func(s *setup) {
		s.env["GEMINI_API_KEY"], s.env["GOOGLE_GEMINI_BASE_URL"] = canary, s.env["ANTHROPIC_BASE_URL"]
	})
	list, err := f.driver.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range list {
		if strings.HasPrefix(m.ID, "gemini/") && m.Context > 0 {
			got = append(got, m.ID)
		}
	}
	if diff := cmp.Diff([]string{"gemini/m1", "gemini/m2"}, got); diff != "" {
		t.Error(diff)
	}
	f.says(f.session(func(s *terret.Session) { s.Model = "gemini/m1" }), "hi")
}

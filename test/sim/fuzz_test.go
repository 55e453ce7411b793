package sim_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/test/sim"
)

// FuzzParse holds that no file makes Parse panic, and that what it accepts can be
// played.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<14 {
			t.Skip()
		}
		s, err := sim.Parse("test.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "test.yaml") {
				t.Errorf("%q has no place", err)
			}
			return
		}
		p, err := sim.NewPlayer(s, map[string]string{"dir": "/tmp"})
		if err != nil {
			return
		}
		for range 3 { // without waiting
			if _, err := p.Answer(canceled(t), ask("hello")); err == nil {
				t.Error("a canceled call was answered")
			}
		}
		p.Remaining()
	})
}

// canceled makes waits end at once.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// FuzzRequest holds that no body makes the server panic or answer with 5xx.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `[]`, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`,
		`{"model":"m","max_tokens":1,"stream":true,"system":[{"type":"text","text":"s"}],"tools":[{"name":"a"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"<system-reminder>"}]},{"type":"image","source":{}}]}]}`,
		`{"model":"m","stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"x"}}]},{"role":"tool","content":"hi"}],"tools":[{"type":"function","function":{"name":"bash","parameters":{"required":["a"],"properties":{"a":{"type":"array"}}}}}]}`,
		`{"model":"m","stream":true,"input":[{"role":"user","content":"hi"},{"type":"reasoning","summary":[]},{"type":"custom_tool_call","input":"x"}],"tools":[{"type":"custom","name":"bash"}],"text":{"format":{"schema":{"type":"object"}}}}`,
		`{"contents":[{"role":"user","parts":[{"text":"hi"},{"functionResponse":{"response":{"output":"hi"}}}]}],"tools":[{"functionDeclarations":[{"name":"bash","parameters":{"type":"OBJECT"}}]}],"generationConfig":{"responseSchema":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	s := parse(f, "steps:\n  - {match: {user: /h(?P<x>.)/}, repeat: forever, answer: {text: '{{x}}{{last}}', tools: [{do: shell, input: {command: '{{x}}'}}]}}\n")
	f.Fuzz(func(t *testing.T, data []byte) {
		srv, err := sim.NewServer(s, sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{
			"/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/v1/responses",
			"/v1beta/models/m:generateContent", "/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:countTokens",
		} {
			w := httptest.NewRecorder()
			srv.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(string(data))))
			if w.Code >= 500 || w.Body.Len() == 0 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
	})
}

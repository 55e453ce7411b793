package claude

import (
	"encoding/json"
	"testing"

	"github.com/terret-dev/terret"
)

func TestPromptLine(t *testing.T) {
	t.Parallel()
	for want, blocks := range map[string][]terret.Block{
		`{"type":"user","message":{"role":"user","content":"a <b>"},"parent_tool_use_id":null,"session_id":"","uuid":"u"}`: {terret.Text("a <b>")},
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"look"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQI="}},
			{"type":"image","source":{"type":"url","url":"https://example.org/x.png"}},
			{"type":"document","title":"n.txt","source":{"type":"text","media_type":"text/plain","data":"hi"}}]},
			"parent_tool_use_id":null,"session_id":"","uuid":"u"}`: {
			terret.Text("look"),
			{Type: terret.BlockImage, MediaType: "image/png", Bytes: []byte{1, 2}},
			{Type: terret.BlockImage, URL: "https://example.org/x.png"},
			{Type: terret.BlockDocument, MediaType: "text/plain", Name: "n.txt", Bytes: []byte("hi")},
			{Type: terret.BlockToolResult, ToolID: "t"},
		},
	} {
		got := promptLine("u", blocks)
		sameJSON(t, []byte(want), got)
		var m userMessage
		if !decode(got, &m) || len(m.Message.Content) == 0 {
			t.Errorf("%s does not read back", got)
		}
	}
}

func TestRequestLine(t *testing.T) {
	t.Parallel()
	got := requestLine("req_1", map[string]string{"subtype": "interrupt"})
	sameJSON(t, []byte(`{"type":"control_request","request_id":"req_1","request":{"subtype":"interrupt"}}`), got)
}

// The recorded greeting reads as what the agent says of itself.
func TestInitializeAnswer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"control_requests", "v2_1_325_tool_allow"} {
		found := false
		for _, w := range loadRows(t, name) {
			var m controlResponse
			if decode(w.Line, &m); w.Dir != "out" || m.Response.RequestID != "req_1" {
				continue
			}
			var a initializeAnswer
			found = decode(m.Response.Response, &a)
			if len(a.Commands) == 0 || a.Commands[0].command().Name == "" || len(a.Models) == 0 || a.Models[0].Value == "" || a.Account.APIProvider == "" || a.PID == 0 {
				b, _ := json.Marshal(a)
				t.Errorf("%s: %s", name, b)
			}
		}
		if !found {
			t.Errorf("%s: no greeting", name)
		}
	}
}

package native

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// TestRequestIsOfTheAPI holds that the API's own client knows all that we send, and
// would send the same.
func TestRequestIsOfTheAPI(t *testing.T) {
	t.Parallel()
	c := &claude{endpoint: &endpoint{model: "claude-test"}}
	ours, err := json.Marshal(c.request(query{
		system: "be brief",
		tools:  []toolSpec{{name: "Read", description: "reads", schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}`)}},
		messages: []message{
			{role: terret.RoleUser, blocks: []terret.Block{
				terret.Text("look"),
				{Type: terret.BlockImage, MediaType: "image/png", Bytes: []byte("png")},
				{Type: terret.BlockImage, URL: "https://example.org/a.png"},
				{Type: terret.BlockDocument, MediaType: "application/pdf", Bytes: []byte("pdf"), Name: "a.pdf"},
				{Type: terret.BlockDocument, MediaType: "text/plain", Bytes: []byte("plain")},
				{Type: terret.BlockDocument, MediaType: "application/pdf", URL: "https://example.org/a.pdf"},
			}},
			{role: terret.RoleAssistant, blocks: []terret.Block{
				{Type: terret.BlockThinking, Text: "hm", Name: "/claude-test", Bytes: []byte("signed")},
				{Type: terret.BlockThinking, Name: "/claude-test", Bytes: []byte("signed")},
				{Type: terret.BlockThinking, Name: "/claude-test", MediaType: redacted, Bytes: []byte("data")},
				terret.Text("I will."),
				{Type: terret.BlockToolUse, ToolID: "t1", Name: "Read", Input: terret.JSON(`{"path":"a"}`)},
			}},
			{role: terret.RoleUser, blocks: []terret.Block{
				{Type: terret.BlockToolResult, ToolID: "t1", Content: []terret.Block{terret.Text("gone")}, IsError: true},
			}},
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	var params anthropic.MessageNewParams
	if err := json.Unmarshal(ours, &params); err != nil {
		t.Fatal(err)
	}
	theirs, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	var a, b map[string]any
	if err := json.Unmarshal(ours, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(theirs, &b); err != nil {
		t.Fatal(err)
	}
	b["stream"] = true // which it says by the method
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("-theirs +ours\n%s", diff)
	}
}

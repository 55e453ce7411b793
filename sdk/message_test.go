package sdk_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/sdk"
)

func TestMessageJSON(t *testing.T) {
	t.Parallel()
	parent := "p"
	at := terret.TimeOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	for want, m := range map[string]any{
		`{"type":"message","role":"assistant","content":[{"type":"text","text":"<hi>"}],"timestamp":"2026-01-02T03:04:05.000000Z","uuid":"u","parentUuid":"p"}`: &sdk.NormalizedMessage{
			Role: terret.RoleAssistant, Content: []terret.Block{terret.Text("<hi>")}, Timestamp: at, UUID: "u", ParentUUID: &parent,
		},
		`{"type":"system","subtype":"init","sessionId":"s","model":"demo","cwd":"/w","tools":["Bash"]}`: &sdk.SystemMessage{
			Subtype: "init", SessionID: "s", Model: "demo", Cwd: "/w", Tools: []string{"Bash"},
		},
		`{"type":"result","subtype":"success","isError":false,"content":"done","usage":{"input":1,"output":2,"cache_read":0,"cache_write":0,"reasoning":0},"costUsd":0.5}`: &sdk.ResultMessage{
			Subtype: "success", Content: "done", Usage: terret.Usage{Input: 1, Output: 2}, CostUSD: terret.USD / 2,
		},
		`{"type":"result","subtype":"error","isError":true,"content":"no","usage":{"input":0,"output":0,"cache_read":0,"cache_write":0,"reasoning":0},"costUsd":0,"error":{"kind":"model_error","message":"no","retryable":false}}`: &sdk.ResultMessage{
			Subtype: "error", IsError: true, Content: "no", Error: &terret.Error{Code: terret.CodeModelError, Message: "no"},
		},
		`{"type":"user","message":[{"type":"text","text":"hi"},{"type":"image","mimeType":"image/png","data":"AQI="}],"parentUuid":null,"uuid":"u","sessionId":"s"}`: sdk.UserMessage{
			Message: []sdk.Part{{Type: "text", Text: "hi"}, {Type: "image", MIMEType: "image/png", Data: []byte{1, 2}}}, Root: true, UUID: "u", SessionID: "s",
		},
		`{"type":"user","message":[{"type":"text","text":"hi"}],"parentUuid":"p","uuid":"u","sessionId":"s"}`: sdk.UserMessage{
			Message: sdk.Text("hi"), ParentUUID: &parent, UUID: "u", SessionID: "s",
		},
		`{"type":"user","message":[{"type":"text","text":"hi"}],"uuid":"","sessionId":""}`: sdk.UserMessage{Message: sdk.Text("hi")},
	} {
		var got, wanted any
		b, err := json.Marshal(m)
		if err == nil {
			err = json.Unmarshal(b, &got)
		}
		if err == nil {
			err = json.Unmarshal([]byte(want), &wanted)
		}
		if diff := cmp.Diff(wanted, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", want, err, diff)
		}
	}
}

func TestUserMessageFromJSON(t *testing.T) {
	t.Parallel()
	var got sdk.UserMessage
	err := json.Unmarshal([]byte(`{"type":"user","message":"What is it?","parentUuid":"p","uuid":"u","sessionId":"s"}`), &got)
	parent := "p"
	want := sdk.UserMessage{Message: sdk.Text("What is it?"), ParentUUID: &parent, UUID: "u", SessionID: "s"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	text, err := json.Marshal(want)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("round trip: %v\n%s", err, diff)
	}
	for text, root := range map[string]bool{
		`{"type":"user","message":"x","parentUuid":null}`: true,
		`{"type":"user","message":"x"}`:                   false,
		`{"type":"user","message":"x","parentUuid":"p"}`:  false,
	} {
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Root != root {
			t.Errorf("%s: root %v, %v", text, got.Root, err)
		}
	}
	for _, bad := range []string{`{"type":"user","message":"x","parentUuid":7}`, `{"type":"system","message":"x"}`, `{"message":"x"}`, `{"type":"user","message":7}`, `{"type":"user"}`} {
		if err := json.Unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

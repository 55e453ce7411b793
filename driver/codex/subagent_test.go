package codex

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// TestSubagent is that what a subagent does is told as its own, and that it cannot begin a
// turn when the one that started it is over.
func TestSubagent(t *testing.T) {
	t.Parallel()
	tr := newTranslator()
	tr.thread = "root"
	tr.begin(terret.Settings{}, time.Time{})
	var events []terret.Event
	hear := func(method, params string) {
		events = append(events, tr.hear(method, json.RawMessage(params), []byte(params), time.Time{})...)
	}
	hear("item/started", `{"threadId":"root","item":{"type":"collabAgentToolCall","id":"c1","tool":"spawnAgent","prompt":"look"}}`)
	hear("item/completed", `{"threadId":"root","item":{"type":"collabAgentToolCall","id":"c1","tool":"spawnAgent","prompt":"look","status":"completed","receiverThreadIds":["sub"]}}`)
	hear("item/completed", `{"threadId":"sub","item":{"type":"agentMessage","id":"m1","text":"A cat."}}`)
	hear("turn/completed", `{"threadId":"sub","turn":{"id":"t2","status":"completed"}}`)
	hear("turn/completed", `{"threadId":"root","turn":{"id":"t1","status":"completed"}}`)
	hear("item/agentMessage/delta", `{"threadId":"sub","itemId":"m2","delta":"And a dog."}`)
	got := dump(events)
	for _, want := range []string{
		`subagent.start sub:sub {"id":"sub","prompt":"look"}`, `message.complete sub:sub`,
		`subagent.stop sub:sub {"id":"sub","result":"A cat."}`, `turn.complete  {"text":""`,
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%s is there %d times:\n%s", want, strings.Count(got, want), got)
		}
	}
	if last := events[len(events)-1]; last.Kind() != terret.KindUnknown || len(last.Raw) == 0 {
		t.Errorf("after the end: %+v", last)
	}
	for _, ev := range events {
		if ev.Actor != "" && ev.ParentTool != "c1" {
			t.Errorf("%s is not of the call that started it", ev.Kind())
		}
	}
}

package opencode

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// toolPart is the part of a message that calls a tool.
func toolPart(id, tool, status string, input, metadata map[string]any) map[string]any {
	return map[string]any{"part": map[string]any{
		"id": "prt_" + id, "messageID": "msg_2", "sessionID": "ses_1", "type": "tool", "callID": id, "tool": tool,
		"state": map[string]any{"status": status, "input": input, "metadata": metadata},
	}}
}

// TestInputAfterRequest is that a request about a tool is put to a person as soon as the
// tool's input is there, and that it is not asked for again.
func TestInputAfterRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, calls := newStay(t)
		s.answers(t, "")
		got := make(chan terret.ToolPre)
		q := permissionAsked{SessionID: "ses_1", Permission: "bash", Tool: callRef{MessageID: "msg_2", CallID: "c1"}}
		go func() {
			pre, _, _ := s.toolOf(t.Context(), q)
			got <- pre
		}()
		synctest.Wait()
		s.mu.Lock()
		s.hears(t, "message.part.updated", toolPart("c1", "bash", "running", map[string]any{"command": "ls"}, nil))
		s.mu.Unlock()
		if pre := <-got; pre.Name != "bash" || string(pre.Input) != `{"command":"ls"}` {
			t.Errorf("%+v", pre)
		}
		if n := calls.made(); n != 0 {
			t.Errorf("the server was asked: %v", calls.calls)
		}
	})
}

// TestSubagentBeforeItsCall is that what a subagent says belongs to the call that started
// it, also if the message began before it was known which call that is.
func TestSubagentBeforeItsCall(t *testing.T) {
	t.Parallel()
	type o = map[string]any
	s, _, _ := newStay(t)
	s.answers(t, "")
	s.hears(t, "message.updated", o{"info": o{"id": "msg_3", "sessionID": "ses_2", "role": "assistant"}})
	s.hears(t, "message.part.updated", toolPart("c1", "task", "running", o{"subagent_type": "explore"}, o{"sessionId": "ses_2"}))
	tell := func(session, message string) (of string) {
		for _, ev := range s.hears(t, "message.part.updated", o{"part": o{"id": "prt_of_" + message, "messageID": message, "sessionID": session, "type": "text", "text": "Well."}}) {
			if _, ok := ev.Data.(terret.MessageDelta); ok {
				of += ev.Actor + " " + ev.ParentTool
			}
		}
		return of
	}
	if got, want := tell("ses_2", "msg_3"), terret.SubActor("ses_2")+" c1"; got != want {
		t.Errorf("what the subagent says is told of %q, not %q", got, want)
	}
	if got := tell("ses_1", "msg_2"); got != " " {
		t.Errorf("what the agent itself says is told of %q", got)
	}
}

// TestBrokenOff is what is told of calls that the end of the turn cuts off: each fails
// once, after its input if that was known.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	type o = map[string]any
	s, _, _ := newStay(t)
	s.answers(t, "")
	var all []terret.Event
	for _, p := range []o{
		toolPart("c1", "read", "running", o{"filePath": "/p/a"}, nil), // waits for rules, which would tell it
		toolPart("c2", "bash", "pending", nil, nil),
		toolPart("c3", "bash", "running", o{"command": "ls"}, nil),
		toolPart("c4", "bash", "completed", o{"command": "ls"}, nil),
	} {
		all = append(all, s.hears(t, "message.part.updated", p)...)
	}
	s.t.call("c5") // that only a request has named
	all = append(all, s.t.end(nil, time.Now())...)
	var got []string
	for _, ev := range all {
		switch d := ev.Data.(type) {
		case terret.ToolPre:
			got = append(got, "input of "+d.ToolID)
		case terret.ToolPost:
			got = append(got, "result of "+d.ToolID)
		case terret.ToolFailure:
			got = append(got, "failure of "+d.ToolID)
		}
	}
	want := []string{"input of c3", "input of c4", "result of c4", "input of c1", "failure of c1", "failure of c2", "failure of c3"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRetryIsToldOnce is that each attempt of the model's API is told once.
func TestRetryIsToldOnce(t *testing.T) {
	t.Parallel()
	type o = map[string]any
	s, _, _ := newStay(t)
	var got []string
	for _, status := range []o{
		{"type": "retry", "attempt": 1}, {"type": "retry", "attempt": 1}, {"type": "busy", "attempt": 3}, {"type": "retry", "attempt": 2}, {"type": "retry", "attempt": 1},
	} {
		got = append(got, story(s.hears(t, "session.status", o{"sessionID": "ses_1", "status": status}))...)
	}
	if want := []string{"retry 1", "retry 2"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

package claude

import (
	"reflect"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestParse is that a line means the same however it is written, and that the kind of
// a line is guessed right as the agent writes it.
func TestParse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"duration_ms":1,"type":"result","is_error":true}`:    "result",
		`{"x":{"type":"result"},"type":"user"}`:                "user",
		`{"type":"user","message":{},"type":"assistant"}`:      "assistant",
		`{"type":"system","uuid":"u","subtype":"status"}`:      "system/status",
		`{"type":"system","subtype":"init","subtype":"other"}`: "system/other",
		`{"hook_event_name":"Stop"}`:                           "Stop",
		`{"type":"\u0075ser"}`:                                 "user",
		`{"type":7}`:                                           "",
	} {
		m, ok := parse([]byte(line))
		if !ok || m.head().name() != want || reflect.TypeOf(m) != reflect.TypeOf(messageOf(m.head().Type, m.head().Subtype)) {
			t.Errorf("%s: %T %+v", line, m, m)
		}
	}
	for _, line := range []string{``, `x`, `[]`, `{"type":"user"`, `{"type":"user"} x`, `"user"`} {
		if _, ok := parse([]byte(line)); ok {
			t.Errorf("%q is a message", line)
		}
	}
}

// TestOpenings: each turn opens with a line about the session, and only what changed in it is told.
func TestOpenings(t *testing.T) {
	line := func(model, id string) string {
		return `{"type":"system","subtype":"init","cwd":"/w","session_id":"s1","model":"` + model +
			`","permissionMode":"default","tools":["Bash"],"uuid":"` + id + `","fast":"off"}`
	}
	tr := newTranslator(options{})
	feed(tr, line("m", "u1"))
	if events := feed(tr, line("m", "u2")); len(events) != 0 || tr.head.UUID != "u2" {
		t.Errorf("the same again: id %s, events %v", tr.head.UUID, events)
	}
	feed(tr, `{"type":"system","subtype":"status","permissionMode":"plan","session_id":"s1"}`)
	if events := feed(tr, line("m", "u3")); len(events) != 1 || *events[0].Data.(terret.SessionUpdated).PermissionMode != "default" {
		t.Errorf("back in the mode of the last opening: %v", events)
	}
	if events := feed(tr, line("n", "u4")); len(events) != 1 || *events[0].Data.(terret.SessionUpdated).Model != "n" {
		t.Errorf("another model: %v", events)
	}
}

// TestDeepLine holds that no line is nested too deeply to be read, or refused.
func TestDeepLine(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{100, 9_000, 11_000, 10_000_000} {
		line := []byte(`{"type":"stream_event","a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`)
		if _, ok := parse(line); ok != (depth < 10_000) {
			t.Errorf("%d levels can be read: %v", depth, ok)
		}
	}
}

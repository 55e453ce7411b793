package claude

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestParse is that a line means the same however it is written, and that the kind of
// a line is guessed right as the agent writes it.
func TestParse(t *testing.T) {
	t.Parallel()
	guessed := 0
	for _, r := range loadRecordings(t) {
		for i, w := range r.rows {
			var line bytes.Buffer
			if w.Dir != "out" || json.Compact(&line, w.Line) != nil {
				continue
			}
			spaced, ok := parse(append([]byte(`{ `), bytes.TrimPrefix(line.Bytes(), []byte(`{`))...))
			dense, okDense := parse(line.Bytes())
			if ok != okDense {
				t.Fatalf("%s, line %d: %v and %v", r.name, i+1, ok, okDense)
			}
			if !ok {
				continue // it is not an object
			}
			if !reflect.DeepEqual(spaced, dense) {
				t.Errorf("%s, line %d: %+v\nand %+v", r.name, i+1, spaced, dense)
			}
			h := dense.head()
			if typ, subtype := peek(line.Bytes()); bytes.HasPrefix(line.Bytes(), []byte(`{"type":`)) && (typ != h.Type || typ == "system" && subtype != h.Subtype) {
				t.Errorf("%s, line %d: guessed %s/%s, is %s", r.name, i+1, typ, subtype, h.name())
			} else if typ != "" {
				guessed++
			}
		}
	}
	if guessed < 1000 {
		t.Errorf("only %d lines were guessed", guessed)
	}
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

// TestSameOpening: a line that opens a turn as the last one did is not decoded again,
// and means what it says all the same.
func TestSameOpening(t *testing.T) {
	line := func(model, id string) string {
		return `{"type":"system","subtype":"init","cwd":"/w","session_id":"s1","model":"` + model +
			`","permissionMode":"default","tools":["Bash"],"uuid":"` + id + `","fast":"off"}`
	}
	tr := newTranslator(options{})
	feed(tr, line("m", "u1"))
	decoded := tr.opening.m
	if events := feed(tr, line("m", "u2")); len(events) != 0 || tr.head.UUID != "u2" {
		t.Errorf("the same again: id %s, events %v", tr.head.UUID, events)
	}
	if tr.opening.m != decoded {
		t.Error("it was decoded again")
	}
	feed(tr, `{"type":"system","subtype":"status","permissionMode":"plan","session_id":"s1"}`)
	if events := feed(tr, line("m", "u3")); len(events) != 1 || *events[0].Data.(terret.SessionUpdated).PermissionMode != "default" {
		t.Errorf("back in the mode of the last opening: %v", events)
	}
	if events := feed(tr, line("n", "u4")); len(events) != 1 || *events[0].Data.(terret.SessionUpdated).Model != "n" {
		t.Errorf("another model in a line of the same length: %v", events)
	}
	for _, odd := range []string{
		line("n", `u\"`), strings.Replace(line("n", "u5"), "off", "on!", 1), strings.Replace(line("n", "u5"), `,"uuid":"u5"`, `,"uuid": "u"`, 1),
	} {
		decoded = tr.opening.m
		if feed(tr, odd); tr.opening.m == decoded {
			t.Errorf("not decoded: %s", odd)
		}
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

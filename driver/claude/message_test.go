package claude

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
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

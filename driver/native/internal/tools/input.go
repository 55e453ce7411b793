package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// args are the fields of an input. Its methods remember the first error; done returns
// it.
type args struct {
	tool   string
	known  []string
	fields map[string]json.RawMessage
	err    error
}

// parse reads an input strictly: one object, only known fields, exact spelling, each at
// most once. A null field counts as absent.
func parse(tool string, input json.RawMessage, known ...string) *args {
	a := &args{tool: tool, known: known, fields: map[string]json.RawMessage{}}
	dec := json.NewDecoder(bytes.NewReader(input))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		a.fail("the input must be a JSON object")
		return a
	}
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		name, _ := key.(string)
		var value json.RawMessage
		if err == nil {
			err = dec.Decode(&value)
		}
		if err != nil {
			a.fail("the input is not valid JSON: %v", err)
			return a
		}
		if seen[name] {
			a.fail("the field %q is set twice", name)
		}
		seen[name] = true
		a.take(name, value)
	}
	if _, err := dec.Token(); err != nil {
		a.fail("the input is not valid JSON: %v", err)
	} else if _, err := dec.Token(); err != io.EOF {
		a.fail("there is data after the JSON object")
	}
	return a
}

func (a *args) take(name string, value json.RawMessage) {
	if slices.Contains(a.known, name) {
		if string(value) != "null" {
			a.fields[name] = value
		}
		return
	}
	a.fail("there is no field %q", name)
}

// fail notes what is wrong, if it is the first.
func (a *args) fail(format string, v ...any) {
	if a.err == nil {
		a.err = fmt.Errorf("%s: %s. Its fields are: %s", a.tool, fmt.Sprintf(format, v...), strings.Join(a.known, ", "))
	}
}

// done returns what is wrong with the input, or nil.
func (a *args) done() error { return a.err }

func (a *args) has(name string) bool {
	_, ok := a.fields[name]
	return ok
}

// text is a field that must be there. It may be empty.
func (a *args) text(name string) string {
	if !a.has(name) {
		a.fail("the field %q is missing", name)
	}
	return a.optionalText(name)
}

// optionalText is empty when the field is absent.
func (a *args) optionalText(name string) (s string) {
	if raw, ok := a.fields[name]; ok && json.Unmarshal(raw, &s) != nil {
		a.fail("%s must be a string", name)
	}
	return s
}

// flag is false when the field is absent.
func (a *args) flag(name string) (b bool) {
	if raw, ok := a.fields[name]; ok && json.Unmarshal(raw, &b) != nil {
		a.fail("%s must be true or false", name)
	}
	return b
}

// list is nil when the field is absent.
func (a *args) list(name string) (l []string) {
	if raw, ok := a.fields[name]; ok && json.Unmarshal(raw, &l) != nil {
		a.fail("%s must be a list of strings", name)
	}
	return l
}

// number is a whole number within bounds, or otherwise when the field is absent.
func (a *args) number(name string, least, most, otherwise int) int {
	raw, ok := a.fields[name]
	if !ok {
		return otherwise
	}
	var f float64
	if json.Unmarshal(raw, &f) != nil || f != math.Trunc(f) {
		a.fail("%s must be a whole number", name)
		return otherwise
	}
	if f < float64(least) || f > float64(most) {
		a.fail("%s must be between %d and %d", name, least, most)
		return otherwise
	}
	return int(f)
}

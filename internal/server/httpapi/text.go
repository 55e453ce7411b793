package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/terret-dev/terret"
)

func nonEmpty(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func badCursor() error {
	return terret.Invalid("cursor", "not a cursor from a list; leave it out to start from the beginning")
}

// unlessNull is JSON that a caller sent, without the null that some write for nothing.
func unlessNull(j terret.JSON) terret.JSON {
	if string(bytes.TrimSpace(j)) == "null" {
		return nil
	}
	return j
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// indented is JSON for people, without HTML escapes.
func indented(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// Through a value, so that the keys are sorted: the file is compared.
	var whole any
	if err := json.Unmarshal(b, &whole); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(whole)
	return out.Bytes(), err
}

// maxName bounds names and ids that callers give.
const maxName = 512

// checkName rejects what is too long for a name, or not a single word. Empty is fine:
// it means unset.
func checkName(field, v string) error {
	if len(v) > maxName {
		return tooLarge(field, "it must not be longer than %d bytes", maxName)
	}
	return terret.CheckWord(field, v)
}

func checkNames(field string, list []string) error {
	for _, v := range list {
		if v == "" {
			return terret.Invalid(field, "it contains an empty name")
		}
		if err := checkName(field, v); err != nil {
			return err
		}
	}
	return nil
}

// checkID rejects what cannot be a session id.
func checkID(id string) error {
	if !terret.ValidID("", id) {
		return terret.Errorf(terret.CodeSessionNotFound, "there is no session %.64q", id)
	}
	return nil
}

// oneLine is JSON without line breaks. Only an agent's own message can have some.
func oneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 {
		return b
	}
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return bytes.ReplaceAll(b, []byte("\n"), []byte(" "))
	}
	return out.Bytes()
}

// jsonLine is JSON on one line, without HTML escapes.
func jsonLine(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

package terret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Encode returns the bytes that a store keeps: the JSON form without sequence
// number and raw message, always an object and always valid UTF-8.
func (e Event) Encode() ([]byte, error) {
	if e.Data == nil {
		return nil, Errorf(CodeInternal, "event without data in session %s", e.Session)
	}
	w := envelope{
		V: e.V, Session: e.Session, Turn: e.Turn, By: e.By, Time: e.Time, Kind: e.Kind(),
		Actor: e.Actor, ParentTool: e.ParentTool, Expects: e.Expects,
		Visibility: e.Visibility, Source: e.Source, Data: e.Data,
	}
	if o, ok := e.Data.(Opaque); ok {
		if o.Name == "" {
			return nil, Errorf(CodeInternal, "event without a kind in session %s", e.Session)
		}
		w.Data = o.JSON
	}
	if w.V == 0 {
		w.V = Version
	}
	if w.Actor == "" {
		w.Actor = ActorRoot
	}
	if w.Visibility == "" {
		w.Visibility = w.Kind.Visibility()
	}
	body, err := marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", w.Kind, err)
	}
	if !utf8.Valid(body) { // raw JSON from an agent may hold anything
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return body, nil
}

// marshal is json.Marshal without HTML escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

package terret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Encode returns the bytes that a store keeps: the JSON form without sequence
// number and raw message, always an object and always valid UTF-8.
func (e Event) Encode() ([]byte, error) {
	if e.Data == nil {
		return nil, Errorf(CodeInternal, "event without data in session %s", e.Session)
	}
	var data any = e.Data
	if o, ok := e.Data.(Opaque); ok {
		if o.Name == "" {
			return nil, Errorf(CodeInternal, "event without a kind in session %s", e.Session)
		}
		data = o.JSON
	}
	w := writers.Get().(*jsonWriter)
	defer w.release()
	if err := e.encode(w, data); err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.Kind(), err)
	}
	body := bytes.Clone(w.buf.Bytes())
	if !utf8.Valid(body) { // raw JSON from an agent may hold anything
		body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
	}
	return body, nil
}

// encode writes what encoding/json would write for the envelope, field by field. That is
// most of an event, and by reflection it takes five times as long as the data.
func (e Event) encode(w *jsonWriter, data any) error {
	v, actor, visibility := e.V, e.Actor, e.Visibility
	if v == 0 {
		v = Version
	}
	if actor == "" {
		actor = ActorRoot
	}
	if visibility == "" {
		visibility = e.Kind().Visibility()
	}
	b := append(w.buf.AvailableBuffer(), `{"v":`...)
	b = strconv.AppendInt(b, int64(v), 10)
	b = appendField(b, `,"session":`, e.Session)
	b = appendOptional(b, `,"turn":`, e.Turn)
	b = appendOptional(b, `,"by":`, e.By)
	b = append(b, `,"time":`...)
	b = e.Time.appendJSON(b)
	b = appendField(b, `,"kind":`, string(e.Kind()))
	b = appendField(b, `,"actor":`, actor)
	b = appendOptional(b, `,"parent_tool":`, e.ParentTool)
	w.buf.Write(b)
	if e.Expects != nil {
		w.buf.WriteString(`,"expects":`)
		if err := w.value(e.Expects); err != nil {
			return err
		}
	}
	b = appendField(w.buf.AvailableBuffer(), `,"visibility":`, string(visibility))
	b = appendOptional(b, `,"source":`, e.Source)
	b = append(b, `,"data":`...)
	w.buf.Write(b)
	if err := w.value(data); err != nil {
		return err
	}
	return w.buf.WriteByte('}')
}

func appendOptional(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	return appendField(b, name, value)
}

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, jsonString(value)...)
		}
	}
	b = append(b, '"')
	b = append(b, value...)
	return append(b, '"')
}

// jsonWriter writes JSON without escaping HTML.
type jsonWriter struct {
	buf bytes.Buffer
	enc *json.Encoder
}

var writers = sync.Pool{New: func() any {
	w := &jsonWriter{}
	w.buf.Grow(1 << 10)
	w.enc = json.NewEncoder(&w.buf)
	w.enc.SetEscapeHTML(false)
	return w
}}

// release gives the writer back, unless it has grown large.
func (w *jsonWriter) release() {
	if w.buf.Cap() <= 64<<10 {
		w.buf.Reset()
		writers.Put(w)
	}
}

// value writes a value, without the line break that the encoder adds.
func (w *jsonWriter) value(v any) error {
	if err := w.enc.Encode(v); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1)
	return nil
}

// jsonString encodes a string, as the log does.
func jsonString(s string) []byte {
	w := writers.Get().(*jsonWriter)
	defer w.release()
	if err := w.value(s); err != nil {
		panic(err) // a string always encodes
	}
	return bytes.Clone(w.buf.Bytes())
}

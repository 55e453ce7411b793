package ndjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Values that a Writer refuses. Nothing of a refused value is written.
var (
	ErrNewline = errors.New("ndjson: the value holds a raw line break and would be read as two lines; compact it first")
	ErrInvalid = errors.New("ndjson: the value is not valid JSON")
)

// Writer writes one JSON value per line. It is safe for concurrent use; see the
// package comment.
type Writer struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
	err error // set once part of a line is out: what follows would be glued to it
}

// NewWriter returns a Writer to w, which it does not close.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w} }

// Encode marshals v and writes it as one line. It does not escape HTML.
func (w *Writer) Encode(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("ndjson: encode %T: %w", v, err)
	}
	return w.WriteRaw(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

// WriteRaw writes value, a JSON text on one line, followed by "\n". It refuses
// a value with a raw line break (ErrNewline) or that is not JSON (ErrInvalid).
// It keeps no reference to value. After a write that stopped half way every
// later call returns that error, since the stream is no longer in step.
func (w *Writer) WriteRaw(value []byte) error {
	if bytes.ContainsAny(value, "\r\n") {
		return ErrNewline
	}
	if !json.Valid(value) {
		return ErrInvalid
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.buf = append(append(w.buf[:0], value...), '\n')
	n, err := w.w.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		err = fmt.Errorf("ndjson: write a line of %d bytes: %w", len(w.buf), err)
		if n > 0 {
			w.err = err
		}
	}
	if cap(w.buf) > keepSize {
		w.buf = nil
	}
	return err
}

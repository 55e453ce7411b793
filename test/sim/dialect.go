package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Dialect is one model API. It translates, keeps no state, and decides nothing; the
// server reads, records, finds the answer and writes.
type Dialect interface {
	// Routes are the patterns (of http.ServeMux) that it serves. Those with a nil Aside
	// ask the model.
	Routes() map[string]Aside
	// Decode reads a request to the model. Its error is an *Error.
	Decode(r *http.Request, body []byte) (Request, error)
	// Write writes the reply, streamed or in one piece as the request asks. It writes
	// an *Error in mid-stream as its API does, and returns all other errors; then the
	// server cuts the connection.
	Write(ctx context.Context, out *Output, req Request, reply Reply) error
	// Error is the body of an error, to be written as JSON.
	Error(e *Error, requestID string) any
}

// Aside answers requests that do not ask the model, such as the list of models. Its
// result is written as JSON. Its error is an *Error, or errAskModel if the request does
// ask the model.
type Aside func(s *Scenario, r *http.Request, body []byte) (any, error)

// errAskModel is returned by an Aside for a request to the model.
var errAskModel = errors.New("sim: this is asked of the model")

// Output writes one answer. Only one goroutine may use it.
type Output struct {
	w         http.ResponseWriter
	requestID string
	streaming bool
}

// RequestID is the id of the request, for errors in mid-stream.
func (o *Output) RequestID() string { return o.requestID }

// Event writes a server-sent event and flushes it. The first one begins the answer. An
// empty name writes only the data.
func (o *Output) Event(name string, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	var line strings.Builder
	if name != "" {
		line.WriteString("event: " + name + "\n")
	}
	line.WriteString("data: ")
	line.Write(data)
	line.WriteString("\n\n")
	return o.Raw(line.String())
}

// Raw writes text into the stream unchanged and flushes it.
func (o *Output) Raw(text string) error {
	if !o.streaming {
		o.streaming = true
		o.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		o.w.Header().Set("Cache-Control", "no-cache")
		o.w.WriteHeader(http.StatusOK)
	}
	if _, err := o.w.Write([]byte(text)); err != nil {
		return err
	}
	return http.NewResponseController(o.w).Flush()
}

// Whole writes v as the answer, after as long as playing the reply takes. The reply's
// noise follows it. An *Error of the reply is returned before anything is written; if
// the connection is dropped, half of v has been written.
func (o *Output) Whole(ctx context.Context, reply Reply, v any) error {
	body, err := encode(v)
	if err != nil {
		return err
	}
	for ev, err := range reply.Events(ctx) {
		if errors.Is(err, ErrDropped) {
			o.start(len(body))
			if _, err := o.w.Write(body[:len(body)/2]); err != nil {
				return err
			}
			return errors.Join(ErrDropped, http.NewResponseController(o.w).Flush())
		}
		if err != nil {
			return err
		}
		if ev.Kind == Noise {
			body = append(body, ev.Text...)
		}
	}
	o.start(len(body))
	_, err = o.w.Write(body)
	return err
}

func (o *Output) start(length int) {
	o.w.Header().Set("Content-Type", "application/json")
	o.w.Header().Set("Content-Length", strconv.Itoa(length))
	o.w.WriteHeader(http.StatusOK)
}

// encode is JSON on one line, without HTML escapes.
func encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

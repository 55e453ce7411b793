package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/terret-dev/terret/internal/server/access"
)

// formats are huma's, with errors that people understand.
func formats() map[string]huma.Format {
	all := maps.Clone(huma.DefaultFormats)
	for name, f := range all {
		f.Unmarshal = func(b []byte, v any) error {
			err := json.Unmarshal(b, v)
			if fault, cause := jsonFault(err); cause != nil {
				return errors.New(fault)
			}
			if _, first := v.(*any); !first || err != nil { // huma reads it once more
				return err
			}
			if name, ok := repeated(b); ok {
				return fmt.Errorf("%.64s: given more than once", name)
			}
			return nil
		}
		all[name] = f
	}
	return all
}

// repeated finds a field that an object has more than once: one of its values would be
// checked and the other used. Names of the body's own fields are the same in capitals.
func repeated(b []byte) (name string, ok bool) {
	type object struct {
		seen  map[string]bool // nil in a list
		value bool            // the value of a field comes next
	}
	var in []object
	for dec := json.NewDecoder(bytes.NewReader(b)); ; {
		token, err := dec.Token()
		if err != nil {
			return "", false // the end; what is wrong with it was found before
		}
		at := len(in) - 1
		if name, isText := token.(string); isText && at >= 0 && in[at].seen != nil && !in[at].value {
			key := name
			if at == 0 {
				key = strings.ToLower(name)
			}
			if in[at].seen[key] {
				return name, true
			}
			in[at].seen[key], in[at].value = true, true
			continue
		}
		if at >= 0 {
			in[at].value = false
		}
		switch token {
		case json.Delim('{'):
			in = append(in, object{seen: map[string]bool{}})
		case json.Delim('['):
			in = append(in, object{})
		case json.Delim('}'), json.Delim(']'):
			in = in[:at]
		}
	}
}

// jsonFault says in plain words what package json finds wrong with JSON, which is the
// cause. That is nil if the error is about something else.
func jsonFault(err error) (text string, cause error) {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text = "wrong type of value: " + e.Value
		if number, ok := strings.CutPrefix(e.Value, "number "); ok {
			text = number + " is too large, or not a whole number"
		}
		if e.Field != "" {
			text = e.Field + ": " + text
		}
		return text, e
	}
	e, ok := errors.AsType[*json.SyntaxError](err)
	switch {
	case !ok:
		return "", nil
	case strings.Contains(e.Error(), "max depth"):
		return "the JSON is nested too deeply", e
	case strings.Contains(e.Error(), "unexpected end"):
		return "the JSON ends too early", e
	}
	return fmt.Sprintf("this is not valid JSON: see byte %d", e.Offset), e
}

// humaContext has a name that does not hide the method Context.
type humaContext huma.Context

// receiving is the context of a request whose body may break off, which huma takes for a
// failure of the server.
type receiving struct {
	humaContext
	err error // why the body could not be read to its end
}

// receive lets the rest of a route know what becomes of the body.
func receive(c huma.Context, next func(huma.Context)) { next(&receiving{humaContext: c}) }

// Unwrap is for humago.Unwrap.
func (c *receiving) Unwrap() huma.Context { return c.humaContext }

// BodyReader implements huma.Context.
func (c *receiving) BodyReader() io.Reader { return &receivedBody{c.humaContext.BodyReader(), c} }

// SetStatus implements huma.Context.
func (c *receiving) SetStatus(status int) {
	if c.err != nil && status == http.StatusInternalServerError {
		status = c.problem().Status
	}
	c.humaContext.SetStatus(status)
}

// problem is about the body that could not be read.
func (c *receiving) problem() *Problem {
	if e, ok := errors.AsType[*access.ValuesError](c.err); ok {
		return plainProblem(http.StatusRequestEntityTooLarge, e.Error())
	}
	if e, ok := errors.AsType[*http.MaxBytesError](c.err); ok {
		return plainProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes, which is the maximum", e.Limit))
	}
	if e, ok := errors.AsType[net.Error](c.err); ok && e.Timeout() {
		return plainProblem(http.StatusRequestTimeout, "the body took too long to arrive; send the request again")
	}
	return plainProblem(http.StatusBadRequest, "the body ended early, or does not match its headers; send the request again")
}

// receivedBody tells its context why it cannot be read further.
type receivedBody struct {
	io.Reader
	to *receiving
}

func (b *receivedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.to.err = err
	}
	return n, err
}

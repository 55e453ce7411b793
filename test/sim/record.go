package sim

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/ndjson"
)

// Recorded is one request as it came. Header values that carry credentials are
// replaced.
type Recorded struct {
	Time    time.Time         `json:"time"`
	Number  int               `json:"number"` // from 1 on
	Method  string            `json:"method"`
	Path    string            `json:"path"` // with the query
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body,omitempty"` // if it is JSON
	Text    string            `json:"text,omitempty"` // if it is not
	Step    string            `json:"step,omitempty"` // which step answers; "side call"; "no step"
	Error   string            `json:"error,omitempty"`
	// Request is what the model was asked, independent of the API. It is nil for
	// requests answered aside and for unreadable ones.
	Request *Request `json:"-"`
}

// RecordTo returns an Options.Record that writes one line of JSON for each request. It
// does not close w.
func RecordTo(w io.Writer) func(Recorded) error {
	lines := ndjson.NewWriter(w)
	return func(r Recorded) error { return lines.Encode(r) }
}

func recorded(r *http.Request, number int, body []byte) Recorded {
	out := Recorded{Time: time.Now(), Number: number, Method: r.Method, Path: r.URL.RequestURI(), Headers: map[string]string{}}
	for name, values := range r.Header {
		value := strings.Join(values, ", ")
		if secret(name) {
			value = "(hidden)"
		}
		out.Headers[strings.ToLower(name)] = value
	}
	if _, ok := r.URL.Query()["key"]; ok {
		out.Path = r.URL.Path
	}
	var compact bytes.Buffer
	switch {
	case len(body) == 0:
	case json.Compact(&compact, body) == nil:
		out.Body = compact.Bytes()
	default:
		out.Text = string(body)
	}
	return out
}

func secret(header string) bool {
	name := strings.ToLower(header)
	return name == "cookie" || strings.Contains(name, "authorization") || strings.Contains(name, "api-key") || strings.Contains(name, "token")
}

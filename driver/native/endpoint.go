package native

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/sse"
)

const (
	maxEvent     = 32 << 20 // bytes
	maxErrorBody = 1 << 20  // bytes
)

// endpoint is a provider's API for one model.
type endpoint struct {
	dialect
	provider provider
	model    string // as the API knows it
	card     card
	base     *url.URL
	header   http.Header
	client   *http.Client
	secrets  *redact.Redactor // of errors
}

// id is the model's name with that of the provider.
func (e *endpoint) id() string { return e.provider.name + "/" + e.model }

// ask sends a request and passes the events of the answer on. If take returns an error
// that says that it is garbage, begun tells whether an answer had begun.
func (e *endpoint) ask(ctx context.Context, path string, request any, begun func() bool, take func(name string, data []byte) error) error {
	body, err := json.Marshal(request)
	if err != nil {
		return terret.Errorf(terret.CodeInternal, "write down the request: %w", err)
	}
	path, values, _ := strings.Cut(path, "?")
	to := e.base.JoinPath(path)
	if values != "" {
		to.RawQuery = values
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return e.apiError(err, false)
	}
	r.Header = e.header.Clone()
	res, err := e.client.Do(r)
	if err != nil {
		return e.apiError(err, false)
	}
	defer func() { _ = res.Body.Close() }() // its end is known by then
	if res.StatusCode >= http.StatusBadRequest {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // a part says something too
		return e.apiError(&wireError{res, body}, false)
	}
	for ev, err := range sse.Read(res.Body, maxEvent) {
		if err != nil {
			return e.apiError(err, begun())
		}
		if len(ev.Data) == 0 {
			continue
		}
		if ev.Name == "error" || isError(ev.Data) {
			return e.apiError(&wireError{res, bytes.Clone(ev.Data)}, begun())
		}
		if err := take(ev.Name, ev.Data); err != nil {
			return err
		}
	}
	return nil
}

// isError reports whether an event of an answer is an error in place of a piece.
func isError(data []byte) bool {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte(`{"error"`)) { // nearly all are pieces
		return false
	}
	var body struct {
		Error *struct{ Message string }
	}
	return json.Unmarshal(data, &body) == nil && body.Error != nil
}

// finish is the answer of a request that ended so, of which that much came.
func (e *endpoint) finish(ctx context.Context, err error, begun bool, r reply) (reply, error) {
	only := reply{usage: r.usage, cost: r.cost}
	switch {
	case err != nil && ctx.Err() != nil:
		return only, context.Cause(ctx)
	case err != nil:
		return only, err
	case !begun:
		return only, e.garbage(false, "it is not an answer of a model")
	case r.stopReason == "":
		return only, &terret.Error{Code: terret.CodeConnectionFailed, Retryable: true, Message: "the API closed the connection in the middle of an answer"}
	}
	return r, nil
}

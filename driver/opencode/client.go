package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

const (
	// callPatience bounds calls that the server answers at once. It may be busy with
	// loading a folder.
	callPatience = 60 * time.Second
	// answerLimit bounds what is read of an answer, in bytes.
	answerLimit = 256 << 20
	userName    = "opencode"
)

// client talks to a server about one folder. It is safe for concurrent use.
type client struct {
	base     string
	password string
	dir      string // may be empty
	http     *http.Client
}

// newHTTP makes the client of one server. It never uses a proxy: the server is on
// this machine.
func newHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true,
	}}
}

// callError is an answer that is an error.
type callError struct {
	status  int
	name    string // NotFoundError, SessionBusyError and so on
	message string
}

func (e *callError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("OpenCode's server answered %d %s", e.status, e.name)
	}
	return "OpenCode's server answered: " + e.message
}

// isStatus reports whether an error is an answer with that status.
func isStatus(err error, status int) bool {
	e, ok := errors.AsType[*callError](err)
	return ok && e.status == status
}

// get, post and patch make a call and read the answer, unless into is nil.
func (c *client) get(ctx context.Context, path string, into any) error {
	return c.call(ctx, http.MethodGet, path, nil, into)
}

func (c *client) post(ctx context.Context, path string, body, into any) error {
	return c.call(ctx, http.MethodPost, path, body, into)
}

func (c *client) patch(ctx context.Context, path string, body any) error {
	return c.call(ctx, http.MethodPatch, path, body, nil)
}

// call is bounded by callPatience. See wait for calls that last as long as a turn.
func (c *client) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callPatience, terret.Errorf(terret.CodeTimeout,
		"OpenCode's server did not answer within %s", callPatience))
	defer cancel()
	return c.wait(ctx, method, path, body, into)
}

// wait makes a call for as long as it takes.
func (c *client) wait(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	if err != nil {
		return unreachable(ctx, err)
	}
	if resp.StatusCode >= 300 {
		return errorOf(resp.StatusCode, answer)
	}
	if into == nil || len(answer) == 0 {
		return nil
	}
	answer = c.without(answer)
	// Paths that the server does not know are answered with a page for people.
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind != "application/json" {
		return terret.Errorf(terret.CodeMalformedOutput, "OpenCode's server answered %s with %q where JSON should be; is its version one that is supported?", path, kind)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return terret.Errorf(terret.CodeMalformedOutput, "OpenCode's server gave an answer to %s that cannot be read: %w", path, err)
	}
	return nil
}

// without is a copy of what the server says, without the password: commands that the
// agent runs can see it, and print it.
func (c *client) without(said []byte) []byte {
	if c.password == "" {
		return bytes.Clone(said)
	}
	return bytes.ReplaceAll(said, []byte(c.password), []byte("[redacted]"))
}

func (c *client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	target := c.base + path
	if c.dir != "" {
		mark := "?"
		if strings.Contains(path, "?") {
			mark = "&"
		}
		target += mark + "directory=" + url.QueryEscape(c.dir)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, content)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.SetBasicAuth(userName, c.password)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	return resp, nil
}

// unreachable says why a call failed, without the address.
func unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return terret.Errorf(terret.CodeConnectionFailed, "OpenCode's server cannot be reached: %w", err)
}

// errorOf reads the two shapes that errors have.
func errorOf(status int, body []byte) error {
	var e struct {
		Name    string `json:"name"`
		Tag     string `json:"_tag"`
		Message string `json:"message"`
		Data    struct {
			Message string `json:"message"`
		} `json:"data"`
	}
	seat.Decode(body, &e)
	if status == http.StatusUnauthorized {
		return terret.Errorf(terret.CodeConnectionFailed, "OpenCode's server refused our password: another program may have taken its port")
	}
	out := &callError{status: status, name: e.Name + e.Tag, message: e.Data.Message + e.Message}
	return out
}

// messages are those of a session, oldest first: all, or the newest so many.
func (c *client) messages(ctx context.Context, session string, limit int) ([]storedMessage, error) {
	path := "/session/" + session + "/message"
	if limit > 0 {
		path += fmt.Sprintf("?limit=%d", limit)
	}
	var out []storedMessage
	return out, c.get(ctx, path, &out)
}

// busy reports whether the session works.
func (c *client) busy(ctx context.Context, session string) (bool, error) {
	var all map[string]status
	err := c.get(ctx, "/session/status", &all)
	s, ok := all[session]
	return ok && s.Type != "idle", err
}

// Package client is the Go client of a Terret server's HTTP API.
//
//	c, err := client.New("http://127.0.0.1:7433", client.Options{Token: token})
//	s, err := c.CreateSession(ctx, client.NewSession{Cwd: dir})
//	t, err := c.Prompt(ctx, s.ID, client.NewTurn{Prompt: "What is in this folder?"})
//	for entry, err := range c.Events(ctx, client.EventQuery{Session: s.ID, Follow: true}) { ... }
//
// Errors are the server's: an *terret.Error whose code a program can branch on. Network
// failures have the code connection_failed.
//
// When a connection breaks, streams resume where they were, and yield every event
// exactly once. They give up only when the context ends, the server says so, or the
// server cannot be reached for some time.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Options says how to reach a server.
type Options struct {
	// Token is sent with every request.
	Token string
	// HTTP is the client to use; nil means a default one. It must not follow redirects
	// to other hosts.
	HTTP *http.Client
	// GiveUp is how long a stream tries to reach a server that is gone; zero means a
	// minute, a negative value means until the context ends.
	GiveUp time.Duration
}

// Client is a connection to a server. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	quit  time.Duration
}

// New makes a client for the server at base.
func New(base string, o Options) (*Client, error) {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, terret.Invalid("url", "%q is not a server URL, such as http://127.0.0.1:7433", base)
	}
	c := &Client{base: u, token: o.Token, http: o.HTTP, quit: o.GiveUp}
	if c.http == nil {
		c.http = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if c.quit == 0 {
		c.quit = time.Minute
	}
	return c, nil
}

// call is one request.
type call struct {
	method, path string
	query        url.Values
	body         any
	reader       io.Reader // a body that is not JSON
	key          string    // Idempotency-Key
	accept       string
	last         string // Last-Event-ID
}

// send sends a request and returns a successful response. The caller closes its body.
func (c *Client) send(ctx context.Context, r call) (*http.Response, error) {
	if err := checkPath(r.path); err != nil {
		return nil, err
	}
	u := c.base.JoinPath(r.path)
	u.RawQuery = r.query.Encode()
	body, contentType := r.reader, "application/x-ndjson"
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, terret.Invalid("body", "%w", err)
		}
		body, contentType = bytes.NewReader(b), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u.String(), body)
	if err != nil {
		return nil, terret.Invalid("path", "%w", err)
	}
	for name, v := range map[string]string{"Idempotency-Key": r.key, "Accept": r.accept, "Last-Event-ID": r.last} {
		if v != "" {
			req.Header.Set(name, v)
		}
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, unreachable(c.base, err)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		return nil, problem(res)
	}
	return res, nil
}

func unreachable(base *url.URL, err error) error {
	// The URL in a *url.Error may hold secrets.
	if inner := errors.Unwrap(err); inner != nil {
		err = inner
	}
	e := terret.Errorf(terret.CodeConnectionFailed, "cannot reach the server at %s: %w; is `terret serve` running?", base.Redacted(), err)
	e.Retryable = true
	return e
}

// maxProblem bounds how much of a failed response is read.
const maxProblem = 1 << 20

// problem reads the error of a failed response.
func problem(res *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	var p struct {
		Kind      terret.ErrorCode `json:"kind"`
		Detail    string           `json:"detail"`
		Field     string           `json:"field"`
		Retryable bool             `json:"retryable"`
		ExitCode  *int             `json:"exit_code"`
		Signal    string           `json:"signal"`
		Stderr    []string         `json:"stderr"`
	}
	if err != nil || json.Unmarshal(raw, &p) != nil || p.Kind == "" {
		return terret.Errorf(terret.CodeConnectionFailed, "the server answered %s, but not like a Terret server; check the URL", res.Status)
	}
	return &terret.Error{
		Code: p.Kind, Message: p.Detail, Field: p.Field, Retryable: p.Retryable, ExitCode: p.ExitCode, Signal: p.Signal, Stderr: p.Stderr,
	}
}

// do sends a request and decodes the answer.
func do[T any](ctx context.Context, c *Client, r call) (T, error) {
	var out T
	res, err := c.send(ctx, r)
	if err != nil {
		return out, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent {
		return out, nil
	}
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil {
		if ctx.Err() != nil {
			return out, context.Cause(ctx)
		}
		return out, terret.Errorf(terret.CodeConnectionFailed, "%s %s: cannot read the response: %w", r.method, r.path, err)
	}
	return out, nil
}

// done sends a request and ignores the response body.
func (c *Client) done(ctx context.Context, r call) error {
	res, err := c.send(ctx, r)
	if err == nil {
		err = res.Body.Close()
	}
	return err
}

// at makes a path, escaping its parts: ids may hold anything.
func at(parts ...string) string {
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "/v1/" + strings.Join(parts, "/")
}

// checkPath refuses ids that would make it the path of something else, as ".." makes the
// path of a queued prompt that of its session.
func checkPath(path string) error {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		switch part {
		case "":
			return terret.Invalid("id", "an id or a name is empty")
		case ".", "..":
			return terret.Invalid("id", "%q is not an id or a name", part)
		}
	}
	return nil
}

// values makes a query from pairs, leaving out empty ones.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

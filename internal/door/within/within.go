// Package within lets a door that a server itself serves be a client of that server.
//
// A [Caller] sends requests to the server's own handler, in the name of whoever sent the
// request that came through the door: with the same token, over the same connection as far
// as the server can tell, to the same host. So a door passes every check that its caller
// would have to pass, and has no rights of its own.
package within

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret/client"
)

// Client makes a client of the server in the name of the sender of r. Its calls see the
// values of r's context, such as the connection, and end with their own.
func Client(server http.Handler, r *http.Request) (*client.Client, error) {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return client.New("http://"+r.Host, client.Options{
		Token: strings.TrimSpace(token),
		HTTP:  &http.Client{Transport: &Caller{server: server, from: r}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	})
}

// Caller is an http.RoundTripper over a handler. It is safe for concurrent use. A response's
// body must be closed; that, or the end of the request's context, ends the handler.
type Caller struct {
	server http.Handler
	from   *http.Request
}

// values is a context with its own end and the values of two. Those of the request that came
// through the door come first: a call may stand in the context of an earlier one.
type values struct {
	context.Context

	from context.Context
}

// Value implements context.Context.
func (v values) Value(key any) any {
	if found := v.from.Value(key); found != nil {
		return found
	}
	return v.Context.Value(key)
}

// RoundTrip implements http.RoundTripper.
func (c *Caller) RoundTrip(out *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(values{out.Context(), c.from.Context()})
	in := out.Clone(ctx)
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI, in.Host = in.URL.RequestURI(), c.from.Host
	in.RemoteAddr, in.TLS = c.from.RemoteAddr, c.from.TLS
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/1.1", 1, 1
	body, write := io.Pipe()
	a := &answer{header: http.Header{}, began: make(chan struct{}), write: write}
	done := make(chan struct{})
	go func() { // ends with the handler; the body's Close waits for it
		defer close(done)
		a.end(serve(c.server, a, in))
	}()
	stop := context.AfterFunc(ctx, func() { _ = body.CloseWithError(context.Cause(ctx)) })
	close := sync.OnceFunc(func() {
		stop()
		_ = body.Close()
		cancel()
		<-done
		_ = in.Body.Close()
	})
	select {
	case <-a.began:
	case <-ctx.Done():
		close()
		return nil, context.Cause(ctx)
	}
	return &http.Response{
		Status: http.StatusText(a.status), StatusCode: a.status, Proto: in.Proto, ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: a.sent, Body: &closing{body, close}, Request: out,
	}, nil
}

// serve calls the handler, and reports whether it broke off.
func serve(h http.Handler, w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New("the response was broken off")
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

// closing is a body whose Close waits for the handler.
type closing struct {
	io.Reader

	close func()
}

// Close implements io.Closer.
func (c *closing) Close() error {
	c.close()
	return nil
}

// answer is the http.ResponseWriter of a handler.
type answer struct {
	header, sent http.Header
	status       int
	began        chan struct{}
	write        *io.PipeWriter
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status, a.sent = status, a.header.Clone()
		close(a.began)
	}
}

// Write implements http.ResponseWriter. It waits until the client reads, and fails when that
// has closed the body.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.write.Write(b)
}

func (a *answer) end(err error) {
	a.WriteHeader(http.StatusOK)
	_ = a.write.CloseWithError(err)
}

// Flush implements http.Flusher: nothing is held back.
func (a *answer) Flush() { a.WriteHeader(http.StatusOK) }

// SetReadDeadline and SetWriteDeadline are for http.ResponseController. The client is in this
// process, and has the time that its own reader takes.
func (a *answer) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline is explained at SetReadDeadline.
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

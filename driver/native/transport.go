package native

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// stallLimit is how long an answer may be silent. Providers send keep-alives while a
// model thinks.
const stallLimit = 5 * time.Minute

var (
	errStalled   = errors.New("no data for too long")
	errElsewhere = errors.New("the API redirects to another host, which must not get the key")
)

// transport is a driver's connections. A request that stays silent for too long fails.
type transport struct {
	base  *http.Transport
	limit time.Duration
}

func newTransport() *transport {
	t := &transport{base: &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}, limit: stallLimit}
	if d, ok := http.DefaultTransport.(*http.Transport); ok {
		t.base = d.Clone()
	}
	return t
}

// client is a client on the connections. It never follows a redirect to another host:
// headers with keys would go along.
func (t *transport) client() *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme || len(via) > 5 {
			return errElsewhere
		}
		return nil
	}}
}

// CloseIdleConnections is for http.Client and Shutdown.
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	watch := time.AfterFunc(t.limit, func() { cancel(errStalled) })
	res, err := t.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		watch.Stop()
		defer cancel(nil)
		return nil, stalled(ctx, err)
	}
	res.Body = &watchedBody{ReadCloser: res.Body, ctx: ctx, cancel: cancel, watch: watch, limit: t.limit}
	return res, nil
}

// watchedBody is a response that must keep coming.
type watchedBody struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  *time.Timer
	limit  time.Duration
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.Reset(b.limit)
	n, err := b.ReadCloser.Read(p)
	b.watch.Stop() // the clock stops while we process the data
	if err != nil && !errors.Is(err, io.EOF) {
		err = stalled(b.ctx, err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchedBody) Close() error {
	b.watch.Stop()
	defer b.cancel(nil)
	return b.ReadCloser.Close()
}

// stalled is err, or says that the request was given up.
func stalled(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

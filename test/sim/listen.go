package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// errClosed is the cause that ends requests when the server is closed.
var errClosed = errors.New("sim: the server is closed")

// Running is a listening server.
type Running struct {
	url     string
	http    *http.Server
	cancel  context.CancelCauseFunc
	forget  func() bool // detaches from the context of Start
	closing atomic.Bool
	gate    sync.RWMutex // each request holds it for reading
	once    sync.Once
	done    chan struct{} // closed when it no longer listens
	err     error         // the listener's error; read it after done
}

// Start listens on a loopback address such as 127.0.0.1:0 and returns at once. It runs
// until ctx is done or Close is called. It refuses other addresses: somebody could take
// the scripted model for a real one.
func (s *Server) Start(ctx context.Context, addr string) (*Running, error) {
	if err := loopback(addr); err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	if at, ok := ln.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("sim: %s is not loopback but %s", addr, ln.Addr()), ln.Close())
	}
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &Running{url: "http://" + ln.Addr().String(), cancel: cancel, done: make(chan struct{})}
	r.http = &http.Server{
		Handler:           r.guard(s),
		BaseContext:       func(net.Listener) context.Context { return life },
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(r.done)
		if err := r.http.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			r.err = fmt.Errorf("sim: %w", err)
		}
	}()
	r.forget = context.AfterFunc(ctx, r.stop)
	return r, nil
}

// loopback rejects addresses that other machines can reach.
func loopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("sim: %q is not an address such as 127.0.0.1:8099: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("sim: %q is not a loopback address; a scripted model is served on 127.0.0.1, [::1] or localhost only", addr)
	}
	return nil
}

// guard lets Close wait for all requests.
func (r *Running) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.gate.RLock()
		defer r.gate.RUnlock()
		if r.closing.Load() {
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, req)
	})
}

// URL is its address, without a slash at the end.
func (r *Running) URL() string { return r.url }

// Done is closed when it no longer listens, for whatever reason.
func (r *Running) Done() <-chan struct{} { return r.done }

// Close stops listening, cuts off answers in progress and returns when everything is
// gone. It may be called repeatedly. Its error is that of a listener that failed
// before.
func (r *Running) Close() error {
	r.forget()
	r.stop()
	return r.err
}

// stop also waits if another goroutine is stopping.
func (r *Running) stop() {
	r.once.Do(func() {
		r.closing.Store(true)
		r.cancel(errClosed)
		_ = r.http.Close() // everything is torn down anyway
		r.gate.Lock()      // until the last request has ended
		r.gate.Unlock()    //nolint:staticcheck // the wait is the point
		<-r.done
	})
}

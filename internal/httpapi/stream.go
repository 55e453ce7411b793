package httpapi

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
	"github.com/terret-dev/terret/internal/sse"
)

const (
	// heartbeat is how long a stream of server-sent events stays silent at most, and
	// how long one goes on that is no longer allowed.
	heartbeat = 15 * time.Second
	// pending is how many bytes may wait to be written before whoever sends waits.
	pending = 64 << 10
	// stalled is how long a sender waits for a reader before it lets go of what it
	// has in its hands.
	stalled = time.Second
)

// errStalled says that the reader has not made room for some time.
var errStalled = errors.New("the reader does not read")

// stream is a response that grows. Whoever sends appends to a buffer, and one
// goroutine writes it out: what comes while it writes goes out together after. So
// a single event leaves at once, and thousands leave in few writes.
//
// A reader that takes nothing for a time is cut. It holds up nobody but its own
// sender.
type stream struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	limit time.Duration // for one write

	mu    sync.Mutex
	buf   []byte
	spare []byte
	err   error // why nothing more can be sent
	ended bool  // the sender is done

	wake chan struct{} // for whoever writes
	room chan struct{} // for whoever sends
	stop context.CancelCauseFunc
}

// slot reserves room for a stream, which the returned function gives back. Whoever
// does something before it streams reserves first, so that it is not done in vain.
func (s *Server) slot() (release func(), err error) {
	if n := s.streams.Add(1); n > int64(s.limits.Streams) {
		s.streams.Add(-1)
		return nil, tooMany("%d streams are open, which is the most there may be; close some", n-1)
	}
	return sync.OnceFunc(func() { s.streams.Add(-1) }), nil
}

// streaming serves a stream in a slot: send is called with a context that ends when the
// reader has gone, and when it returns, what it sent is written out. At each
// heartbeat, server-sent events get a comment, and live is asked whether to go on.
//
// Lines that end too early look like all there are, so the connection is broken off
// then.
func (s *Server) streaming(w http.ResponseWriter, r *http.Request, contentType string, live func() error, send func(ctx context.Context, st *stream) error) {
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	st := &stream{
		w: w, rc: http.NewResponseController(w), limit: s.limits.Write,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1), stop: stop,
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	// The times that bound other requests do not bound streams.
	_ = st.rc.SetReadDeadline(time.Time{})
	_ = st.rc.SetWriteDeadline(time.Now().Add(st.limit))
	w.WriteHeader(http.StatusOK)
	_ = st.rc.Flush() // the reader shall know that it is connected
	if r.Method == http.MethodHead {
		return // and wants to know no more
	}

	var wait sync.WaitGroup
	wait.Go(func() { st.write(contentType == sse.ContentType, live) })
	err := send(ctx, st)
	st.end()
	wait.Wait()
	s.metrics.streamed(st.cut())
	if err == nil {
		err = st.err // nobody writes any more
	}
	if st.cut() {
		s.log.InfoContext(r.Context(), "a reader that does not read was cut", "path", r.URL.Path)
	} else if err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "a stream ended", "path", r.URL.Path, "error", err)
	}
	if err != nil && contentType != sse.ContentType {
		panic(http.ErrAbortHandler)
	}
}

// send lets fn append to what is written. It waits while too much waits, and fails
// when nothing can be written any more. Only one may send at a time.
func (st *stream) send(fn func(b []byte) []byte) error {
	if err := st.wait(nil); err != nil {
		return err
	}
	return st.append(fn)
}

// append is send for those who have waited.
func (st *stream) append(fn func(b []byte) []byte) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err != nil {
		return st.err
	}
	st.buf = fn(st.buf)
	signal(st.wake)
	return nil
}

// wait waits while too much waits to be written, and fails when nothing can be written
// any more, or when enough is told.
func (st *stream) wait(enough <-chan time.Time) error {
	for {
		st.mu.Lock()
		full, err := len(st.buf) >= pending, st.err
		st.mu.Unlock()
		if err != nil || !full {
			return err
		}
		select {
		case <-st.room:
		case <-enough:
			return errStalled
		}
	}
}

// waitBriefly is wait for those who have something in their hands that they can let go.
func (st *stream) waitBriefly() error {
	st.mu.Lock()
	full := len(st.buf) >= pending
	st.mu.Unlock()
	if !full {
		return nil // almost always; whether it failed is seen when it is sent
	}
	t := time.NewTimer(stalled)
	defer t.Stop()
	return st.wait(t.C)
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (st *stream) end() {
	st.mu.Lock()
	st.ended = true
	st.mu.Unlock()
	signal(st.wake)
}

// cut reports whether the reader was too slow.
func (st *stream) cut() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	return terret.AsError(st.err) != nil && terret.AsError(st.err).Code == terret.CodeTimeout
}

// write writes out what is sent, until that ends or cannot be written.
func (st *stream) write(events bool, live func() error) {
	beats := time.NewTicker(heartbeat)
	defer beats.Stop()
	for {
		var beat bool
		select {
		case <-st.wake:
		case <-beats.C:
			beat = true
		}
		if beat && live != nil {
			if err := live(); err != nil {
				if p, ok := errors.AsType[*parting](err); ok {
					_ = st.flush(p.words) // else the reader learns it when it comes back
				}
				st.fail(err)
				return
			}
		}
		st.mu.Lock()
		out, ended := st.buf, st.ended
		st.buf, st.spare = st.spare[:0], nil
		st.mu.Unlock()
		signal(st.room)
		if beat && events && len(out) == 0 {
			out = sse.AppendComment(out, "still here")
		}
		if len(out) > 0 {
			if err := st.flush(out); err != nil {
				st.fail(err)
				return
			}
		}
		st.mu.Lock()
		if cap(out) <= 4*pending {
			st.spare = out
		}
		over := ended && len(st.buf) == 0
		st.mu.Unlock()
		if over {
			return
		}
	}
}

func (st *stream) flush(b []byte) error {
	_ = st.rc.SetWriteDeadline(time.Now().Add(st.limit))
	if _, err := st.w.Write(b); err != nil {
		return err
	}
	return st.rc.Flush()
}

// fail ends the stream: the sender is told, and its context ends.
func (st *stream) fail(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = terret.Errorf(terret.CodeTimeout, "the reader took nothing for %s: %w", st.limit, err)
	}
	st.mu.Lock()
	st.err = err
	st.mu.Unlock()
	signal(st.room)
	st.stop(err)
}

// parting is why a stream ends, with what the reader is told of it.
type parting struct {
	error
	words []byte
}

// Unwrap is for the errors package.
func (p *parting) Unwrap() error { return p.error }

// appendEnd tells a reader why its stream ends, so that it does not take it for a
// broken connection.
func appendEnd(b []byte, why error) []byte {
	body, err := jsonLine(problemOf(why))
	if err != nil {
		return b
	}
	return sse.Append(b, "", "stream.end", body)
}

// stillAllowed asks, while a stream runs, whether its token still counts. If it does
// not, end appends what the reader is told; nil means nothing.
func (s *Server) stillAllowed(id access.Identity, end func(b []byte, why error) []byte) func() error {
	return func() error {
		err := s.cfg.Tokens.Valid(id)
		if err != nil && end != nil {
			err = &parting{err, end(nil, err)}
		}
		return err
	}
}

// inSlot is an answer that is a stream, if there is room for one.
func (s *Server) inSlot(serve func(w http.ResponseWriter, r *http.Request)) *streamAnswer {
	return &streamAnswer{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		release, err := s.slot()
		if err != nil {
			writeProblem(w, err)
			return
		}
		defer release()
		serve(w, r)
	}}
}

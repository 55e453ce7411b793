package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/sse"
)

const (
	// heartbeat is the longest silence of a stream of server-sent events, and how long
	// a stream continues after its token was revoked.
	heartbeat = 15 * time.Second
	// stalled is how long a sender waits for a reader before it lets go of what it
	// has in its hands.
	stalled = time.Second
)

// errStalled says that the reader has made no room for some time.
var errStalled = errors.New("the reader does not read")

// stream is a growing response. The sender appends to a buffer, and one goroutine
// writes it out: what arrives during a write goes out together in the next. So a single
// event leaves at once, and thousands leave in few writes.
//
// A reader that takes nothing for some time is disconnected. It holds up only its own
// sender.
type stream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	limit   time.Duration // for one write
	readers *readers
	caller  string
	began   time.Time

	mu      sync.Mutex
	buf     []byte
	spare   []byte
	held    int64     // bytes in buf and in the current write
	large   bool      // it may hold an event that is larger than its share
	coming  bool      // and that event is still to be appended
	writing time.Time // when that write began; zero if there is none
	err     error     // why nothing more can be sent
	ended   bool      // the sender is done

	wake chan struct{} // for the writer
	room chan struct{} // for the sender
	stop context.CancelCauseFunc
}

// connKey is where the context of a request has its connection.
type connKey struct{}

// slot reserves room for a stream, which the returned function gives back. If there is
// none, a reader that does not read is cut to make some, or a stream of the caller that has
// the most, if it has more than this one. A handler that does something
// before it streams reserves room first, so that it is not done in vain.
func (s *Server) slot(ctx context.Context) (release func(), err error) {
	if n := s.streams.Add(1); n > int64(s.limits.Streams) && !s.readers.cutOne() && !s.readers.cutFor(caller(ctx)) {
		s.streams.Add(-1)
		return nil, tooMany("%d streams are open, the maximum; close some", n-1)
	}
	return sync.OnceFunc(func() { s.streams.Add(-1) }), nil
}

// streaming serves a stream in a slot: send gets a context that ends when the reader is
// gone, and when send returns, what it sent is written out. At each heartbeat,
// server-sent events get a comment, and live is asked whether to continue.
//
// Lines that end early look complete, so in that case the connection is broken off.
func (s *Server) streaming(w http.ResponseWriter, r *http.Request, contentType string, live func() error, send func(ctx context.Context, st *stream) error) {
	bodyDone(r.Context())
	leaveTime(w)
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	st := &stream{
		w: w, rc: http.NewResponseController(w), limit: s.limits.Write, readers: s.readers,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1), stop: stop, caller: caller(r.Context()), began: time.Now(),
	}
	defer s.readers.add(st)()
	if conn, ok := r.Context().Value(connKey{}).(*net.TCPConn); ok && s.readers.crowded() {
		_ = conn.SetWriteBuffer(crowdBuffer)
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	// The time limits of other requests do not apply to streams.
	_ = st.rc.SetReadDeadline(time.Time{})
	_ = st.rc.SetWriteDeadline(time.Now().Add(st.limit))
	w.WriteHeader(http.StatusOK)
	_ = st.rc.Flush() // tell the reader that it is connected
	if r.Method == http.MethodHead {
		return // that is all the reader wants
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
		s.log.InfoContext(r.Context(), "disconnected a reader that does not read", "path", r.URL.Path)
	} else if err != nil && r.Context().Err() == nil {
		s.log.DebugContext(r.Context(), "a stream ended", "path", r.URL.Path, "error", err)
	}
	if err != nil && contentType != sse.ContentType {
		panic(http.ErrAbortHandler)
	}
}

// send lets fn append to the output. It waits while too much is pending, and fails when
// nothing more can be written. Only one goroutine may send at a time.
func (st *stream) send(fn func(b []byte) []byte) error {
	if err := st.wait(nil); err != nil {
		return err
	}
	return st.append(fn)
}

// append is send without the wait.
func (st *stream) append(fn func(b []byte) []byte) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.err != nil {
		return st.err
	}
	before := len(st.buf)
	st.buf = fn(st.buf)
	st.held += int64(len(st.buf) - before)
	signal(st.wake)
	return nil
}

// wait waits while too much is pending, and fails when nothing more can be written, or
// when enough fires.
func (st *stream) wait(enough <-chan time.Time) error {
	for {
		full, err := st.full()
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

// full reports whether as much waits to be written as may.
func (st *stream) full() (bool, error) {
	share := st.readers.share.Load()
	st.mu.Lock()
	defer st.mu.Unlock()
	return int64(len(st.buf)) >= share || st.held >= 4*share, st.err
}

// waitBriefly is wait for those who have something in their hands that they can let go.
func (st *stream) waitBriefly() error {
	full, _ := st.full() // whether it failed is seen when it is sent
	if !full {
		return nil // almost always
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

// write writes out what is sent, until that ends or fails.
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
					_ = st.flush(p.words) // otherwise the reader finds out when it comes back
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
		over := st.written(out) && ended
		st.settle()
		signal(st.room)
		if over {
			return
		}
	}
}

// written takes note that what was in a buffer is out, and reports whether nothing more
// waits. A buffer that has grown is given back.
func (st *stream) written(out []byte) (empty bool) {
	keep := 2 * st.readers.share.Load()
	st.mu.Lock()
	defer st.mu.Unlock()
	st.writing = time.Time{}
	st.held = int64(len(st.buf))
	if int64(cap(out)) <= keep {
		st.spare = out
	}
	return len(st.buf) == 0
}

func (st *stream) flush(b []byte) error {
	st.mu.Lock()
	if err := st.err; err != nil {
		st.mu.Unlock()
		return err
	}
	st.writing = time.Now()
	_ = st.rc.SetWriteDeadline(st.writing.Add(st.limit))
	st.mu.Unlock()
	if _, err := st.w.Write(b); err != nil {
		return err
	}
	return st.rc.Flush()
}

// fail ends the stream: the sender gets the error, and its context ends.
func (st *stream) fail(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = terret.Errorf(terret.CodeTimeout, "the reader read nothing for %s: %w", st.limit, err)
	}
	st.mu.Lock()
	if st.err == nil { // else it was cut
		st.err = err
	}
	st.mu.Unlock()
	signal(st.room)
	st.stop(err)
}

// parting is why a stream ends, and what the reader is told.
type parting struct {
	error
	words []byte
}

// Unwrap is for package errors.
func (p *parting) Unwrap() error { return p.error }

// appendEnd tells a reader why its stream ends, so that it does not look like a broken
// connection.
func appendEnd(b []byte, why error) []byte {
	body, err := jsonLine(problemOf(why))
	if err != nil {
		return b
	}
	return sse.Append(b, "", "stream.end", body)
}

// stillAllowed checks, while a stream runs, whether its token is still valid. If not,
// end appends what the reader is told; it may be nil.
func (s *Server) stillAllowed(ctx context.Context, id access.Identity, end func(b []byte, why error) []byte) func() error {
	return func() error {
		err := s.cfg.Tokens.Valid(ctx, id)
		if err != nil && end != nil {
			err = &parting{err, end(nil, err)}
		}
		return err
	}
}

// inSlot responds with a stream, if there is room for one.
func (s *Server) inSlot(serve func(w http.ResponseWriter, r *http.Request)) *streamAnswer {
	return &streamAnswer{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		release, err := s.slot(r.Context())
		if err != nil {
			writeProblem(w, err)
			return
		}
		defer release()
		serve(w, r)
	}}
}

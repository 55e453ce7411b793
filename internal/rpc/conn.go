package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// ErrClosed is what every call and notification fails with once the connection ends.
// If we did not close it ourselves, the reason is wrapped beside it.
var ErrClosed = errors.New("rpc: the connection is closed")

// errCancelled is the cause with which the other side cancels its request.
var errCancelled = errors.New("rpc: the other side cancelled its request")

const (
	// own is how many goroutines a connection has without requests.
	own = 3
	// linger is how long we go on reading after a write has failed.
	linger = 2 * time.Second
	// maxQueued is how many bytes are read ahead of the handlers, unless tests say
	// otherwise.
	maxQueued = 64 << 20
)

// Options say how to talk, and who listens. The zero value serves for calling.
type Options struct {
	// Request answers a request of the other side. It runs in a goroutine of its own.
	// An *Error is sent as it is, other errors with their text as internal ones;
	// return MethodNotFound for what is not known. The context is cancelled when the
	// other side cancels the request, and when the connection closes. Nil answers
	// everything with MethodNotFound.
	Request func(ctx context.Context, m Message) (result any, err error)
	// Arrived hears that a request has come, before Request is called with it. It is
	// called like Notification, in one order with it: this is where a handler notes
	// what later notifications are about. Nil ignores it.
	Arrived func(m Message)
	// Notification hears a notification. It is called with one at a time, in order;
	// see the package comment for what it must not wait for. An error closes the
	// connection and becomes its reason. The context is cancelled when the
	// connection closes. Nil ignores everything.
	Notification func(ctx context.Context, m Message) error
	// Stray hears of lines that are not messages or that nobody expects, with the
	// reason. Of a line that was too long it gets the beginning. It is called like
	// Notification. Nil ignores them.
	Stray func(line []byte, why error)
	// Cancel is the notification that cancels a request by its id, both ways, such as
	// "$/cancel_request". If it is empty, there is no such thing.
	Cancel string
	// Bare leaves the "jsonrpc" field out of what is sent. What arrives may have it
	// or not.
	Bare bool
	// Grace is for a side that ends its stream right behind its last requests and still
	// reads: so long at most, they are answered as if it had not, and only then does the
	// end count. Zero means that it counts at once.
	Grace time.Duration
	// MaxLine bounds the lines that arrive, in bytes; zero means 64 MB. A longer one
	// is skipped and told to Stray.
	MaxLine int

	readAhead int // bytes that are read ahead of the handlers; zero means maxQueued
}

// Then is a result of a Request handler that is not all: what Do sends comes after the
// answer. Do must return.
type Then struct {
	Result any
	Do     func()
}

// MethodNotFound is the answer to a request that is not known.
func MethodNotFound(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "method not found: " + method}
}

// Conn is a connection. It is safe for concurrent use.
type Conn struct {
	stream io.ReadWriteCloser
	o      Options
	v      version
	life   context.Context // of the handlers; cancelled on the way to closing
	cancel context.CancelCauseFunc
	done   chan struct{} // closed by update in the phase closed

	mu      sync.Mutex
	state   state      // changed by update alone
	changed *sync.Cond // told of every change
}

// phase is where a connection is in its life. See the package comment.
type phase int

const (
	open phase = iota
	draining
	closing
	closed
)

// state is all that changes in a connection.
type state struct {
	phase phase // set by update alone, from the facts

	// The facts.
	reason  error // why the connection ends, nil if it does not
	abort   bool  // it ends without draining the queue
	readAll bool  // nothing more is put into the queue
	busy    bool  // a message that was taken from the queue is being dispatched
	writing bool  // a line that was taken from out is being written
	running int   // goroutines that are not gone

	queue  []incoming // what was read and not yet dispatched
	queued int        // its size in bytes
	out    []*outgoing
	calls  map[int64]chan<- reply // those that wait, by id; each gets exactly one reply
	lastID int64
	asked  map[string]context.CancelCauseFunc // requests that are being answered, by id
	closed error                              // what closing the stream said
}

// outgoing is a line to be written.
type outgoing struct {
	line []byte
	call int64        // the id, if it is a call
	sent chan<- error // told when it is written, or that it never will be; may be nil
}

// New starts a connection on the stream, which it owns from now on. Closing the
// stream must unblock its Read and Write.
func New(stream io.ReadWriteCloser, o Options) *Conn {
	c := &Conn{stream: stream, o: o, v: version2, done: make(chan struct{})}
	if o.Bare {
		c.v = ""
	}
	if o.readAhead == 0 {
		c.o.readAhead = maxQueued
	}
	c.life, c.cancel = context.WithCancelCause(context.Background())
	c.changed = sync.NewCond(&c.mu)
	c.state = state{running: own, calls: map[int64]chan<- reply{}, asked: map[string]context.CancelCauseFunc{}}
	go c.read()
	go c.dispatch()
	go c.write()
	return c
}

// Join makes one stream of two. Closing it closes both.
func Join(r io.ReadCloser, w io.WriteCloser) io.ReadWriteCloser { return joined{r, w} }

type joined struct {
	io.ReadCloser
	w io.WriteCloser
}

func (j joined) Write(p []byte) (int, error) { return j.w.Write(p) }
func (j joined) Close() error                { return errors.Join(j.w.Close(), j.ReadCloser.Close()) }

// Close ends the connection, drops what has not been dispatched, closes the stream,
// and waits until all is gone, running handlers included. It may be called many times
// and at any time, but not from a handler. The error is that of closing the stream.
func (c *Conn) Close() error {
	c.update(func(s *state) {
		s.end(ErrClosed)
		s.abort = true
	})
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.closed
}

// Wait waits until the connection is closed and all is gone, and returns the reason:
// ErrClosed after Close, io.EOF if the other side ended, or what went wrong.
func (c *Conn) Wait() error {
	<-c.done
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.reason
}

// Done is closed when Wait would return.
func (c *Conn) Done() <-chan struct{} { return c.done }

// update is the only way to change the state. It applies the change, moves on to the
// phase that the facts call for, and does what belongs to the move.
func (c *Conn) update(change func(*state)) {
	c.mu.Lock()
	s := &c.state
	before := s.phase
	change(s)
	s.phase = s.next()
	if before < closing && s.phase >= closing {
		s.drop()
		c.cancel(s.reason)
		s.running++ // until the stream is closed, below
		s.phase = closing
	}
	if before < closed && s.phase == closed {
		close(c.done)
	}
	entered := before < closing && s.phase == closing
	c.changed.Broadcast()
	c.mu.Unlock()
	if !entered {
		return
	}
	err := c.stream.Close() // not under the lock: it may take its time
	c.update(func(s *state) {
		s.closed = err
		s.running--
	})
}

// next is the phase that the facts call for. No fact is ever taken back, so that
// phases follow each other in their order.
func (s *state) next() phase {
	drained := s.readAll && len(s.queue) == 0 && !s.busy
	switch {
	case s.reason == nil:
		return open
	case !s.abort && !drained:
		return draining
	case s.running > 0:
		return closing
	default:
		return closed
	}
}

// end says that the connection ends. The first reason stays.
func (s *state) end(reason error) {
	if s.reason == nil {
		s.reason = reason
	}
}

// drop lets go of all that waits.
func (s *state) drop() {
	for id := range s.calls {
		s.settle(reply{id: id, err: s.over()})
	}
	s.refuse(s.over())
	s.queue, s.queued = nil, 0
}

// settle answers a call, and reports whether it was waiting.
func (s *state) settle(r reply) bool {
	waiting, ok := s.calls[r.id]
	if ok {
		delete(s.calls, r.id)
		waiting <- r // has room for one, and gets one
	}
	return ok
}

// refuse tells everyone whose line has not been written that it will not be.
func (s *state) refuse(err error) {
	for _, o := range s.out {
		s.unsent(o, err)
	}
	s.out = nil
}

func (s *state) unsent(o *outgoing, err error) {
	if o.call != 0 {
		s.settle(reply{id: o.call, err: err})
	}
	if o.sent != nil {
		o.sent <- err // has room for one, and gets one
	}
}

// over is what calls fail with once the connection ends.
func (s *state) over() error {
	if errors.Is(s.reason, ErrClosed) {
		return s.reason
	}
	return fmt.Errorf("%w: %w", ErrClosed, s.reason)
}

// await waits until something holds. It changes nothing.
func (c *Conn) await(holds func(*state) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !holds(&c.state) {
		c.changed.Wait()
	}
}

// leave is the last thing that a goroutine of the connection does.
func (c *Conn) leave() { c.update(func(s *state) { s.running-- }) }

package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/terret-dev/terret/internal/ndjson"
)

// Call calls a method of the other side and decodes what it returns into result,
// which may be nil. Nil params are left out. When it returns, all notifications that
// came before the answer have been handled.
//
// The context bounds the wait. When it is done, Call returns its cause at once. What
// was not yet sent never will be; otherwise the other side is told, if there is a
// method for that, and its answer is ignored.
//
// The error wraps an *Error if the other side answered with one, and ErrClosed if the
// connection ended.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	var id int64
	c.update(func(s *state) {
		s.lastID++
		id = s.lastID
	})
	line, err := encodeCall(c.v, id, method, params)
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	answer := make(chan reply, 1)
	err = c.send(ctx, &outgoing{line: line, call: id}, answer)
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	var r reply
	select {
	case r = <-answer:
	case <-ctx.Done():
		c.abandon(id)
		return fmt.Errorf("call %s: %w", method, context.Cause(ctx))
	}
	if r.err != nil {
		return fmt.Errorf("call %s: %w", method, r.err)
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(r.result, result); err != nil {
		return fmt.Errorf("call %s: decode its result: %w", method, err)
	}
	return nil
}

// Notify tells the other side something, and returns when that is written. Nil params
// are left out. The context bounds the wait: what was not begun by then is not sent.
// The error wraps ErrClosed if the connection ended.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	line, err := encodeNotification(c.v, method, params)
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	sent := make(chan error, 1)
	o := &outgoing{line: line, sent: sent}
	if err = c.send(ctx, o, nil); err == nil {
		select {
		case err = <-sent:
		case <-ctx.Done():
			c.update(func(s *state) { s.withdraw(func(other *outgoing) bool { return other == o }) })
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// send queues a line unless the connection ends. A call's answer goes to that channel.
func (c *Conn) send(ctx context.Context, o *outgoing, answer chan<- reply) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.update(func(s *state) {
		if s.phase != open {
			err = s.over()
			return
		}
		if o.call != 0 {
			s.calls[o.call] = answer
		}
		s.out = append(s.out, o)
	})
	return err
}

// abandon gives a call up, unless its answer has come in the meantime.
func (c *Conn) abandon(id int64) {
	c.update(func(s *state) {
		if s.calls[id] == nil {
			return
		}
		delete(s.calls, id)
		unsent := s.withdraw(func(o *outgoing) bool { return o.call == id })
		if unsent || c.o.Cancel == "" || s.phase != open {
			return
		}
		line, err := encodeNotification(c.v, c.o.Cancel, cancelParams{RequestID: json.RawMessage(fmt.Sprint(id))})
		if err == nil { // a number can be encoded
			s.out = append(s.out, &outgoing{line: line})
		}
	})
}

// cancelParams name a request that is cancelled.
type cancelParams struct {
	RequestID json.RawMessage `json:"requestId"`
}

// withdraw takes back a line that was not begun, and reports whether there was one.
func (s *state) withdraw(which func(*outgoing) bool) bool {
	n := len(s.out)
	s.out = slices.DeleteFunc(s.out, which)
	return len(s.out) < n
}

// write writes what is queued. It is a goroutine of the connection.
func (c *Conn) write() {
	defer c.leave()
	w := ndjson.NewWriter(c.stream)
	for {
		o := c.nextOut()
		if o == nil {
			return
		}
		if err := w.WriteRaw(o.line); err != nil {
			c.writeFailed(o, err)
			return
		}
		c.update(func(s *state) { s.writing = false })
		if o.sent != nil {
			o.sent <- nil
		}
	}
}

// nextOut waits for a line to write. Nil means that there are no more.
func (c *Conn) nextOut() (o *outgoing) {
	c.await(func(s *state) bool { return len(s.out) > 0 || s.phase >= closing })
	c.update(func(s *state) {
		if len(s.out) > 0 {
			o, s.out, s.writing = s.out[0], s.out[1:], true
		}
	})
	return o
}

// writeFailed refuses what waits to be written, and gives the reader a little time to
// read why.
func (c *Conn) writeFailed(o *outgoing, err error) {
	c.update(func(s *state) {
		s.end(err)
		s.unsent(o, s.over())
		s.refuse(s.over())
	})
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-c.life.Done():
	case <-timer.C:
		c.update(func(s *state) { s.abort = true })
	}
}

package rpc

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/terret-dev/terret/internal/ndjson"
)

// read puts what arrives into the queue. It is a goroutine of the connection.
func (c *Conn) read() {
	lines := ndjson.NewReader(c.stream, c.o.MaxLine)
	for {
		line, err := lines.Next()
		in := incoming{}
		if long, ok := errors.AsType[*ndjson.LineTooLongError](err); ok {
			in, err = tooLong(long), nil
		} else if err == nil {
			in = decode(line)
		}
		if err == nil {
			c.put(in)
			continue
		}
		if errors.Is(err, io.EOF) && c.o.Grace > 0 {
			c.finish()
		}
		c.update(func(s *state) {
			s.end(err)
			s.readAll = true
			s.running--
		})
		return
	}
}

// finish waits until all that was read is dealt with and the answers are written, for as long
// as Grace, or until the connection ends for another reason.
func (c *Conn) finish() {
	late := false
	timer := time.AfterFunc(c.o.Grace, func() { c.update(func(*state) { late = true }) })
	defer timer.Stop()
	c.await(func(s *state) bool {
		idle := len(s.queue) == 0 && !s.busy && s.running <= own && len(s.out) == 0 && !s.writing
		return idle || late || s.phase != open
	})
}

// put waits for room in the queue. Whatever its size, one message always has room.
func (c *Conn) put(in incoming) {
	c.await(func(s *state) bool {
		return s.queued == 0 || s.queued+in.size <= c.o.readAhead || s.phase >= closing
	})
	c.update(func(s *state) {
		if s.phase < closing {
			s.queue = append(s.queue, in)
			s.queued += in.size
		}
	})
}

// dispatch hands out what is in the queue. It is a goroutine of the connection.
func (c *Conn) dispatch() {
	defer c.leave()
	for {
		in, ok := c.take()
		if !ok {
			return
		}
		err := c.handOut(in)
		c.update(func(s *state) {
			s.busy = false
			if err != nil {
				s.end(err)
				s.abort = true
			}
		})
	}
}

// take waits for a message. It reports false when there are no more.
func (c *Conn) take() (in incoming, ok bool) {
	c.await(func(s *state) bool { return len(s.queue) > 0 || s.phase >= closing })
	c.update(func(s *state) {
		if ok = len(s.queue) > 0; !ok {
			return
		}
		in, s.queue[0], s.queue = s.queue[0], incoming{}, s.queue[1:]
		s.queued -= in.size
		s.busy = true
	})
	return in, ok
}

// handOut gives a message to whom it is for. An error closes the connection.
func (c *Conn) handOut(in incoming) error {
	switch {
	case in.stray != nil:
		c.stray(in.message.Raw, in.stray)
	case in.reply != nil:
		waiting := false
		c.update(func(s *state) { waiting = s.settle(*in.reply) })
		if !waiting {
			c.stray(in.reply.raw, errNotExpected)
		}
	case in.message.ID != "":
		c.serve(in.message)
	case c.o.Cancel != "" && in.message.Method == c.o.Cancel:
		c.cancelled(in.message)
	case c.o.Notification != nil:
		return c.o.Notification(c.life, in.message)
	}
	return nil
}

func (c *Conn) stray(line []byte, why error) {
	if c.o.Stray != nil {
		c.o.Stray(line, why)
	}
}

// serve lets the handler answer a request in a goroutine, unless nobody would read
// the answer.
func (c *Conn) serve(m Message) {
	ctx, cancel := context.WithCancelCause(c.life)
	started, twice := false, false
	c.update(func(s *state) {
		_, twice = s.asked[m.ID]
		if started = s.phase == open && !twice; started {
			s.asked[m.ID] = cancel
			s.running++
		}
	})
	if started {
		if c.o.Arrived != nil {
			c.o.Arrived(m)
		}
		go c.answer(ctx, m)
		return
	}
	cancel(nil)
	if twice { // to answer it would be to answer the first one
		c.stray(m.Raw, errIDInUse)
	}
}

// answer is the goroutine of a request.
func (c *Conn) answer(ctx context.Context, m Message) {
	var result any
	err := error(MethodNotFound(m.Method))
	if c.o.Request != nil {
		result, err = c.o.Request(ctx, m)
	}
	then, _ := result.(Then)
	if then.Do != nil {
		result = then.Result
	}
	line := encodeAnswer(c.v, m.ID, result, failure(ctx, err))
	c.update(func(s *state) {
		s.asked[m.ID](nil)
		delete(s.asked, m.ID)
		if s.phase == open {
			s.out = append(s.out, &outgoing{line: line})
		}
	})
	if then.Do != nil && err == nil {
		then.Do()
	}
	c.update(func(s *state) { s.running-- })
}

// failure is an error of a handler as it is sent.
func failure(ctx context.Context, err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(context.Cause(ctx), errCancelled) {
		return &Error{Code: CodeCancelled, Message: "the request was cancelled"}
	}
	return &Error{Code: CodeInternal, Message: err.Error()}
}

// cancelled tells the handler of a request that nobody waits for its answer.
func (c *Conn) cancelled(m Message) {
	var params cancelParams
	err := m.Decode(&params)
	id := ""
	if err == nil {
		id, err = idOf(params.RequestID)
	}
	if err != nil {
		c.stray(m.Raw, err)
		return
	}
	c.update(func(s *state) {
		if cancel := s.asked[id]; cancel != nil { // else it is answered already
			cancel(errCancelled)
		}
	})
}

package rpc

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPeerEnds holds that what was said before the end is heard before calls fail.
func TestPeerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		var heard []string
		c, p := connect(t, Options{
			Notification: func(_ context.Context, m Message) error { <-gate; heard = append(heard, m.Method); return nil },
			Request:      func(_ context.Context, m Message) (any, error) { t.Errorf("asked %s", m.Method); return nil, nil },
		})
		answered := call(t.Context(), c, "a", nil)
		p.hear()
		failed := call(t.Context(), c, "b", nil)
		p.hear()
		p.say(`{"method":"one"}`, `{"method":"two"}`, `{"id":1,"result":"late"}`, `{"id":5,"method":"ask"}`, `{"method":"three"}`)
		p.leave()
		synctest.Wait()
		if ready(answered) || ready(failed) {
			t.Error("a call ended before what came before it was heard")
		}
		mustEnd(t, c.Call(t.Context(), "c", nil, nil), io.EOF)
		mustEnd(t, c.Notify(t.Context(), "d", nil), io.EOF)
		close(gate)
		if err := c.Wait(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		if o := <-answered; o.err != nil || string(o.result) != `"late"` {
			t.Errorf("%s %v", o.result, o.err)
		}
		mustEnd(t, (<-failed).err, io.EOF)
		if len(heard) != 3 {
			t.Errorf("heard %v", heard)
		}
		mustEnd(t, c.Call(t.Context(), "c", nil, nil), io.EOF)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Wait(); !errors.Is(err, io.EOF) {
			t.Errorf("closing changed the reason: %v", err)
		}
	})
}

// TestPeerEndsDuringNotification holds that the last notification is handled in peace.
func TestPeerEndsDuringNotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		c, p := connect(t, Options{Notification: func(ctx context.Context, _ Message) error { <-gate; return ctx.Err() }})
		out := call(t.Context(), c, "a", nil)
		p.hear()
		p.say(`{"method":"last words"}`)
		p.leave()
		synctest.Wait()
		if ready(out) {
			t.Error("the call ended before")
		}
		close(gate)
		mustEnd(t, (<-out).err, io.EOF)
		if err := c.Wait(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
	})
}

// TestPeerEndsDuringRequest holds that a handler is told that nobody waits any more.
func TestPeerEndsDuringRequest(t *testing.T) {
	t.Parallel()
	causes, started := make(chan error, 1), make(chan struct{})
	c, p := connect(t, Options{Request: func(ctx context.Context, _ Message) (any, error) {
		close(started)
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return "too late", nil
	}})
	p.say(`{"id":1,"method":"ask"}`)
	<-started
	p.leave()
	if err := c.Wait(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if err := <-causes; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// TestWriteFails holds that reading goes on for a while after a write has failed.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			heard := 0
			c, p := connect(t, Options{Notification: func(context.Context, Message) error { heard++; return nil }})
			waiting := call(t.Context(), c, "a", nil)
			p.hear()
			p.end.Close() // the agent closes its stdin
			mustEnd(t, c.Call(t.Context(), "b", nil, nil), io.ErrClosedPipe)
			mustEnd(t, c.Notify(t.Context(), "c", nil), io.ErrClosedPipe)
			p.say(`{"method":"last words"}`, `{"id":1,"result":1}`)
			if o := <-waiting; o.err != nil || heard != 1 {
				t.Errorf("%v, heard %d", o.err, heard)
			}
			begin := time.Now()
			if ends {
				p.out.Close()
			}
			if err := c.Wait(); !errors.Is(err, io.ErrClosedPipe) {
				t.Error(err)
			}
			if took := time.Since(begin); (took > 0) == ends || took > linger {
				t.Errorf("ends %v: took %v", ends, took)
			}
		})
	}
}

// TestNotificationFails holds that nothing is dispatched after a handler has failed.
func TestNotificationFails(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	heard := 0
	c, p := connect(t, Options{Notification: func(context.Context, Message) error { heard++; return full }})
	go p.out.Write([]byte("{\"method\":\"a\"}\n{\"method\":\"b\"}\n{\"method\":\"c\"}\n"))
	if err := c.Wait(); !errors.Is(err, full) || heard != 1 {
		t.Errorf("%v, heard %d", err, heard)
	}
	mustEnd(t, c.Call(t.Context(), "m", nil, nil), full)
}

// TestClose closes a connection that is stuck in every way at once.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 2)
		c, p := connect(t, Options{
			Request: func(ctx context.Context, _ Message) (any, error) {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return nil, nil
			},
			Notification: func(ctx context.Context, _ Message) error { <-ctx.Done(); causes <- context.Cause(ctx); return nil },
		})
		written := call(t.Context(), c, "written", nil)
		p.hear()
		p.say(`{"id":0,"method":"ask"}`, `{"method":"tell"}`, `{"method":"never heard"}`)
		begun := call(t.Context(), c, "begun", nil)
		synctest.Wait()
		queued := call(t.Context(), c, "queued", nil)
		told := make(chan error, 1)
		go func() { told <- c.Notify(t.Context(), "queued", nil) }()
		synctest.Wait()
		var work sync.WaitGroup
		for range 3 {
			work.Go(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
		for _, out := range []<-chan outcome{written, begun, queued} {
			mustEnd(t, (<-out).err, ErrClosed)
		}
		mustEnd(t, <-told, ErrClosed)
		for range 2 {
			if err := <-causes; !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		if err := c.Wait(); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		<-c.Done()
		mustEnd(t, c.Call(t.Context(), "late", nil, nil), ErrClosed)
		if _, err := p.out.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the stream is open: %v", err)
		}
	})
}

// TestCloseWaits holds that Close waits for handlers and for the stream.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		theirs, ours := io.Pipe()
		slow := &slowCloser{WriteCloser: ours, gate: make(chan struct{})}
		hear, say := io.Pipe()
		handler := make(chan struct{})
		c := New(Join(hear, slow), Options{Request: func(context.Context, Message) (any, error) { <-handler; return nil, nil }})
		say.Write([]byte("{\"id\":1,\"method\":\"ask\"}\n"))
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		for _, gate := range []chan struct{}{handler, slow.gate} {
			synctest.Wait()
			if len(closed) > 0 {
				t.Error("Close did not wait")
			}
			close(gate)
		}
		if err := <-closed; !errors.Is(err, errSlow) {
			t.Error(err)
		}
		theirs.Close()
	})
}

var errSlow = errors.New("closed badly")

type slowCloser struct {
	io.WriteCloser
	gate chan struct{}
}

func (s *slowCloser) Close() error { <-s.gate; return errors.Join(s.WriteCloser.Close(), errSlow) }

// TestPipes runs on pipes of the system, as those of a process are.
func TestPipes(t *testing.T) {
	t.Parallel()
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	hear, say, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	defer say.Close()
	c := New(Join(hear, ours), Options{})
	out := call(t.Context(), c, "m", make([]byte, 1<<20)) // more than fits: the writer is stuck
	if _, err := io.ReadFull(theirs, make([]byte, 100)); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	mustEnd(t, (<-out).err, ErrClosed)
}

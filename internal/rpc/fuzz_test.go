package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// FuzzConn lets the other side say anything. No line may end the connection, every
// request gets one answer at most, and all that was started ends.
func FuzzConn(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		"{\"id\":0,\"method\":\"ask\"}\n{\"id\":\"a\",\"method\":\"ask\",\"params\":[1]}\r\n\n{\"method\":\"tell\"}",
		"{\"id\":1,\"error\":{\"code\":1,\"message\":\"x\"}}\n{\"id\":1,\"result\":2}\nnoise\n[]",
		"{\"method\":\"$/c\",\"params\":{\"requestId\":0}}\n{\"id\":0,\"method\":\"ask\"}\n{\"method\":\"$/c\",\"params\":{\"requestId\":0}}",
		`{"id":1e0,"result":null}`, `{"ID":1,"METHOD":"x"}`, `{"id":"\ud800","method":"\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		theirs, ours := io.Pipe()
		var asked atomic.Int64
		c := New(Join(io.NopCloser(bytes.NewReader(data)), ours), Options{
			Cancel: "$/c", MaxLine: 1 << 10,
			Request: func(_ context.Context, m Message) (any, error) {
				asked.Add(1)
				if m.ID == "" || !json.Valid([]byte(m.ID)) {
					t.Errorf("id %q", m.ID)
				}
				return json.RawMessage(m.Params), nil
			},
			Notification: func(_ context.Context, m Message) error {
				if m.ID != "" || !json.Valid(m.Raw) {
					t.Errorf("%q %q", m.ID, m.Raw)
				}
				return nil
			},
			Stray: func(line []byte, why error) {
				if why == nil || len(line) == 0 {
					t.Errorf("%q: %v", line, why)
				}
			},
		})
		answers := make(chan int64, 1)
		go func() {
			var n int64
			for lines := bufio.NewScanner(theirs); lines.Scan(); {
				var answer struct {
					ID     json.RawMessage
					Method string
				}
				if err := json.Unmarshal(lines.Bytes(), &answer); err != nil {
					t.Errorf("%s: %v", lines.Bytes(), err)
				}
				if answer.Method == "" {
					n++
				}
			}
			answers <- n
		}()
		out := call(t.Context(), c, "m", nil)
		if err := c.Wait(); !errors.Is(err, io.EOF) {
			t.Errorf("ended with %v", err)
		}
		<-out
		if n := <-answers; n > asked.Load() {
			t.Errorf("%d answers to %d requests", n, asked.Load())
		}
	})
}

// TestAnyOrder lets two connections talk to each other, with calls, notifications,
// cancellations and slow handlers at random, and ends them at a random moment in a
// random way. Every call ends once, nothing overtakes, and nothing is left.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) { talk(t, seed) })
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// side is one of two that talk.
type side struct {
	t     *testing.T
	conn  *Conn
	ready chan struct{} // closed when conn is set
	seen  atomic.Int64  // the last number it was told
	ended atomic.Int64  // calls that came to an end
}

// options has a request answered with the last number that was told before it.
func (s *side) options(pause func(time.Duration)) Options {
	return Options{
		Cancel: "$/c",
		Request: func(ctx context.Context, m Message) (any, error) {
			<-s.ready
			if m.Method == "back" { // call the other side while it waits for us
				return s.seen.Load(), s.conn.Call(ctx, "ask", nil, nil)
			}
			pause(5 * time.Millisecond)
			return s.seen.Load(), ctx.Err()
		},
		Notification: func(_ context.Context, m Message) error {
			pause(time.Millisecond)
			var n int64
			if err := m.Decode(&n); err != nil {
				return err
			}
			if last := s.seen.Swap(n); n <= last {
				s.t.Errorf("told %d after %d", n, last)
			}
			return nil
		},
	}
}

func talk(t *testing.T, seed uint64) {
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 0))
	below := func(n int64) int64 { mu.Lock(); defer mu.Unlock(); return rnd.Int64N(n) }
	pause := func(most time.Duration) { time.Sleep(time.Duration(below(int64(most)))) }
	a := &side{t: t, ready: make(chan struct{})}
	b := &side{t: t, ready: make(chan struct{})}
	fromA, toB := io.Pipe()
	fromB, toA := io.Pipe()
	a.conn, b.conn = New(Join(fromB, toB), a.options(pause)), New(Join(fromA, toA), b.options(pause))
	close(a.ready)
	close(b.ready)
	const callers, calls = 5, 20
	var work sync.WaitGroup
	for _, s := range []*side{a, b} {
		for range callers {
			work.Go(func() {
				for range calls {
					pause(3 * time.Millisecond)
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(below(int64(20*time.Millisecond))))
					method := []string{"ask", "back", "nosuch"}[below(3)]
					s.conn.Call(ctx, method, nil, nil)
					cancel()
					s.ended.Add(1)
				}
			})
		}
		work.Go(func() {
			for n := range int64(100) {
				pause(time.Millisecond)
				if err := s.conn.Notify(t.Context(), "tell", n+1); err != nil {
					mustEnd(t, err, ErrClosed)
				}
			}
		})
	}
	pause(100 * time.Millisecond)
	switch below(4) {
	case 0:
		a.conn.Close()
	case 1:
		toB.CloseWithError(errors.New("broken"))
	case 2:
		toA.Close()
		toB.Close()
	case 3:
		fromB.Close()
		pause(50 * time.Millisecond)
		b.conn.Close()
	}
	work.Wait()
	for _, s := range []*side{a, b} {
		if err := s.conn.Wait(); err == nil {
			t.Error("ended without a reason")
		}
		s.conn.Close()
		if got := s.ended.Load(); got != callers*calls {
			t.Error(fmt.Sprint(got, " calls ended"))
		}
	}
}

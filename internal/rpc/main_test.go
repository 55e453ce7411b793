package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is the other side of a connection. It reads and writes lines.
type peer struct {
	t   testing.TB
	in  *bufio.Reader
	end io.Closer // of what it reads
	out io.WriteCloser
}

// connect makes a connection whose other side is the test. Pipes hold nothing: a line
// is written when it is read.
func connect(t testing.TB, o Options) (*Conn, *peer) {
	t.Helper()
	theirs, ours := io.Pipe()
	hear, say := io.Pipe()
	c := New(Join(hear, ours), o)
	t.Cleanup(func() { c.Close() })
	return c, &peer{t: t, in: bufio.NewReaderSize(theirs, 64<<10), end: theirs, out: say}
}

// say writes lines, and returns when they have been read.
func (p *peer) say(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(p.out, line+"\n"); err != nil {
			p.t.Error(err)
		}
	}
}

// hear reads the next line.
func (p *peer) hear() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Error(err)
	}
	return strings.TrimSuffix(line, "\n")
}

// expect reads the next line and compares it.
func (p *peer) expect(want string) {
	p.t.Helper()
	if got := p.hear(); got != want {
		p.t.Errorf("got  %s\nwant %s", got, want)
	}
}

// leave is what a process does that ends: nothing more is read or written.
func (p *peer) leave() {
	p.out.Close()
	p.end.Close()
}

// outcome is what a call came to.
type outcome struct {
	result json.RawMessage
	err    error
}

// call calls in a goroutine.
func call(ctx context.Context, c *Conn, method string, params any) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		var o outcome
		o.err = c.Call(ctx, method, params, &o.result)
		out <- o
	}()
	return out
}

// ready reports whether the outcome is there.
func ready(out <-chan outcome) bool { return len(out) > 0 }

// mustEnd fails unless the error says that the connection ended, for that reason.
func mustEnd(t testing.TB, err, reason error) {
	t.Helper()
	if !errors.Is(err, ErrClosed) || !errors.Is(err, reason) {
		t.Errorf("got %v, want ErrClosed and %v", err, reason)
	}
}

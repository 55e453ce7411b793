package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCall(t *testing.T) {
	t.Parallel()
	c, p := connect(t, Options{})
	out := call(t.Context(), c, "add", map[string]int{"a": 1})
	p.expect(`{"jsonrpc":"2.0","id":1,"method":"add","params":{"a":1}}`)
	p.say(`{"jsonrpc":"2.0","id":1,"result":{"sum":"<1>"}}`)
	if o := <-out; o.err != nil || string(o.result) != `{"sum":"<1>"}` {
		t.Errorf("%s, %v", o.result, o.err)
	}
	out = call(t.Context(), c, "fail", nil)
	p.expect(`{"jsonrpc":"2.0","id":2,"method":"fail"}`)
	p.say(`{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"sign in","data":{"x":1}}}`)
	o := <-out
	if e, ok := errors.AsType[*Error](o.err); !ok || e.Code != -32000 || string(e.Data) != `{"x":1}` || o.err.Error() != "call fail: sign in (-32000)" {
		t.Errorf("%v", o.err)
	}
}

// TestBare is how Codex speaks: nobody writes the version.
func TestBare(t *testing.T) {
	t.Parallel()
	c, p := connect(t, Options{Bare: true})
	out := call(t.Context(), c, "initialize", struct{}{})
	p.expect(`{"id":1,"method":"initialize","params":{}}`)
	p.say(`{"id":1,"result":null}`)
	if o := <-out; o.err != nil || string(o.result) != "null" {
		t.Errorf("%s, %v", o.result, o.err)
	}
	p.say(`{"id":7,"method":"nosuch"}`)
	p.expect(`{"id":7,"error":{"code":-32601,"message":"method not found: nosuch"}}`)
	go c.Notify(t.Context(), "initialized", struct{}{})
	p.expect(`{"method":"initialized","params":{}}`)
}

// TestAnswersOutOfOrder has two calls at once, and ids that both sides use.
func TestAnswersOutOfOrder(t *testing.T) {
	t.Parallel()
	c, p := connect(t, Options{Request: func(context.Context, Message) (any, error) { return "mine", nil }})
	first := call(t.Context(), c, "a", nil)
	p.expect(`{"jsonrpc":"2.0","id":1,"method":"a"}`)
	second := call(t.Context(), c, "b", nil)
	p.expect(`{"jsonrpc":"2.0","id":2,"method":"b"}`)
	p.say(`{"id":1,"method":"ask"}`)
	p.expect(`{"jsonrpc":"2.0","id":1,"result":"mine"}`)
	p.say(`{"id":2,"result":2}`, `{"id":1,"result":1}`)
	if o := <-first; string(o.result) != "1" {
		t.Errorf("first: %s %v", o.result, o.err)
	}
	if o := <-second; string(o.result) != "2" {
		t.Errorf("second: %s %v", o.result, o.err)
	}
}

// TestBadResults has answers that are answers all the same.
func TestBadResults(t *testing.T) {
	t.Parallel()
	c, p := connect(t, Options{})
	for i, test := range []struct{ answer, want string }{
		{`"result":"text"`, "call m: decode its result: json: cannot unmarshal string"},
		{`"error":"just text"`, `call m: "just text" (-32603)`},
		{`"error":{"code":"E1","message":"x"}`, `call m: {"code":"E1","message":"x"} (-32603)`},
		{`"error":null,"result":3`, ""},
		{`"error":{"code":5,"message":"both"},"result":3`, "call m: both (5)"},
	} {
		out := make(chan error, 1)
		go func() {
			var number int
			out <- c.Call(t.Context(), "m", nil, &number)
		}()
		p.hear()
		p.say(fmt.Sprintf(`{"id":%d,%s}`, i+1, test.answer))
		if err := <-out; test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
			t.Errorf("%s: %v", test.answer, err)
		}
	}
}

func TestCannotEncode(t *testing.T) {
	t.Parallel()
	c, p := connect(t, Options{Request: func(context.Context, Message) (any, error) { return func() {}, nil }})
	if err := c.Call(t.Context(), "m", func() {}, nil); err == nil || errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := c.Notify(t.Context(), "m", func() {}); err == nil || errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	p.say(`{"id":"x","method":"m"}`)
	p.expect(`{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"the answer cannot be encoded: json: unsupported type: func()"}}`)
}

// TestBarrier holds that an answer waits for the notifications before it, and not for
// those after it.
func TestBarrier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var heard []string
		gate := make(chan struct{})
		c, p := connect(t, Options{Notification: func(_ context.Context, m Message) error {
			<-gate
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, m.Method)
			return nil
		}})
		out := call(t.Context(), c, "prompt", nil)
		p.hear()
		for i := range 2000 {
			p.say(fmt.Sprintf(`{"method":"n%d"}`, i))
		}
		p.say(`{"id":1,"result":{}}`, `{"method":"late"}`)
		for i := range 2000 {
			synctest.Wait()
			if ready(out) {
				t.Fatalf("the answer overtook notification %d", i)
			}
			gate <- struct{}{}
		}
		if o := <-out; o.err != nil {
			t.Error(o.err)
		}
		mu.Lock()
		for i, method := range heard {
			if method != fmt.Sprintf("n%d", i) {
				t.Fatalf("%s at %d", method, i)
			}
		}
		mu.Unlock()
		close(gate)
		c.Close()
	})
}

func TestCallIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		strays := 0
		c, p := connect(t, Options{Cancel: "$/cancel_request", Stray: func([]byte, error) { strays++ }})
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		out := call(ctx, c, "prompt", nil)
		p.hear()
		cancel(enough)
		if o := <-out; !errors.Is(o.err, enough) || errors.Is(o.err, ErrClosed) {
			t.Error(o.err)
		}
		p.expect(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`)
		p.say(`{"id":1,"error":{"code":-32800,"message":"cancelled"}}`) // nobody minds
		out = call(t.Context(), c, "again", nil)
		p.expect(`{"jsonrpc":"2.0","id":2,"method":"again"}`)
		p.say(`{"id":2,"result":1}`)
		if o := <-out; o.err != nil || strays != 1 {
			t.Error(o.err, strays)
		}
		c.Close()
	})
}

// TestCallIsWithdrawn cancels calls that are not written yet, since nobody reads.
func TestCallIsWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, p := connect(t, Options{Cancel: "$/cancel_request"})
		stuck := call(t.Context(), c, "stuck", nil)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out := call(ctx, c, "never", nil)
		told := make(chan error, 1)
		go func() { told <- c.Notify(ctx, "never", nil) }()
		if o := <-out; !errors.Is(o.err, context.DeadlineExceeded) {
			t.Error(o.err)
		}
		if err := <-told; !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if o := <-call(ctx, c, "late", nil); !errors.Is(o.err, context.DeadlineExceeded) {
			t.Error(o.err)
		}
		p.expect(`{"jsonrpc":"2.0","id":1,"method":"stuck"}`)
		go c.Notify(t.Context(), "next", nil)
		p.expect(`{"jsonrpc":"2.0","method":"next"}`)
		c.Close()
		mustEnd(t, (<-stuck).err, ErrClosed)
	})
}

// TestAnswerAndCancelAtOnce holds that a call has one outcome, whatever comes first.
func TestAnswerAndCancelAtOnce(t *testing.T) {
	t.Parallel()
	c, p := connect(t, Options{Cancel: "$/c"})
	go io.Copy(io.Discard, p.in)
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		out := call(ctx, c, "m", nil)
		go cancel()
		p.say(fmt.Sprintf(`{"id":%d,"result":true}`, i+1))
		if o := <-out; o.err != nil && !errors.Is(o.err, context.Canceled) {
			t.Fatal(o.err)
		}
	}
	p.end.Close()
}

// TestLargeLines has a line as long as one may be, and a long one of ours.
func TestLargeLines(t *testing.T) {
	t.Parallel()
	heard := make(chan int, 1)
	c, p := connect(t, Options{Notification: func(_ context.Context, m Message) error { heard <- len(m.Params); return nil }})
	line := `{"method":"m","params":"` + strings.Repeat("x", 64<<20-26) + `"}`
	p.say(line)
	if got := <-heard; len(line) != 64<<20 || got != len(line)-24 {
		t.Errorf("heard %d bytes of %d", got, len(line))
	}
	text := line[24 : 4<<20]
	out := call(t.Context(), c, "m", text)
	if got := p.hear(); len(got) < len(text) {
		t.Errorf("heard %d bytes", len(got))
	}
	p.say(`{"id":1,"result":"` + text + `"}`)
	if o := <-out; o.err != nil || len(o.result) != len(text)+2 {
		t.Errorf("%d bytes, %v", len(o.result), o.err)
	}
}

func TestLineTooLong(t *testing.T) {
	t.Parallel()
	strays := make(chan string, 1)
	c, p := connect(t, Options{MaxLine: 100, Stray: func(line []byte, why error) { strays <- fmt.Sprintf("%.9s: %v", line, why) }})
	out := call(t.Context(), c, "m", nil)
	p.hear()
	p.say(`{"method":"`+strings.Repeat("x", 100)+`"}`, `{"id":1,"result":1}`)
	if o := <-out; o.err != nil {
		t.Error(o.err)
	}
	if got := <-strays; !strings.HasPrefix(got, `{"method": ndjson: a line of 113 bytes is over the limit`) {
		t.Error(got)
	}
}

func TestDecodeParams(t *testing.T) {
	t.Parallel()
	var v struct{ A int }
	if err := (Message{Params: json.RawMessage(`{"a":3}`)}).Decode(&v); err != nil || v.A != 3 {
		t.Error(v, err)
	}
	if err := (Message{}).Decode(&v); err != nil {
		t.Error(err)
	}
	err := Message{Method: "m", Params: json.RawMessage(`{"a":"x"}`)}.Decode(&v)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code != CodeInvalidParams || !strings.HasPrefix(e.Message, "parameters of m: ") {
		t.Error(err)
	}
}

package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestRequestIDs holds that ids are echoed as they came.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	var last context.Context
	_, p := connect(t, Options{Request: func(ctx context.Context, m Message) (any, error) { last = ctx; return m.ID, nil }}) //nolint:fatcontext // to look at it later
	for _, id := range []string{"0", "-1", "1.5", "12345678901234567890", `"a"`, `"0"`, `""`, `"é\u0000"`} {
		p.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"ask"}`)
		if got, want := p.hear(), `{"jsonrpc":"2.0","id":`+id+`,"result":`; !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
		if last.Err() == nil {
			t.Error("the context outlives its request")
		}
	}
}

func TestRequestErrors(t *testing.T) {
	t.Parallel()
	_, p := connect(t, Options{Request: func(_ context.Context, m Message) (any, error) {
		switch m.Method {
		case "own":
			return nil, fmt.Errorf("wrapped: %w", &Error{Code: 3, Message: "mine", Data: []byte(`[1,` + "\n" + `2]`)})
		case "broken":
			return nil, &Error{Code: 4, Message: "mine", Data: []byte(`{`)}
		case "plain":
			return nil, errors.New("disk full")
		case "nothing":
			return nil, nil
		default:
			return nil, MethodNotFound(m.Method)
		}
	}})
	for _, test := range [][2]string{
		{"own", `"error":{"code":3,"message":"mine","data":[1,2]}`},
		{"broken", `"error":{"code":4,"message":"mine"}`},
		{"plain", `"error":{"code":-32603,"message":"disk full"}`},
		{"nothing", `"result":null`},
		{"fs/write_text_file", `"error":{"code":-32601,"message":"method not found: fs/write_text_file"}`},
	} {
		p.say(`{"id":0,"method":"` + test[0] + `"}`)
		p.expect(`{"jsonrpc":"2.0","id":0,` + test[1] + `}`)
	}
}

// TestRequestsRunConcurrently has requests that wait for each other, while calls and
// notifications go on.
func TestRequestsRunConcurrently(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	heard := make(chan string, 1)
	c, p := connect(t, Options{
		Request: func(_ context.Context, m Message) (any, error) {
			if m.ID == "3" {
				close(open)
			}
			<-open
			return m.ID, nil
		},
		Notification: func(_ context.Context, m Message) error { heard <- string(m.Raw); return nil },
	})
	p.say(`{"id":1,"method":"ask"}`, `{"id":2,"method":"ask"}`, `{"method":"tell", "params" : null}`)
	if got := <-heard; got != `{"method":"tell", "params" : null}` {
		t.Error(got)
	}
	out := call(t.Context(), c, "m", nil)
	p.hear()
	p.say(`{"id":1,"result":1}`)
	if o := <-out; o.err != nil {
		t.Error(o.err)
	}
	p.say(`{"id":3,"method":"ask"}`)
	got := map[string]bool{p.hear(): true, p.hear(): true, p.hear(): true}
	for i := 1; i <= 3; i++ {
		if line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"%d"}`, i, i); !got[line] {
			t.Errorf("no answer to %d: %v", i, got)
		}
	}
}

// TestRequestStartsInOrder holds that a request sees what was told before it.
func TestRequestStartsInOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	told := 0
	_, p := connect(t, Options{
		Notification: func(context.Context, Message) error { mu.Lock(); defer mu.Unlock(); told++; return nil },
		Request:      func(context.Context, Message) (any, error) { mu.Lock(); defer mu.Unlock(); return told, nil },
	})
	for i := 1; i <= 100; i++ {
		p.say(`{"method":"tell"}`, `{"id":0,"method":"ask"}`)
		p.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"result":%d}`, i))
	}
}

// TestArrivedInOrder holds that a notification sees every request that came before it, also
// one whose handler has not begun.
func TestArrivedInOrder(t *testing.T) {
	t.Parallel()
	arrived, heard := 0, make(chan int, 1)
	_, p := connect(t, Options{
		Arrived:      func(Message) { arrived++ },
		Notification: func(context.Context, Message) error { heard <- arrived; return nil },
		Request:      func(ctx context.Context, _ Message) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
	})
	for i := 1; i <= 100; i++ {
		p.say(fmt.Sprintf(`{"method":"ask","id":%d}`, i), `{"method":"tell"}`)
		if got := <-heard; got != i {
			t.Fatalf("%d of %d requests had arrived", got, i)
		}
	}
}

func TestRequestIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		result := make(chan any, 1)
		c, p := connect(t, Options{
			Cancel: "$/cancel_request",
			Request: func(ctx context.Context, m Message) (any, error) {
				<-ctx.Done()
				if r := <-result; r != nil {
					return r, nil
				}
				return nil, context.Cause(ctx)
			},
			Notification: func(_ context.Context, m Message) error { t.Errorf("heard %s", m.Raw); return nil },
		})
		for _, id := range []string{"0", `"a"`} {
			result <- nil
			p.say(`{"id":`+id+`,"method":"ask"}`, `{"method":"$/cancel_request","params":{"requestId":9}}`)
			synctest.Wait()
			if len(result) == 0 {
				t.Error("another request was cancelled")
			}
			p.say(`{"method":"$/cancel_request","params":{"requestId": ` + id + `}}`)
			p.expect(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32800,"message":"the request was cancelled"}}`)
		}
		result <- "all the same" // a handler may answer although it was cancelled
		p.say(`{"id":1,"method":"ask"}`, `{"method":"$/cancel_request","params":{"requestId":1}}`)
		p.expect(`{"jsonrpc":"2.0","id":1,"result":"all the same"}`)
		p.say(`{"method":"$/cancel_request","params":{"requestId":1}}`) // too late
		c.Close()
	})
}

// TestStrays has lines that are no messages: none ends the connection.
func TestStrays(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var strays []string
	gate, told := make(chan struct{}), make(chan struct{})
	_, p := connect(t, Options{
		Cancel: "$/c", Notification: func(context.Context, Message) error { close(told); return nil },
		Stray: func(line []byte, why error) {
			mu.Lock()
			defer mu.Unlock()
			strays = append(strays, string(line)+" "+why.Error())
		},
		Request: func(context.Context, Message) (any, error) { <-gate; return "once", nil },
	})
	tests := [][2]string{
		{`Loading…`, "not a JSON-RPC message"},
		{`[{"id":1,"method":"batch"}]`, "not a JSON-RPC message"},
		{`3`, "not a JSON-RPC message"},
		{`null`, "neither a method nor a result"},
		{`{}`, "neither a method nor a result"},
		{`{"id":1}`, "neither a method nor a result"},
		{`{"method":3,"id":1}`, "not a JSON-RPC message"},
		{`{"id":true,"method":"x"}`, "neither a number nor a string"},
		{`{"id":{},"result":1}`, "neither a number nor a string"},
		{`{"id":5,"result":1}`, "nobody waits"},
		{`{"id":0,"result":1}`, "nobody waits"},
		{`{"id":"1","result":1}`, "nobody waits"},
		{`{"id":null,"error":{"code":-32700,"message":"?"}}`, "nobody waits"},
		{`{"method":"$/c","params":{"requestId":[]}}`, "neither a number nor a string"},
		{`{"method":"$/c","params":3}`, "parameters of $/c"},
	}
	for _, test := range tests {
		p.say(test[0], "", "  ")
	}
	p.say(`{"id":7,"method":"ask"}`, `{"id":7,"method":"ask twice"}`)
	tests = append(tests, [2]string{`{"id":7,"method":"ask twice"}`, "in use"})
	p.say(`{"id":null,"method":"a notification"}`)
	<-told
	close(gate)
	p.expect(`{"jsonrpc":"2.0","id":7,"result":"once"}`)
	p.say(`{"id":7,"method":"again"}`)
	p.expect(`{"jsonrpc":"2.0","id":7,"result":"once"}`)
	mu.Lock()
	defer mu.Unlock()
	if len(strays) != len(tests) {
		t.Errorf("%d strays, want %d: %q", len(strays), len(tests), strays)
	}
	for i := range min(len(strays), len(tests)) {
		if !strings.HasPrefix(strays[i], tests[i][0]+" ") || !strings.Contains(strays[i], tests[i][1]) {
			t.Errorf("got %s, want %s", strays[i], tests[i])
		}
	}
}

// TestReadingPauses holds that a slow handler stops the reader once enough waits, and
// that nothing is lost.
func TestReadingPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		heard := 0
		c, p := connect(t, Options{readAhead: 64 << 10, Notification: func(context.Context, Message) error { <-gate; heard++; return nil }})
		line := `{"method":"m","params":"` + strings.Repeat("x", 8<<10) + `"}`
		said := make(chan int, 100)
		go func() {
			for i := range 20 {
				p.say(line)
				said <- i
			}
		}()
		synctest.Wait()
		// One is being handled, seven wait, one more has been read.
		if got := len(said); got != 9 {
			t.Errorf("%d lines were read", got)
		}
		close(gate)
		synctest.Wait()
		if heard != 20 {
			t.Errorf("heard %d", heard)
		}
		c.Close()
	})
}

// TestGrace holds that requests behind which the other side ends its stream are answered, with
// what comes after their answers, that this lasts for Grace at most, and that a connection whose
// answers nobody reads does not wait for it.
func TestGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c *Conn
		begun, answer := make(chan struct{}), make(chan struct{})
		o := Options{Grace: time.Minute, Request: func(ctx context.Context, m Message) (any, error) {
			begun <- struct{}{}
			if m.Method == "never" {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			<-answer
			return Then{"done", func() { _ = c.Notify(context.Background(), "more", nil) }}, nil
		}}
		c, p := connect(t, o)
		p.say(`{"id":1,"method":"ask"}`)
		p.out.Close()
		<-begun
		synctest.Wait()
		if c.state.phase != open {
			t.Error("the end is not waited for")
		}
		close(answer)
		p.expect(`{"jsonrpc":"2.0","id":1,"result":"done"}`)
		p.expect(`{"jsonrpc":"2.0","method":"more"}`)
		if err := c.Wait(); !errors.Is(err, io.EOF) {
			t.Error(err)
		}

		c, p = connect(t, o)
		p.say(`{"id":1,"method":"never"}`)
		p.out.Close()
		<-begun
		began := time.Now()
		if err := c.Wait(); !errors.Is(err, io.EOF) || time.Since(began) != o.Grace {
			t.Errorf("%v after %s", err, time.Since(began))
		}

		c, p = connect(t, o)
		p.say(`{"id":1,"method":"never"}`)
		p.out.Close()
		<-begun
		began = time.Now()
		p.end.Close()
		_ = c.Notify(t.Context(), "anybody", nil)
		if _ = c.Wait(); time.Since(began) >= o.Grace {
			t.Error("it is waited for, although nobody reads")
		}
	})
}

package sdk_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/sdk"
	"github.com/terret-dev/terret/store/sqlite"
)

// Breaking off loses nothing and leaves nothing behind.
func TestBreak(t *testing.T) {
	s := newSession(t, demo(t))
	send(t, s, "list files, then list files")
	before := goleak.IgnoreCurrent()
	var messages []*sdk.NormalizedMessage
	for results := 0; results == 0; {
		for msg, err := range s.Receive(deadline(t)) {
			if err != nil {
				t.Fatal(err)
			}
			switch m := msg.(type) {
			case *sdk.NormalizedMessage:
				messages = append(messages, m)
			case *sdk.ResultMessage:
				results++
			}
			break // after each message
		}
	}
	if len(messages) != 6 { // user, assistant and tool twice, assistant
		t.Errorf("%d messages", len(messages))
	}
	thread(t, "", messages)
	goleak.VerifyNone(t, before)
}

// Nothing is begun by asking for an iterator.
func TestReceiveWithoutSend(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t))
	_ = s.Receive(deadline(t))
	n := 0
	for msg, err := range s.Receive(deadline(t)) {
		n++
		if msg != nil || kindOf(err) != terret.CodeConflict {
			t.Errorf("%v, %v", msg, err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}

// A message that somebody drops from the queue has no result, and says so.
func TestDropped(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	o := scripted(t, []mock.Step{{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command": "ls"}`), Ask: true}}, {Text: "done"}}, []mock.Step{{Text: "last"}})
	o.DataDir, o.Policy = t.TempDir(), terret.PolicyAsk
	o.OnRequest = func(context.Context, terret.Request) (terret.Decision, error) {
		close(asked)
		<-release
		return terret.Decision{Behavior: terret.BehaviorAllow}, nil
	}
	s := newSession(t, o)
	for _, text := range []string{"go", "second", "third"} {
		send(t, s, text)
	}
	<-asked
	store, err := sqlite.Open(deadline(t), filepath.Join(o.DataDir, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	queue, err := store.Pending(deadline(t), s.ID())
	if err != nil || len(queue) != 2 {
		t.Fatalf("%+v, %v", queue, err)
	}
	for _, item := range queue {
		if err := store.Drop(deadline(t), item.ID); err != nil {
			t.Fatal(err)
		}
	}
	close(release)
	if _, result := receive(t, s); result.Content != "done" {
		t.Errorf("%+v", result)
	}
	for i, want := range []terret.ErrorCode{terret.CodeNotFound, terret.CodeNotFound, terret.CodeConflict} {
		for _, err := range s.Receive(deadline(t)) {
			if kindOf(err) != want {
				t.Fatalf("%d: %v", i, err)
			}
		}
	}
	send(t, s, "go on")
	if _, result := receive(t, s); result.Content != "last" {
		t.Errorf("%+v", result)
	}
}

// A second loop would take messages from the first, so it fails.
func TestOneReceive(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t, []mock.Step{{Text: "one"}}))
	send(t, s, "go")
	send(t, s, "again")
	for _, err := range s.Receive(deadline(t)) {
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range s.Receive(deadline(t)) {
			if n++; n > 1 || kindOf(err) != terret.CodeConflict {
				t.Fatalf("a second loop: %v", err)
			}
		}
	}
	receive(t, s)
}

func TestReceiveEndsWithContext(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t, []mock.Step{{Text: "working"}, {Hang: true}}, []mock.Step{{Text: "again"}}))
	send(t, s, "go")
	ctx, cancel := context.WithCancelCause(deadline(t))
	defer cancel(nil)
	why := errors.New("enough")
	var last error
	for msg, err := range s.Receive(ctx) {
		if m, ok := msg.(*sdk.NormalizedMessage); ok && m.Text() == "working" {
			cancel(why)
		}
		last = err
	}
	if !errors.Is(last, why) {
		t.Errorf("it ended with %v", last)
	}
	// The turn goes on, and can be stopped and received.
	if err := s.Interrupt(deadline(t)); err != nil {
		t.Fatal(err)
	}
	_, result := receive(t, s)
	if !result.IsError || result.Error.Code != terret.CodeInterrupted {
		t.Errorf("%+v", result)
	}
	if err := s.Interrupt(deadline(t)); kindOf(err) != terret.CodeConflict {
		t.Errorf("interrupt without a turn: %v", err)
	}
	send(t, s, "go on")
	if _, result := receive(t, s); result.Content != "again" {
		t.Errorf("%+v", result)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t, []mock.Step{{Think: "hm"}, {Text: "complete words"}}))
	send(t, s, "go")
	var deltas, whole string
	var seq int64
	for ev, err := range s.Events(deadline(t)) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Seq != seq+1 {
			t.Errorf("event %d after %d", ev.Seq, seq)
		}
		seq = ev.Seq
		switch d := ev.Data.(type) {
		case terret.MessageDelta:
			deltas += d.Text
		case terret.MessageComplete:
			whole = terret.TextOf(d.Blocks)
		}
		if _, ok := ev.Data.(terret.TurnComplete); ok {
			break
		}
	}
	if deltas != "complete words" || whole != deltas {
		t.Errorf("pieces %q, whole %q", deltas, whole)
	}
	// Receive gives the whole only.
	messages, _ := receive(t, s)
	if len(messages) != 2 || messages[1].Text() != "complete words" {
		t.Errorf("%d messages", len(messages))
	}
}

// Close ends a turn and whoever waits, and may be called again.
func TestCloseDuringTurn(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t, []mock.Step{{Text: "working"}, {Hang: true}}))
	send(t, s, "go")
	working, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		var last error
		for msg, err := range s.Receive(context.Background()) {
			if m, ok := msg.(*sdk.NormalizedMessage); ok && m.Text() == "working" {
				close(working)
			}
			if r, ok := msg.(*sdk.ResultMessage); ok {
				err = r.Error
			}
			last = err
		}
		ended <- last
	}()
	<-working
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if kind := kindOf(<-ended); kind != terret.CodeInterrupted && kind != terret.CodeSessionClosed {
		t.Errorf("receive ended with %s", kind)
	}
	if err := s.Send(deadline(t), "more"); kindOf(err) != terret.CodeSessionClosed {
		t.Errorf("send after close: %v", err)
	}
	if err := s.Interrupt(deadline(t)); kindOf(err) != terret.CodeSessionClosed {
		t.Errorf("interrupt after close: %v", err)
	}
	for _, err := range s.Receive(deadline(t)) {
		if kindOf(err) != terret.CodeSessionClosed {
			t.Errorf("receive after close: %v", err)
		}
	}
	for _, err := range s.Events(deadline(t)) {
		if err != nil && kindOf(err) != terret.CodeSessionClosed {
			t.Errorf("events after close: %v", err)
		}
	}
}

// The agent that crashes gives a result too.
func TestCrash(t *testing.T) {
	t.Parallel()
	s := newSession(t, scripted(t, []mock.Step{{Text: "working"}, {Crash: true}}, []mock.Step{{Text: "back"}}))
	send(t, s, "go")
	if _, result := receive(t, s); !result.IsError || result.Error.Code != terret.CodeProcessFailed {
		t.Errorf("%+v", result)
	}
	send(t, s, "again")
	if _, result := receive(t, s); result.Content != "back" {
		t.Errorf("%+v", result)
	}
}

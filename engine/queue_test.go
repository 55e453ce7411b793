package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

func (f *fixture) queue(session string) []string {
	f.t.Helper()
	turns, err := f.Queue(f.t.Context(), session)
	if err != nil {
		f.t.Fatal(err)
	}
	out := []string{}
	for _, turn := range turns {
		if turn.State != terret.TurnQueued || turn.Origin != terret.OriginQueue {
			f.t.Errorf("queued turn %+v", turn)
		}
		out = append(out, terret.TextOf(turn.Prompt))
	}
	return out
}

// TestQueueUnread holds that turns behind which nothing is queued do not read the queue:
// it is read when the session is taken, and when it is given back.
func TestQueueUnread(t *testing.T) {
	t.Parallel()
	f, store := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "ok"}}}}))
	id := f.session()
	for range 5 {
		f.run(id, "hello")
	}
	f.close()
	if got := store.reads[id]; got != 2 {
		t.Errorf("the queue was read %d times, want 2", got)
	}
}

// TestQueueGoesOn runs several prompts that were queued long ago, when nothing tells the
// engine of them any more.
func TestQueueGoesOn(t *testing.T) {
	t.Parallel()
	g := newGate()
	f, store := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}}))
	id := f.session()
	f.prompt(id, "first")
	g.wait(t)
	f.promptWhen(id, "a", engine.WhenQueue)
	f.promptWhen(id, "b", engine.WhenQueue)
	last := f.promptWhen(id, "c", engine.WhenQueue)
	looked := make(chan struct{}, 1)
	store.set(func() { store.looked = looked })
	for range 3 { // the first may have begun before, the second may be due anyway
		engine.LookAgain(f.Engine)
		receive(t, looked)
	}
	store.set(func() { store.looked = nil })
	close(g.open)
	f.ended(id, last.ID)
}

// TestQueueLeftBehindRuns runs what an earlier owner left in the queue behind the first
// prompt, also if somebody has looked at the queue before, as undo does.
func TestQueueLeftBehindRuns(t *testing.T) {
	t.Parallel()
	f, store := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "ok"}}}}))
	id, left, title := f.session(), terret.NewID(terret.PrefixTurn), "mine"
	if err := f.store.Send(t.Context(), inQueue(id, left)); err != nil {
		t.Fatal(err)
	}
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err != nil { // takes the session
		t.Fatal(err)
	}
	read := make(chan struct{}, 1)
	store.set(func() { store.inbox = read })
	for range 2 {
		engine.LookAgain(f.Engine)
		receive(t, read)
	}
	engine.Next(f.Engine, id)
	f.run(id, "go")
	f.ended(id, left)
}

// TestQueueAfterAnError runs what is queued although the queue could not be read once,
// by the watcher or at the end of a turn.
func TestQueueAfterAnError(t *testing.T) {
	t.Parallel()
	for _, watcher := range []bool{true, false} {
		t.Run(fmt.Sprintf("watcher=%t", watcher), func(t *testing.T) {
			t.Parallel()
			g := newGate()
			f, store := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}}))
			id, sent := f.session(), terret.NewID(terret.PrefixTurn)
			first := f.prompt(id, "first")
			g.wait(t)
			fail := func(reader string) { store.set(func() { store.once = map[string]error{reader: errDisk} }) }
			if watcher {
				close(g.open)
				f.ended(id, first.ID)
				fail("")
			}
			read := make(chan struct{}, 1)
			store.set(func() { store.inbox = read })
			if err := f.store.Send(t.Context(), inQueue(id, sent)); err != nil {
				t.Fatal(err)
			}
			if !watcher {
				for range 2 { // after the second, the engine has done what the first one told it
					engine.LookAgain(f.Engine)
					receive(t, read)
				}
				fail(id)
				close(g.open)
			}
			f.ended(id, sent)
		})
	}
}

// inQueue is a prompt as another process sends it.
func inQueue(session, turn string) terret.InboxItem {
	return terret.InboxItem{ID: turn, Session: session, Kind: terret.InboxPrompt, Body: terret.JSON(`{"blocks":[{"type":"text","text":"x"}]}`)}
}

func TestQueue(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	id := f.session()
	f.prompt(id, "first")
	g.wait(t)
	a := f.promptWhen(id, "a", engine.WhenQueue)
	b := f.promptWhen(id, "b", engine.WhenQueue)
	c := f.promptWhen(id, "c", engine.WhenQueue)
	d := f.promptWhen(id, "d", engine.WhenQueue)
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, f.queue(id)); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	edited := text("B")
	for _, err := range []error{
		f.EditQueued(t.Context(), engine.QueueEdit{Session: id, Turn: b.ID, Prompt: &edited}),
		f.EditQueued(t.Context(), engine.QueueEdit{Session: id, Turn: d.ID, Before: a.ID}),
		f.DropQueued(t.Context(), id, c.ID, ""),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"d", "a", "B"}, f.queue(id)); diff != "" {
		t.Errorf("queue (-want +got):\n%s", diff)
	}
	wantKind(t, f.DropQueued(t.Context(), id, c.ID, ""), terret.CodeConflict)
	wantKind(t, f.EditQueued(t.Context(), engine.QueueEdit{Session: id, Turn: b.ID, Prompt: &terret.Prompt{}}), terret.CodeInvalidRequest)
	close(g.open)
	f.ended(id, b.ID)
	f.close()
	var ran []string
	for _, s := range all[terret.TurnStart](f.log(id))[1:] {
		if s.Origin != terret.OriginQueue {
			t.Errorf("origin %s", s.Origin)
		}
		ran = append(ran, terret.TextOf(s.Prompt))
	}
	if diff := cmp.Diff([]string{"d", "a", "B"}, ran); diff != "" {
		t.Errorf("ran (-want +got):\n%s", diff)
	}
	if left := f.queue(id); len(left) != 0 {
		t.Errorf("left in the queue: %v", left)
	}
	checkLog(t, f.store, id)
}

// A queue goes on after a turn that failed, was interrupted or killed its agent.
func TestQueueGoesOnAfterFailure(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Fail: terret.Errorf(terret.CodeModelError, "no")}}, {{Crash: true}}, {{Text: "ok"}}}})
	id := f.session()
	f.prompt(id, "interrupted")
	g.wait(t)
	f.promptWhen(id, "fails", engine.WhenQueue)
	f.promptWhen(id, "crashes", engine.WhenQueue)
	done := f.promptWhen(id, "works", engine.WhenQueue)
	if err := f.Interrupt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	events := f.ended(id, done.ID)
	if got := last[terret.TurnComplete](t, events).Text; got != "ok" {
		t.Errorf("text %q", got)
	}
	f.close()
	checkLog(t, f.store, id)
}

func TestBusy(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}}})
	id := f.session()
	f.prompt(id, "first")
	g.wait(t)
	for _, when := range []engine.When{"", engine.WhenReject} {
		_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("x"), When: when})
		wantKind(t, err, terret.CodeSessionBusy)
	}
	_, err := f.Undo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeSessionBusy)
}

func TestSteer(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}}})
	id := f.session()
	turn := f.prompt(id, "first")
	g.wait(t)
	joined := f.promptWhen(id, "and that", engine.WhenSteer)
	if joined.ID != turn.ID || joined.Origin != terret.OriginSteer {
		t.Errorf("steered turn %+v", joined)
	}
	close(g.open)
	events := f.ended(id, turn.ID)
	said := all[terret.UserPrompt](events)
	if len(said) != 1 || terret.TextOf(said[0].Blocks) != "and that" || said[0].MessageID == "" {
		t.Errorf("user prompts %+v", said)
	}
	if got := last[terret.TurnComplete](t, events).Text; got != "You added: and that" {
		t.Errorf("text %q", got)
	}
}

func TestSteerUnsupported(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}}, Without: []terret.Capability{terret.CanSteer}})
	id := f.session()
	f.prompt(id, "first")
	g.wait(t)
	_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("x"), When: engine.WhenSteer})
	wantKind(t, err, terret.CodeUnsupported)
	if n := len(all[terret.UserPrompt](f.log(id))); n != 0 {
		t.Error("the log says that the agent was told")
	}
}

// unsteerable is an agent that says it can be steered, and refuses.
type unsteerable struct{ *puppet }

func (u unsteerable) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := u.puppet.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return stubborn{a}, nil
}

type stubborn struct{ terret.Agent }

func (stubborn) Steer(context.Context, string, terret.Prompt) error {
	return terret.Errorf(terret.CodeConflict, "no more")
}

// What the agent did not take is not left in the log as if it had.
func TestSteerRefused(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	p.caps = terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{terret.CanSteer: {OK: true, By: terret.ByAgent}}}
	f := openFixture(t, ":memory:", unsteerable{p})
	id, a, turn := chatty(t, f, p)
	_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("x"), When: engine.WhenSteer})
	wantKind(t, err, terret.CodeConflict)
	a.complete(t, turn)
	events := f.ended(id, turn)
	said, note := last[terret.UserPrompt](t, events), last[terret.Notification](t, events)
	if note.Type != "steer_refused" || note.Level != "warning" || !strings.Contains(note.Text, said.MessageID) || !strings.Contains(note.Text, "no more") {
		t.Errorf("note %+v of %+v", note, said)
	}
	f.close()
	checkLog(t, f.store, id)
}

// A prompt that names its turn starts it once, whatever the turn's state.
func TestPromptIsIdempotent(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	id := f.session()
	again := func(turn string, when engine.When) terret.Turn {
		t.Helper()
		got, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("same"), Turn: turn, When: when})
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != turn {
			t.Errorf("turn %s, want %s", got.ID, turn)
		}
		return got
	}
	first, second := terret.NewID(terret.PrefixTurn), terret.NewID(terret.PrefixTurn)
	again(first, "")
	g.wait(t)
	if s := again(first, "").State; s != terret.TurnRunning {
		t.Errorf("a running turn is %s", s)
	}
	again(second, engine.WhenQueue)
	if s := again(second, engine.WhenQueue).State; s != terret.TurnQueued {
		t.Errorf("a queued turn is %s", s)
	}
	if n := len(f.queue(id)); n != 1 {
		t.Errorf("%d in the queue", n)
	}
	close(g.open)
	f.ended(id, second)
	if s := again(first, "").State; s != terret.TurnCompleted {
		t.Errorf("an ended turn is %s", s)
	}
	again(second, engine.WhenQueue)
	f.run(id, "something else")
	f.close()
	if n := len(all[terret.TurnStart](f.log(id))); n != 3 {
		t.Errorf("%d turns, want 3", n)
	}
	checkLog(t, f.store, id)
}

// The same, when it is asked for many times at once and the turn is over quickly.
func TestPromptIsIdempotentUnderConcurrency(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	id := f.session()
	for range 10 {
		turn := terret.NewID(terret.PrefixTurn)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				got, err := f.Prompt(context.Background(), engine.PromptRequest{Session: id, Prompt: text("x"), Turn: turn})
				if err != nil || got.ID != turn {
					t.Errorf("turn %q, %v", got.ID, err)
				}
			})
		}
		group.Wait()
		f.ended(id, turn)
	}
	f.close()
	if n := len(all[terret.TurnStart](f.log(id))); n != 10 {
		t.Errorf("%d turns, want 10", n)
	}
	checkLog(t, f.store, id)
}

// A queued prompt whose turn has begun elsewhere is not begun again.
func TestQueuedTwice(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	id := f.session()
	turn := f.prompt(id, "once")
	g.wait(t)
	if err := f.store.Send(t.Context(), terret.InboxItem{ID: turn.ID, Session: id, Kind: terret.InboxPrompt, Body: terret.JSON(`{"blocks":[{"type":"text","text":"x"}]}`)}); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Send(t.Context(), terret.InboxItem{ID: terret.NewID(terret.PrefixTurn), Session: id, Kind: terret.InboxPrompt, Body: terret.JSON(`[]`)}); err != nil {
		t.Fatal(err)
	}
	next := f.promptWhen(id, "next", engine.WhenQueue)
	close(g.open)
	f.ended(id, next.ID)
	f.close()
	if starts := all[terret.TurnStart](f.log(id)); len(starts) != 2 {
		t.Errorf("%d turns, want 2", len(starts))
	}
	if !slices.Equal(f.queue(id), []string{}) {
		t.Error("they are still in the queue")
	}
	checkLog(t, f.store, id)
}

func TestDrain(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}}})
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	id := f.session()
	turn := f.prompt(id, "go")
	g.wait(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain: %v", err)
	}
	close(g.open)
	if err := f.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if turns, err := f.store.Turns(t.Context(), id); err != nil || turns[0].ID != turn.ID || !turns[0].State.Ended() {
		t.Errorf("after drain: %+v, %v", turns, err)
	}
}

// TestOrigin holds that a turn says where its prompt came from, also if it was queued.
func TestOrigin(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	id := f.session()
	last := ""
	for _, words := range []string{"now", "later"} {
		turn, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text(words), When: engine.WhenQueue, Origin: terret.OriginBus})
		if err != nil {
			t.Fatal(err)
		}
		last = turn.ID
	}
	g.wait(t)
	close(g.open)
	f.ended(id, last)
	turns, err := f.store.Turns(t.Context(), id)
	if err != nil || len(turns) != 2 || turns[0].Origin != terret.OriginBus || turns[1].Origin != terret.OriginBus {
		t.Errorf("%+v: %v", turns, err)
	}
}

// TestQueueUnsure has a prompt in the queue whose turn has been, while the store cannot say
// so for a moment: it does not run again.
func TestQueueUnsure(t *testing.T) {
	t.Parallel()
	f, store := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "ok"}}}}))
	id := f.session()
	been := f.prompt(id, "one")
	f.ended(id, been.ID)
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Send(t.Context(), inQueue(id, been.ID)); err != nil {
		t.Fatal(err)
	}
	store.set(func() { store.unread = map[string]error{been.ID: errors.New("out of order")} })
	f.run(id, "two")
	last := f.promptWhen(id, "three", engine.WhenQueue)
	f.ended(id, last.ID)
	var begun []string
	for _, ev := range f.log(id) {
		if d, ok := ev.Data.(terret.TurnStart); ok {
			begun = append(begun, terret.TextOf(d.Prompt))
		}
	}
	if !slices.Equal(begun, []string{"one", "two", "three"}) {
		t.Errorf("%q", begun)
	}
}

// steerable is an agent that can be steered; onSteer runs while it is.
type steerable struct {
	*puppet
	onSteer func()
}

func (s steerable) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := s.puppet.Open(ctx, r)
	if err != nil {
		return nil, err
	}
	return willing{a, s.onSteer}, nil
}

type willing struct {
	terret.Agent
	onSteer func()
}

func (w willing) Steer(context.Context, string, terret.Prompt) error {
	w.onSteer()
	return nil
}

// A message that the agent took is not sent again because the turn has ended and the
// session is being closed when the agent says so.
func TestSteeredOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		p.caps = terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{terret.CanSteer: {OK: true, By: terret.ByAgent}}}
		taken, answer, closing := make(chan struct{}), make(chan struct{}), make(chan struct{})
		p.onClose = func(*puppetAgent) { <-closing }
		f := openFixture(t, ":memory:", steerable{p, func() { close(taken); <-answer }})
		id, a, turn := chatty(t, f, p)
		told := make(chan error, 1)
		go func() {
			_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("x"), When: engine.WhenSteer, Turn: terret.NewID(terret.PrefixTurn)})
			told <- err
		}()
		receive(t, taken)
		a.complete(t, turn)
		f.ended(id, turn)
		go func() { _ = f.CloseSession(t.Context(), id, "me") }()
		synctest.Wait()
		close(answer)
		synctest.Wait()
		close(closing)
		if err := receive(t, told); err != nil {
			t.Error(err)
		}
		if n := len(all[terret.TurnStart](f.log(id))); n != 1 {
			t.Errorf("%d turns have begun, want 1: the message was sent again", n)
		}
	})
}

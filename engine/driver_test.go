package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// What Open fails with is what the turn fails with; the session stays usable.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var fail *terret.Error
	d := mock.NewFunc("mock", func(terret.Session) mock.Script {
		mu.Lock()
		defer mu.Unlock()
		return mock.Script{OpenError: fail}
	})
	f := openFixture(t, ":memory:", d)
	id := f.session()
	for _, kind := range []terret.ErrorCode{terret.CodeAgentNotFound, terret.CodeNotAuthenticated} {
		mu.Lock()
		fail = terret.Errorf(kind, "do this: x")
		mu.Unlock()
		e := last[terret.TurnError](t, f.run(id, "go")).Error
		if e.Code != kind || e.Message != "do this: x" {
			t.Errorf("end %+v", e)
		}
		f.until(id, 0, isState(terret.SessionFailed))
	}
	mu.Lock()
	fail = nil
	mu.Unlock()
	if n := len(all[terret.TurnComplete](f.run(id, "go"))); n != 1 {
		t.Error("the session is no longer usable")
	}
	f.close()
	checkLog(t, f.store, id)
}

func TestDriverGone(t *testing.T) {
	t.Parallel()
	a := fileFixture(t, "", mock.New(mock.Script{}))
	id := a.session()
	b := fileFixture(t, a.path, mock.NewFunc("other", nil))
	if e := last[terret.TurnError](t, b.run(id, "go")).Error; e.Code != terret.CodeAgentNotFound {
		t.Errorf("end %+v", e)
	}
}

func TestPromptFails(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	p.onOpen = func(_ context.Context, a *puppetAgent) error {
		a.onPrompt = func(context.Context, string) error { return errors.New("broken pipe") }
		return nil
	}
	f := openFixture(t, ":memory:", p)
	id := f.session()
	if e := last[terret.TurnError](t, f.run(id, "go")).Error; e.Code != terret.CodeInternal || e.Message != "broken pipe" {
		t.Errorf("end %+v", e)
	}
	f.close()
	checkLog(t, f.store, id)
}

// empty is a driver that opens nothing.
type empty struct{ *puppet }

func (empty) Open(context.Context, terret.OpenRequest) (terret.Agent, error) { return nil, nil }

// A driver that is not finished fails its turns, and nothing else.
func TestUnfinishedDriver(t *testing.T) {
	t.Parallel()
	f := openFixture(t, ":memory:", empty{newPuppet()})
	id := f.session()
	if e := last[terret.TurnError](t, f.run(id, "go")).Error; e.Code != terret.CodeInternal || !strings.Contains(e.Message, "neither an agent nor an error") {
		t.Errorf("no agent: %+v", e)
	}
	p := newPuppet()
	f = openFixture(t, ":memory:", p)
	id, a, first := chatty(t, f, p)
	if d, err := a.req.Host.Ask(t.Context(), terret.Ask{Gate: terret.GatePermission}); terret.AsError(err).Code != terret.CodeInternal {
		t.Errorf("a request without data: %+v, %v", d, err)
	}
	a.say(t, terret.TurnError{})
	if e := last[terret.TurnError](t, f.ended(id, first)).Error; e.Code != terret.CodeInternal || e.Message == "" {
		t.Errorf("an error that says nothing: %+v", e)
	}
	second := f.prompt(id, "again").ID
	a.prompted(t)
	a.complete(t, second)
	f.ended(id, second)
	f.close()
	checkLog(t, f.store, id)
}

// A request that its agent has given up before it was told begins no turn: drivers count on
// that where a request and the end of its turn cross.
func TestAskTooLate(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, first := chatty(t, f, p)
	a.complete(t, first)
	f.ended(id, first)
	ctx, cancel := context.WithCancelCause(t.Context())
	mine := errors.New("the turn is over")
	cancel(mine)
	if d, err := a.req.Host.Ask(ctx, askFor("1", "make")); !errors.Is(err, mine) {
		t.Errorf("%+v, %v", d, err)
	}
	second := f.prompt(id, "again").ID // it would be busy
	a.prompted(t)
	a.complete(t, second)
	f.ended(id, second)
	if turns, err := f.store.Turns(t.Context(), id); err != nil || len(turns) != 2 {
		t.Errorf("%+v, %v", turns, err)
	}
}

// Ends that come twice, for other turns, or while none runs, end nothing.
func TestStrayEnds(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, first := chatty(t, f, p)
	a.say(t, terret.TurnComplete{Text: "one"}, terret.TurnComplete{Text: "two"}, terret.TurnError{})
	f.ended(id, first)
	a.complete(t, first)
	second := f.prompt(id, "again").ID
	a.prompted(t)
	a.complete(t, first)
	a.complete(t, terret.NewID(terret.PrefixTurn))
	a.say(t, terret.Notification{Text: "still here"})
	events := f.until(id, 0, isKind("notification"))
	if got := events[len(events)-1].Turn; got != second {
		t.Errorf("the notification is of turn %q", got)
	}
	a.complete(t, second)
	f.ended(id, second)
	f.close()
	wantStory(t, f.log(id), `
		turn.start session.updated [starting] [busy] turn.complete [idle]*
		turn.start [busy] notification turn.complete [idle]* session.end*`)
	checkLog(t, f.store, id)
}

// Events after the end of a turn, in the same breath, are outside it, or begin one.
func TestEventsAfterTheEnd(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	err := a.req.Host.Emit(t.Context(), []terret.Event{
		{Data: terret.TurnComplete{Text: "done"}},
		{Data: terret.Notification{Text: "by the way"}},
		{Data: terret.MessageDelta{MessageID: "m", Text: "I go on"}},
		{Data: terret.TurnComplete{}},
	}, []byte("cursor"))
	if err != nil {
		t.Fatal(err)
	}
	f.until(id, 0, func(ev terret.Event) bool { return turnEnd(ev) && ev.Turn != turn })
	f.close()
	wantStory(t, f.log(id), `
		turn.start session.updated [starting] [busy] turn.complete [idle]* notification*
		turn.start [busy] message.delta turn.complete [idle]* session.end*`)
	checkLog(t, f.store, id)
}

// The cursor is in the log with the events it belongs to, never before them.
func TestCursor(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f, faults := faultyFixture(t, p)
	id, a, turn := chatty(t, f, p)
	var mu sync.Mutex
	early := false
	faults.failBatches(func(b terret.Batch) error {
		ended := false
		for _, ev := range b.Events {
			ended = ended || turnEnd(ev)
		}
		mu.Lock()
		defer mu.Unlock()
		early = early || string(b.Cursor) == "after the end" && !ended
		return nil
	})
	settling, settle := make(chan struct{}, 1), make(chan struct{})
	faults.set(func() {
		faults.answer = func(terret.Decision) error {
			settling <- struct{}{}
			<-settle
			return nil
		}
	})
	asked := make(chan error, 1)
	go func() {
		_, err := a.ask("1", "make")
		asked <- err
	}()
	f.request(id, 1)
	if err := a.req.Host.Emit(t.Context(), []terret.Event{{Turn: turn, Data: terret.TurnComplete{}}}, []byte("after the end")); err != nil {
		t.Fatal(err)
	}
	receive(t, settling)
	other, c, turn2 := chatty(t, f, p) // whatever waited is committed by now
	c.complete(t, turn2)
	f.ended(other, turn2)
	close(settle)
	f.ended(id, turn)
	if err := receive(t, asked); err != nil {
		t.Error(err)
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	turn = f.prompt(id, "again").ID
	b := p.agent(t)
	if got := string(b.req.Cursor); got != "after the end" {
		t.Errorf("opened again with cursor %q", got)
	}
	b.prompted(t)
	b.complete(t, turn)
	f.ended(id, turn)
	mu.Lock()
	defer mu.Unlock()
	if early {
		t.Error("the cursor was committed before the end")
	}
}

// An agent that was closed can say nothing more.
func TestEmitAfterClose(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	p.onClose = func(a *puppetAgent) { // it may finish its sentence, but begin nothing
		_ = a.emit(terret.Event{Data: terret.MessageDelta{MessageID: "m", Text: "one more thing"}}, terret.Event{Data: terret.SessionEnd{Reason: "agent_exit"}})
	}
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	a.complete(t, turn)
	f.ended(id, turn)
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if err := a.emit(note(1)); err == nil {
		t.Error("a closed agent could emit")
	}
	if _, err := a.ask("1", "make"); err == nil {
		t.Error("a closed agent could ask")
	}
	if err := a.req.Host.Delivered(t.Context(), "x"); err == nil {
		t.Error("a closed agent could deliver")
	}
	wantStory(t, f.log(id), `
		turn.start session.updated [starting] [busy] turn.complete [idle]* message.delta* session.end* session.end*`)
	checkLog(t, f.store, id)
}

// An agent that dies without a word about its turn and its requests leaves neither
// behind.
func TestAgentExit(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	answered := make(chan struct{})
	p.onClose = func(*puppetAgent) { <-answered } // it waits for its own goroutines
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	answer := make(chan terret.Decision, 1)
	go func() {
		d, _ := a.ask("1", "make")
		close(answered)
		answer <- d
	}()
	f.request(id, 1)
	a.say(t, terret.SessionEnd{Reason: "agent_exit"})
	if d := receive(t, answer); d.Source != terret.ByAgentExit {
		t.Errorf("decision %+v", d)
	}
	if e := last[terret.TurnError](t, f.ended(id, turn)).Error; e.Code != terret.CodeProcessFailed {
		t.Errorf("end %+v", e)
	}
	receive(t, a.closed)
	second := f.prompt(id, "again").ID
	b := p.agent(t)
	b.prompted(t)
	b.complete(t, second)
	f.ended(id, second)
	f.close()
	checkLog(t, f.store, id)
}

// The last words of an agent that is being killed are not taken for the next
// agent's.
func TestLastWordsOfAKilledAgent(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	dying, live := make(chan struct{}, 1), make(chan struct{})
	p.onClose = func(a *puppetAgent) {
		dying <- struct{}{}
		<-live
		_ = a.emit(terret.Event{Data: terret.MessageDelta{MessageID: "m", Text: "aargh"}}, terret.Event{Data: terret.TurnComplete{Text: "not yours"}},
			terret.Event{Data: terret.SessionEnd{Reason: "agent_exit"}})
	}
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	a.say(t, terret.TurnComplete{}, terret.MessageDelta{MessageID: "m", Text: "more"}) // a turn of its own
	f.until(id, 0, func(ev terret.Event) bool { return ev.Kind() == "message.delta" && ev.Turn != turn })
	killed := make(chan error, 1)
	go func() { killed <- f.Kill(context.Background(), id, "") }()
	receive(t, dying)
	close(live)
	if err := receive(t, killed); err != nil {
		t.Fatal(err)
	}
	p.onClose = nil
	second := f.prompt(id, "again").ID
	b := p.agent(t)
	b.prompted(t)
	b.say(t, terret.Notification{Text: "hello"})
	b.complete(t, second)
	if got := last[terret.TurnComplete](t, f.ended(id, second)).Text; got != "done" {
		t.Errorf("the turn ended with %q", got)
	}
	f.close()
	checkLog(t, f.store, id)
}

// Drivers cannot say what only the engine may, nor make requests that nobody
// decides.
func TestDriverOversteps(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	a.say(t, terret.TurnStart{}, terret.SessionStateChange{State: terret.SessionClosed}, terret.SessionResumed{},
		terret.PermissionDecision{Decision: terret.Decision{RequestID: "req_x", Behavior: terret.BehaviorAllow}})
	if err := a.emit(terret.Event{Data: terret.PermissionRequest{Tool: "Bash"}, Expects: &terret.Expects{RequestID: "req_y", Gate: terret.GatePermission}}); err != nil {
		t.Fatal(err)
	}
	a.complete(t, turn)
	events := f.ended(id, turn)
	if n := len(all[terret.DiagWarning](events)); n != 4 {
		t.Errorf("%d warnings, want 4: %v", n, kindsOf(events))
	}
	f.close()
	checkLog(t, f.store, id)
}

// Agents may speak from anywhere; what one goroutine says stays in order.
func TestEmitFromMany(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, turn := chatty(t, f, p)
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for n := range 30 {
				a.say(t, terret.ToolProgress{ToolID: string(rune('a' + g)), ElapsedMS: int64(n + 1)})
			}
		})
	}
	group.Wait()
	a.complete(t, turn)
	got := map[string]int64{}
	for _, d := range all[terret.ToolProgress](f.ended(id, turn)) {
		if d.ElapsedMS != got[d.ToolID]+1 {
			t.Errorf("%s: %d after %d", d.ToolID, d.ElapsedMS, got[d.ToolID])
		}
		got[d.ToolID] = d.ElapsedMS
	}
	if len(got) != 8 {
		t.Errorf("%d speakers", len(got))
	}
}

// An interrupt that comes before the agent knows the turn is not lost.
func TestInterruptWhileStarting(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		p := newPuppet()
		opening := make(chan struct{}, 1)
		p.onOpen = func(ctx context.Context, _ *puppetAgent) error {
			opening <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		}
		f := openFixture(t, ":memory:", p)
		id := f.session()
		turn := f.prompt(id, "go").ID
		receive(t, opening)
		want, stop := terret.CodeInterrupted, f.Interrupt
		if kill {
			want, stop = terret.CodeKilled, f.Kill
		}
		if err := stop(t.Context(), id, ""); err != nil {
			t.Fatal(err)
		}
		if e := last[terret.TurnError](t, f.ended(id, turn)).Error; e.Code != want {
			t.Errorf("end %+v", e)
		}
		f.close()
		checkLog(t, f.store, id)
	}
}

func TestInterruptWhilePrompting(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	inside, goOn := make(chan struct{}, 1), make(chan struct{})
	p.onOpen = func(_ context.Context, a *puppetAgent) error {
		a.onPrompt = func(context.Context, string) error {
			inside <- struct{}{}
			<-goOn
			return nil
		}
		return nil
	}
	f := openFixture(t, ":memory:", p)
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := p.agent(t)
	receive(t, inside)
	if err := f.Interrupt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	receive(t, a.interrupts) // which it does not understand yet
	close(goOn)
	if got := receive(t, a.interrupts); got != turn {
		t.Errorf("interrupted %q", got)
	}
	if err := a.emit(terret.Event{Turn: turn, Data: terret.TurnError{Error: terret.Error{Code: terret.CodeExecutionError}}}); err != nil {
		t.Fatal(err)
	}
	if e := last[terret.TurnError](t, f.ended(id, turn)).Error; e.Code != terret.CodeInterrupted {
		t.Errorf("end %+v", e)
	}
}

// A recorder is told of everything that was committed, in order.
func TestRecorder(t *testing.T) {
	t.Parallel()
	rec := &recorder{seen: map[string][]int64{}}
	f := newFixture(t, mock.Script{}, func(c *engine.Config) { c.Recorder = rec })
	a, b := f.session(), f.session()
	f.run(a, "1")
	f.run(b, "2")
	f.close()
	for _, id := range []string{a, b} {
		var want []int64
		for _, ev := range f.log(id) {
			want = append(want, ev.Seq)
		}
		if diff := cmp.Diff(want, rec.seen[id]); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	}
	if !strings.Contains(rec.titles, "1") {
		t.Errorf("titles %q", rec.titles)
	}
}

type recorder struct {
	seen   map[string][]int64
	titles string
}

func (r *recorder) Record(s terret.Session, entries []terret.Entry) {
	for _, e := range entries {
		r.seen[s.ID] = append(r.seen[s.ID], e.Seq)
	}
	r.titles += s.Title
}

func (r *recorder) Remove(s terret.Session) { r.seen[s.ID] = nil }

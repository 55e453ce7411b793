package engine_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

// everyCall are all ways into the engine.
func everyCall(f *fixture, id, request string) []func() error {
	ctx := context.Background()
	title := "t"
	return []func() error{
		func() error { _, err := f.Create(ctx, terret.Session{Agent: "mock", Cwd: f.dir}); return err },
		func() error {
			_, err := f.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text("x")})
			return err
		},
		func() error {
			_, err := f.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text("x"), When: engine.WhenQueue})
			return err
		},
		func() error {
			_, err := f.Prompt(ctx, engine.PromptRequest{Session: id, Prompt: text("x"), When: engine.WhenSteer})
			return err
		},
		func() error { return f.Interrupt(ctx, id, "") },
		func() error { return f.Kill(ctx, id, "") },
		func() error { return f.CloseSession(ctx, id, "") },
		func() error { return f.Update(ctx, id, terret.SessionUpdated{Title: &title}, "") },
		func() error {
			return f.Decide(ctx, terret.Decision{RequestID: request, Behavior: terret.BehaviorAllow})
		},
		func() error { _, err := f.Undo(ctx, id, "", false); return err },
		func() error { _, err := f.Fork(ctx, id, ""); return err },
		func() error { _, err := f.Redo(ctx, id, "", false); return err },
		func() error { _, err := f.Models(ctx, id); return err },
		func() error { _, err := f.Commands(ctx, id); return err },
		func() error { _, err := f.Context(ctx, id); return err },
		func() error {
			_, err := f.RunCommand(ctx, engine.CommandRequest{Session: id, Name: "x", When: engine.WhenQueue})
			return err
		},
		func() error { _, err := f.Compact(ctx, engine.CompactRequest{Session: id}); return err },
		func() error { return f.Prewarm(ctx, terret.Session{Agent: "mock", Cwd: f.dir}) },
		func() error { return f.Drain(ctx) },
		func() error {
			for _, err := range f.Events(ctx, engine.EventQuery{Session: id, Follow: true}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		func() error {
			for _, err := range f.AllEvents(ctx, engine.AllQuery{Follow: true}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// Close during everything: nobody hangs, nothing leaks, and the log is in order.
func TestCloseDuringEverything(t *testing.T) {
	t.Parallel()
	script := mock.Script{Turns: [][]mock.Step{{{Text: "a"}, ask("make"), {Text: "b"}, {Background: []mock.Step{{Text: "c"}, ask("ls")}}}, {{Text: "d"}, {Hang: true}}}}
	script.Rewinds, script.Compacts, script.Commands, script.Prewarm = true, true, []terret.Command{{Name: "x"}}, &mock.Prewarm{}
	for range 4 {
		f := newFixture(t, script, func(c *engine.Config) { c.Pool.Size = 1 })
		ids := []string{f.session(), f.session(), f.session()}
		for _, id := range ids {
			f.prompt(id, "go")
		}
		request := f.request(ids[0], 1).RequestID
		var group sync.WaitGroup
		for _, id := range ids {
			for _, call := range everyCall(f, id, request) {
				group.Go(func() {
					if err := call(); errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
				})
			}
		}
		for range 3 {
			group.Go(f.close)
		}
		waited := make(chan struct{})
		go func() { group.Wait(); close(waited) }()
		receive(t, waited)
		for _, id := range ids {
			checkLog(t, f.store, id)
		}
	}
}

// A session that was given back writes nothing more, whoever is late: it may be ours again,
// and two batches for one session would fail the commit, and with it all other sessions.
func TestNothingAfterTheEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	id := f.session()
	f.run(id, "1")
	late := engine.Writer(f.Engine, id)
	if err := late(); err != nil {
		t.Fatal(err)
	}
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if late() == nil {
		t.Error("it was written")
	}
	f.run(id, "2")
	if late() == nil {
		t.Error("it was written into the session of another time")
	}
	f.close()
	checkLog(t, f.store, id)
}

// A session that is lost while it is given back is given up once.
func TestLostWhileGivenBack(t *testing.T) {
	t.Parallel()
	f, store := faultyFixture(t, mock.New(mock.Script{}))
	id := f.session()
	f.run(id, "1")
	store.set(func() { store.leave = sync.OnceFunc(func() { engine.Fence(f.Engine, id) }) })
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	f.run(id, "2")
	f.close()
	checkLog(t, f.store, id)
}

func TestClosedEngine(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	id := f.session()
	f.run(id, "1")
	f.close()
	f.close()
	_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("x")})
	if !engine.IsClosed(err) {
		t.Errorf("prompt: %v", err)
	}
	wantKind(t, err, terret.CodeStartupRefused)
	title := "t"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, ""); !engine.IsClosed(err) {
		t.Errorf("update: %v", err)
	}
	checkLog(t, f.store, id)
}

// A queued prompt survives the end of its engine and runs when somebody opens the
// session.
func TestQueueSurvivesClose(t *testing.T) {
	t.Parallel()
	g := newGate()
	script := mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "two"}}}})
	f := fileFixture(t, "", script)
	id := f.session()
	f.prompt(id, "1")
	g.wait(t)
	queued := f.promptWhen(id, "2", engine.WhenQueue).ID
	f.close()
	if got := f.queue(id); len(got) != 1 {
		t.Fatalf("queue %v", got)
	}
	h := fileFixture(t, f.path, script)
	h.run(id, "3")
	h.ended(id, queued)
	h.close()
	checkLog(t, f.store, id)
}

// What an earlier owner left in the queue does not run because somebody looks at
// the session or renames it.
func TestQueueWaitsForAPrompt(t *testing.T) {
	t.Parallel()
	g := newGate()
	script := mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "two"}}}})
	f := fileFixture(t, "", script)
	id := f.session()
	f.prompt(id, "1")
	g.wait(t)
	f.promptWhen(id, "2", engine.WhenQueue)
	f.close()
	h := fileFixture(t, f.path, script)
	title := "renamed"
	if err := h.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	h.until(id, 0, isKind("session.updated"))
	if err := h.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	h.close()
	if got := f.queue(id); len(got) != 1 {
		t.Errorf("queue %v", got)
	}
	if turns, err := f.store.Turns(t.Context(), id); err != nil || len(turns) != 1 {
		t.Errorf("%d turns, %v", len(turns), err)
	}
}

// The context bounds how long Close stays polite.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "x"}, {Deaf: true}}}}, func(c *engine.Config) { c.InterruptGrace = time.Hour })
	id := f.session()
	turn := f.prompt(id, "go").ID
	f.until(id, 0, isKind("message.complete"))
	polite := make(chan error, 1)
	go func() { polite <- f.Close(context.Background()) }() // which alone would wait for an hour
	f.until(id, 0, isState(terret.SessionInterrupting))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, polite); err != nil {
		t.Fatal(err)
	}
	turns, err := f.store.Turns(t.Context(), id)
	if err != nil || turns[0].ID != turn || turns[0].State != terret.TurnInterrupted {
		t.Errorf("turns %+v, %v", turns, err)
	}
	checkLog(t, f.store, id)
}

type shutdowner struct {
	terret.Driver
	err   error
	calls int
}

func (s *shutdowner) Shutdown(context.Context) error { s.calls++; return s.err }

func TestShutdown(t *testing.T) {
	t.Parallel()
	store, err := openStore(t.Context(), sqlite.Memory)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	d := &shutdowner{Driver: mock.New(mock.Script{}), err: errors.New("server is stuck")}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: []terret.Driver{d}})
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, e.Close(t.Context()), terret.CodeProcessFailed)
	wantKind(t, e.Close(t.Context()), terret.CodeProcessFailed)
	if d.calls != 1 {
		t.Errorf("shut down %d times", d.calls)
	}
}

package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// Schedules that are rare, made certain.

// A prompt that found no turn of that id, and is overtaken by another with the same
// id, does not begin it again.
func TestPromptIsOvertaken(t *testing.T) {
	t.Parallel()
	f, faults := faultyFixture(t, mock.New(mock.Script{}))
	id := f.session()
	f.run(id, "before")
	looked, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	faults.set(func() {
		faults.turns = func() {
			if first.CompareAndSwap(false, true) {
				close(looked)
				<-goOn
			}
		}
	})
	r := engine.PromptRequest{Session: id, Prompt: text("x"), Turn: terret.NewID(terret.PrefixTurn)}
	slow := make(chan terret.Turn, 1)
	go func() {
		turn, err := f.Prompt(context.Background(), r)
		if err != nil {
			t.Error(err)
		}
		slow <- turn
	}()
	receive(t, looked)
	if _, err := f.Prompt(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	f.ended(id, r.Turn)
	close(goOn)
	if turn := receive(t, slow); turn.ID != r.Turn || turn.State != terret.TurnCompleted {
		t.Errorf("turn %+v", turn)
	}
	f.close()
	if n := len(all[terret.TurnStart](f.log(id))); n != 2 {
		t.Errorf("%d turns, want 2", n)
	}
	checkLog(t, f.store, id)
}

// A kill that comes when its turn has ended leaves the next one alone.
func TestKillComesLate(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f := openFixture(t, ":memory:", p)
	id, a, first := chatty(t, f, p)
	kill := engine.Killer(f.Engine, id)
	a.complete(t, first)
	f.ended(id, first)
	second := f.prompt(id, "again").ID
	a.prompted(t)
	kill()
	select {
	case <-a.closed:
		t.Error("the agent was killed in the middle of another turn")
	default:
	}
	a.complete(t, second)
	f.ended(id, second)
}

// Whoever closes a session that is being closed waits until it is.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		goOn := make(chan struct{})
		p.onClose = func(*puppetAgent) { <-goOn }
		f := openFixture(t, ":memory:", p)
		id := f.session()
		turn := f.prompt(id, "go").ID
		a := <-p.opened
		<-a.prompts
		a.complete(t, turn)
		f.ended(id, turn)
		done := make(chan string, 10)
		for range 2 {
			go func() {
				if err := f.CloseSession(context.Background(), id, ""); err != nil {
					t.Error(err)
				}
				done <- "session"
			}()
			go func() {
				f.close()
				done <- "engine"
			}()
		}
		synctest.Wait()
		if len(done) > 0 {
			t.Errorf("closing the %s did not wait for the agent", <-done)
		}
		close(goOn)
		for range 4 {
			<-done
		}
		checkLog(t, f.store, id)
	})
}

// An agent that asks while the end of its turn is on its way into the log asks after
// it, in a turn of its own.
func TestAskWhileSettling(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		f, faults := faultyFixture(t, p)
		f.limit = 24 * time.Hour
		id := f.session()
		turn := f.prompt(id, "go").ID
		a := <-p.opened
		<-a.prompts
		settle := make(chan struct{})
		faults.set(func() {
			faults.answer = func(terret.Decision) error {
				<-settle
				return nil
			}
		})
		answers := make(chan error, 2)
		asks := func(key string) {
			_, err := a.ask(key, "make "+key)
			answers <- err
		}
		go asks("1")
		f.request(id, 1)
		a.complete(t, turn)
		synctest.Wait()
		go asks("2")
		synctest.Wait()
		close(settle)
		f.decide(terret.Decision{RequestID: f.request(id, 2).RequestID, Behavior: terret.BehaviorAllow})
		for range 2 {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		a.say(t, terret.TurnComplete{})
		events := f.until(id, 0, func(ev terret.Event) bool { return turnEnd(ev) && ev.Turn != turn })
		if starts := all[terret.TurnStart](events); len(starts) != 2 || starts[1].Origin != terret.OriginBackground {
			t.Errorf("turns %+v", starts)
		}
		f.close()
		checkLog(t, f.store, id)
	})
}

// A turn that fails ends with its own error, although somebody stops it while its end is
// on its way into the log.
func TestStopWhileSettling(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*fixture, context.Context, string) error{
		"interrupt": func(f *fixture, ctx context.Context, id string) error { return f.Interrupt(ctx, id, "ann") },
		"kill":      func(f *fixture, ctx context.Context, id string) error { return f.Kill(ctx, id, "ann") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPuppet()
				f, faults := faultyFixture(t, p)
				f.limit = 24 * time.Hour
				id := f.session()
				turn := f.prompt(id, "go").ID
				a := <-p.opened
				<-a.prompts
				settle := make(chan struct{})
				faults.set(func() {
					faults.answer = func(terret.Decision) error {
						<-settle
						return nil
					}
				})
				go func() { _, _ = a.ask("1", "make") }()
				f.request(id, 1)
				a.say(t, terret.TurnError{Error: terret.Error{Code: terret.CodeRateLimited, Message: "too many requests"}})
				synctest.Wait()
				stopped := make(chan error, 1)
				go func() { stopped <- stop(f, t.Context(), id) }()
				synctest.Wait()
				close(settle)
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				f.ended(id, turn)
				if ends := all[terret.TurnError](f.log(id)); len(ends) != 1 || ends[0].Error.Code != terret.CodeRateLimited {
					t.Errorf("the turn ended with %+v", ends)
				}
				f.close()
				checkLog(t, f.store, id)
			})
		})
	}
}

// Nobody waits forever for a request that could not be written.
func TestAskFails(t *testing.T) {
	t.Parallel()
	for _, policy := range []terret.Policy{terret.PolicyAsk, terret.PolicyAutoApprove} {
		synctest.Test(t, func(t *testing.T) {
			p := newPuppet()
			f, faults := faultyFixture(t, p)
			id := f.session(withPolicy(policy))
			f.prompt(id, "go")
			a := <-p.opened
			<-a.prompts
			goOn := make(chan struct{})
			faults.failBatches(func(terret.Batch) error {
				<-goOn
				return errDisk
			})
			answers := make(chan error, 3)
			for range 3 {
				go func() {
					_, err := a.ask("1", "make")
					answers <- err
				}()
			}
			synctest.Wait()
			close(goOn)
			for range 3 {
				if err := <-answers; err == nil {
					t.Error("a request that is not in the log was answered")
				}
			}
			<-a.closed
		})
	}
}

// An agent that comes up when nobody wants it any more is closed.
func TestOpenedTooLate(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(f *fixture, s *faults, id string){
		"killed": func(f *fixture, _ *faults, id string) { _ = f.Kill(context.Background(), id, "") },
		"failed": func(f *fixture, s *faults, id string) {
			s.failBatches(func(terret.Batch) error { return errDisk })
			title := "t"
			_ = f.Update(context.Background(), id, terret.SessionUpdated{Title: &title}, "")
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPuppet()
			opening, open := make(chan struct{}), make(chan struct{})
			p.onOpen = func(context.Context, *puppetAgent) error { // deaf to its context
				close(opening)
				<-open
				return nil
			}
			f, faults := faultyFixture(t, p)
			id := f.session()
			f.prompt(id, "go")
			<-opening
			lost := make(chan struct{})
			go func() {
				lose(f, faults, id)
				close(lost)
			}()
			synctest.Wait()
			close(open)
			a := <-p.opened
			<-a.closed
			<-lost
			if len(a.prompts) > 0 {
				t.Errorf("%s: it was prompted all the same", name)
			}
		})
	}
}

// What is still on its way when the engine has closed fails, and does not hang.
func TestUpdateOutlivesTheEngine(t *testing.T) {
	t.Parallel()
	p := settablePuppet{newPuppet(), make(chan *settable, 10)}
	p.caps.Abilities = map[terret.Capability]terret.Ability{terret.CanSelectModel: {OK: true, By: terret.ByAgent}}
	f := openFixture(t, ":memory:", p)
	id := f.session()
	turn := f.prompt(id, "go").ID
	a := receive(t, p.agents)
	a.prompted(t)
	a.complete(t, turn)
	f.ended(id, turn)
	inside, goOn := make(chan struct{}), make(chan struct{})
	a.onCall = func() {
		close(inside)
		<-goOn
	}
	updated := make(chan error, 1)
	go func() {
		model := "m"
		updated <- f.Update(context.Background(), id, terret.SessionUpdated{Model: &model}, "")
	}()
	receive(t, inside)
	f.close()
	close(goOn)
	if err := receive(t, updated); err == nil {
		t.Error("a closed engine changed something")
	}
	checkLog(t, f.store, id)
}

// A session is given back only when the agent that ended by itself is gone, and its
// last words are in the log.
func TestPartingAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPuppet()
		goOn := make(chan struct{})
		p.onClose = func(a *puppetAgent) {
			<-goOn
			a.say(t, terret.Notification{Text: "last words"})
		}
		f := openFixture(t, ":memory:", p)
		id := f.session()
		turn := f.prompt(id, "go").ID
		a := <-p.opened
		<-a.prompts
		a.complete(t, turn)
		f.ended(id, turn)
		a.say(t, terret.SessionEnd{Reason: "agent_exit"})
		closed := make(chan struct{})
		go func() {
			f.close()
			close(closed)
		}()
		synctest.Wait()
		if f.stored(id).Owner == "" {
			t.Error("the session was given back while its agent was there")
		}
		close(goOn)
		<-closed
		last[terret.Notification](t, f.log(id))
		checkLog(t, f.store, id)
	})
}

// While the folder goes back nothing else happens in the session; what is queued
// runs after it.
func TestNothingMeetsUndo(t *testing.T) {
	t.Parallel()
	f, faults := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{write("a", "a1")}, {{Text: "two"}}}}), func(c *engine.Config) { c.Home = t.TempDir() })
	id := f.session()
	f.run(id, "1")
	inside, goOn := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	faults.set(func() {
		faults.turns = func() {
			if first.CompareAndSwap(false, true) {
				close(inside)
				<-goOn
			}
		}
	})
	undone := make(chan error, 1)
	go func() {
		_, err := f.Undo(context.Background(), id, "", false)
		undone <- err
	}()
	receive(t, inside)
	_, err := f.Undo(t.Context(), id, "", false)
	wantKind(t, err, terret.CodeSessionBusy)
	_, err = f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("x")})
	wantKind(t, err, terret.CodeSessionBusy)
	wantKind(t, f.Delete(t.Context(), id, false), terret.CodeSessionBusy)
	queued := f.promptWhen(id, "2", engine.WhenQueue).ID
	close(goOn)
	if err := receive(t, undone); err != nil {
		t.Fatal(err)
	}
	f.ended(id, queued)
	f.close()
	if n := len(all[terret.CheckpointRewound](f.log(id))); n != 1 {
		t.Errorf("undone %d times", n)
	}
	checkLog(t, f.store, id)
}

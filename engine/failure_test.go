package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

var errDisk = terret.Errorf(terret.CodeInternal, "no space left on device")

// A session whose log takes nothing more fails: its agent is stopped, whoever waits
// is told, nothing is skipped, and other sessions go on. The next to claim it puts
// it in order. The same holds when another owner has taken it.
func TestFailedCommit(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]error{"disk full": errDisk, "fenced": terret.ErrFenced} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPuppet()
			f, faults := faultyFixture(t, p)
			good, other, goodTurn := chatty(t, f, p)
			bad, a, badTurn := chatty(t, f, p)
			answer := make(chan error, 1)
			go func() {
				_, err := a.ask("1", "make")
				answer <- err
			}()
			f.request(bad, 1)
			before := len(f.log(bad))
			faults.failBatches(func(b terret.Batch) error {
				if b.Session == bad {
					return broken
				}
				return nil
			})
			a.say(t, terret.Notification{Text: "lost"})
			if err := receive(t, answer); err == nil {
				t.Error("the agent was answered by a session that had failed")
			}
			receive(t, a.closed)
			if err := a.emit(note(1)); !errors.Is(err, broken) {
				t.Errorf("emit: %v", err)
			}
			if n := len(f.log(bad)); n != before {
				t.Errorf("%d events after the failure", n-before)
			}
			other.say(t, terret.Notification{Text: "still fine"})
			other.complete(t, goodTurn)
			f.ended(good, goodTurn)

			faults.failBatches(nil)
			turn := f.prompt(bad, "again").ID
			b := p.agent(t)
			b.prompted(t)
			b.complete(t, turn)
			f.ended(bad, turn)
			if e := last[terret.TurnError](t, f.ended(bad, badTurn)); e.Error.Code != terret.CodeProcessFailed {
				t.Errorf("the turn that failed: %+v", e)
			}
			f.close()
			checkLog(t, f.store, good)
			checkLog(t, f.store, bad)
		})
	}
}

// A transaction that fails as a whole fails the sessions in it, and Prompt says so.
func TestFailedTransaction(t *testing.T) {
	t.Parallel()
	f, faults := faultyFixture(t, mock.New(mock.Script{}))
	id := f.session()
	f.run(id, "1")
	faults.set(func() { faults.commit = func([]terret.Batch) error { return errDisk } })
	_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("2")})
	wantKind(t, err, terret.CodeInternal)
	_, err = f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("3")})
	wantKind(t, err, terret.CodeInternal)
	faults.set(func() { faults.commit = nil })
	f.run(id, "4")
	f.close()
	if n := len(all[terret.TurnStart](f.log(id))); n != 2 {
		t.Errorf("%d turns, want 2", n)
	}
	checkLog(t, f.store, id)
}

// If the disk fails after it has written a prompt, nobody knows whether it did: the call
// fails, and so does the session. The next to claim it puts it in order.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f, faults := faultyFixture(t, p)
	id := f.session()
	faults.set(func() { faults.wrote = func([]terret.Batch) error { return errDisk } })
	_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("1")})
	wantKind(t, err, terret.CodeInternal)
	faults.set(func() { faults.wrote = nil })
	turn := f.prompt(id, "2").ID
	a := p.agent(t)
	a.prompted(t)
	a.complete(t, turn)
	f.ended(id, turn)
	f.close()
	starts, ends := all[terret.TurnStart](f.log(id)), all[terret.TurnError](f.log(id))
	if len(starts) != 2 || len(ends) != 1 || ends[0].Error.Code != terret.CodeProcessFailed {
		t.Errorf("turns began: %+v, and failed: %+v", starts, ends)
	}
	checkLog(t, f.store, id)
}

// If the end of a turn is in the log, but nobody knows whether it is on disk, the session
// fails, and the next to claim it finds the turn completed and goes on behind it.
func TestFailedSyncOfEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		f, faults := faultyFixture(t, p)
		id := f.session()
		first := f.prompt(id, "1").ID
		a := p.agent(t)
		a.prompted(t)
		synctest.Wait()
		faults.set(func() { faults.wrote = func([]terret.Batch) error { return errDisk } })
		a.complete(t, first)
		receive(t, a.closed)
		faults.set(func() { faults.wrote = nil })
		second := f.prompt(id, "2").ID
		a = p.agent(t)
		a.prompted(t)
		a.complete(t, second)
		f.ended(id, second)
		if got, err := f.store.Turn(t.Context(), id, first); err != nil || got.State != terret.TurnCompleted {
			t.Errorf("the first turn is %s, %v", got.State, err)
		}
		f.close()
		if n := len(all[terret.TurnComplete](f.log(id))); n != 2 {
			t.Errorf("%d turns are complete, want 2", n)
		}
		checkLog(t, f.store, id)
	})
}

// Whoever asks for a turn whose start may not be on disk, while its session is given up, is
// told nothing before the next owner has put it in order.
func TestAskAfterFailedSync(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f, faults := faultyFixture(t, newPuppet())
		id, turn := f.session(), terret.NewID(terret.PrefixTurn)
		leaving, leave := make(chan struct{}), make(chan struct{})
		faults.set(func() {
			faults.wrote = func([]terret.Batch) error { return errDisk }
			faults.leave = func() { close(leaving); <-leave }
		})
		prompt := func() (terret.Turn, error) {
			return f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("1"), Turn: turn})
		}
		_, err := prompt()
		wantKind(t, err, terret.CodeInternal)
		receive(t, leaving)
		faults.set(func() { faults.wrote, faults.leave = nil, nil })
		found := make(chan terret.Turn, 1)
		go func() {
			again, err := prompt()
			if err != nil {
				t.Error(err)
			}
			found <- again
		}()
		synctest.Wait()
		if len(found) > 0 {
			t.Error("the turn was acknowledged before anybody knew whether it is on disk")
		}
		close(leave)
		if again := receive(t, found); again.State != terret.TurnFailed {
			t.Errorf("the turn is %s", again.State)
		}
	})
}

// Wherever in its life a session fails, nobody hangs.
func TestFailsAnywhere(t *testing.T) {
	t.Parallel()
	script := mock.Script{Turns: [][]mock.Step{{{Text: "a"}, ask("make"), {Text: "b"}}, {{Text: "c"}, {Background: []mock.Step{{Text: "d"}}}}}}
	for n := range 14 {
		f, faults := faultyFixture(t, mock.New(script))
		id := f.session(withPolicy(terret.PolicyAutoApprove))
		count := 0
		faults.failBatches(func(terret.Batch) error {
			if count++; count > n {
				return errDisk
			}
			return nil
		})
		for _, words := range []string{"1", "2"} {
			if _, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text(words)}); err != nil {
				break
			}
			if err := f.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		}
		f.close()
		faults.failBatches(nil)
		title := "in order again"
		g, err := engine.New(t.Context(), engine.Config{Store: f.store, Drivers: []terret.Driver{mock.New(script)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err != nil {
			t.Error(err)
		}
		if err := g.Close(context.Background()); err != nil {
			t.Error(err)
		}
		checkLog(t, f.store, id)
	}
}

// The engine's own decision may fail too: the store answers late or not at all.
func TestAnswerFails(t *testing.T) {
	t.Parallel()
	f, faults := faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{ask("make"), {Text: "x"}}}}))
	id := f.session()
	turn := f.prompt(id, "go").ID
	f.request(id, 1)
	faults.set(func() { faults.answer = func(terret.Decision) error { return errDisk } })
	if err := f.Interrupt(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if d := last[terret.PermissionDecision](t, f.ended(id, turn)); d.Source != terret.ByInterrupt {
		t.Errorf("decision %+v", d)
	}
	f.close()
	checkLog(t, f.store, id)
}

// An interrupt that meets a request on its way into the log still decides it.
func TestInterruptMeetsRequest(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f, faults := faultyFixture(t, p)
	id, a, turn := chatty(t, f, p)
	hold, reached := make(chan struct{}), make(chan struct{}, 1)
	faults.failBatches(func(b terret.Batch) error {
		for _, ev := range b.Events {
			if ev.Expects != nil {
				reached <- struct{}{}
				<-hold
			}
		}
		return nil
	})
	answer := make(chan terret.Decision, 1)
	go func() {
		d, err := a.ask("1", "make")
		if err != nil {
			t.Error(err)
		}
		answer <- d
	}()
	receive(t, reached)
	stopped := make(chan error, 1)
	go func() { stopped <- f.Interrupt(context.Background(), id, "") }()
	f.waitStopping(id)
	close(hold)
	if err := receive(t, stopped); err != nil {
		t.Fatal(err)
	}
	if d := receive(t, answer); d.Source != terret.ByInterrupt {
		t.Errorf("decision %+v", d)
	}
	// What it asks from now on is refused at once.
	if d, err := a.ask("2", "make"); err != nil || d.Source != terret.ByInterrupt {
		t.Errorf("decision %+v, %v", d, err)
	}
	a.complete(t, turn)
	f.ended(id, turn)
	f.close()
	checkLog(t, f.store, id)
}

// Whoever watches a session whose log takes nothing more is told so, after all that
// was committed.
func TestStreamEndsWithTheLog(t *testing.T) {
	t.Parallel()
	p := newPuppet()
	f, faults := faultyFixture(t, p)
	id, a, _ := chatty(t, f, p)
	committed := len(f.log(id))
	ended := make(chan error, 1)
	seen := make(chan int, 1)
	go func() {
		n := 0
		for _, err := range f.Events(t.Context(), engine.EventQuery{Session: id, Follow: true}) {
			if err != nil {
				ended <- err
				break
			}
			n++
			if n == committed {
				seen <- n
			}
		}
	}()
	receive(t, seen)
	faults.failBatches(func(terret.Batch) error { return errDisk })
	a.say(t, terret.Notification{Text: "lost"})
	if err := receive(t, ended); !errors.Is(err, errDisk) {
		t.Errorf("the stream ended with %v", err)
	}
	receive(t, a.closed)
	faults.failBatches(nil)
	f.close()
}

// A session that could not be taken over belongs to nobody: another process can have it.
func TestFailedClaimIsGivenBack(t *testing.T) {
	t.Parallel()
	f, s := faultyFixture(t, mock.New(mock.Script{}))
	id := f.session()
	s.set(func() { s.queue = errDisk })
	if _, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("go")}); err == nil {
		t.Error("it did not fail")
	}
	s.set(func() { s.queue = nil })
	if row, err := f.store.Session(t.Context(), id); err != nil || row.Owner != "" {
		t.Errorf("it belongs to %q: %v", row.Owner, err)
	}
}

// TestFolderGone prompts a session whose folder was removed: the turn says so, and the
// session goes on when the folder is back.
func TestFolderGone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{{Text: "one"}}}})
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	id := f.session(func(s *terret.Session) { s.Cwd = dir })
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	got := last[terret.TurnError](t, f.run(id, "go"))
	if !strings.Contains(got.Error.Message, dir+" is not there any more") {
		t.Errorf("%+v", got)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	last[terret.TurnComplete](t, f.run(id, "go"))
	f.close()
	checkLog(t, f.store, id)
}

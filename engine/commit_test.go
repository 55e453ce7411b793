package engine_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// TestPromptOnDisk has the disk write a prompt while the agent already reads it: whoever
// follows the session sees the turn begin, but Prompt returns only when the disk has it.
func TestPromptOnDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		f, store := faultyFixture(t, p)
		id := f.session()
		began, release := make(chan struct{}), make(chan struct{})
		store.set(func() {
			store.sync = func() error {
				close(began)
				<-release
				return nil
			}
		})
		turn := terret.NewID(terret.PrefixTurn)
		promised := make(chan error, 2)
		prompt := func() {
			_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("one"), Turn: turn})
			promised <- err
		}
		go prompt()
		receive(t, began)
		a := p.agent(t)
		a.prompted(t)
		if n := len(all[terret.TurnStart](f.log(id))); n != 1 {
			t.Errorf("%d turns have begun, want 1", n)
		}
		go prompt() // somebody who is unsure whether the first call came through
		synctest.Wait()
		if len(promised) > 0 {
			t.Error("the prompt was acknowledged before it was on disk")
		}
		close(release)
		for range 2 {
			if err := receive(t, promised); err != nil {
				t.Error(err)
			}
		}
		store.set(func() { store.sync = nil })
		a.complete(t, turn)
		f.ended(id, turn)
	})
}

// TestEarlyBatches holds what may be shown before it is on disk: the beginning of a turn
// whose sender is told once it is.
func TestEarlyBatches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		f, store := faultyFixture(t, p)
		var mu sync.Mutex
		early, others := 0, 0
		store.failBatches(func(b terret.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			switch starts := slices.Contains(kindsOf(b.Events), terret.KindTurnStart); {
			case !b.Early:
				others++
			case !starts || len(b.Taken) > 0 || b.Cursor != nil:
				t.Errorf("early: %v, taken %v", kindsOf(b.Events), b.Taken)
			default:
				early++
			}
			return nil
		})
		id := f.session()
		first := f.prompt(id, "one").ID
		a := p.agent(t)
		a.prompted(t)
		queued := f.promptWhen(id, "two", engine.WhenQueue).ID
		a.complete(t, first)
		a.prompted(t)
		a.complete(t, queued)
		f.ended(id, queued)
		mu.Lock()
		defer mu.Unlock()
		if early != 1 || others == 0 {
			t.Errorf("%d early batches and %d others, want 1 and some", early, others)
		}
	})
}

// TestLinger has the end of a message wait for the end of its turn, so that both cost
// one commit, but not for long.
func TestLinger(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		f, store := faultyFixture(t, p)
		var mu sync.Mutex
		var commits [][]terret.Kind
		store.set(func() {
			store.batch = func(b terret.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				commits = append(commits, kindsOf(b.Events))
				return nil
			}
		})
		taken := func() [][]terret.Kind {
			mu.Lock()
			defer mu.Unlock()
			out := commits
			commits = nil
			return out
		}
		id := f.session()
		end := terret.MessageComplete{MessageID: "m", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("hi")}}

		turn := f.prompt(id, "one").ID
		a := p.agent(t)
		a.prompted(t)
		a.say(t, terret.SessionStart{Source: "new", Agent: "mock"})
		time.Sleep(time.Second)
		taken()
		a.say(t, end)
		synctest.Wait()
		if got := taken(); got != nil {
			t.Errorf("the end of a message did not wait: %v", got)
		}
		a.complete(t, turn)
		synctest.Wait()
		if got := taken(); len(got) == 0 || !slices.Contains(got[0], terret.KindMessageComplete) || !slices.Contains(got[0], terret.KindTurnComplete) {
			t.Errorf("the ends of the message and the turn are not one commit: %v", got)
		}

		time.Sleep(time.Second)
		turn = f.prompt(id, "two").ID
		a.prompted(t)
		time.Sleep(time.Second)
		taken()
		end.MessageID = "n"
		a.say(t, end)
		time.Sleep(10 * time.Millisecond)
		if got := taken(); len(got) != 1 {
			t.Errorf("the end of a message waited for the turn: %v", got)
		}
		a.complete(t, turn)
		f.close()
	})
}

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
		began, release := slowSync(store)
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
		a.complete(t, turn)
		f.ended(id, turn)
	})
}

// slowSync makes the next sync slow: began is closed when it begins, and it ends when
// release is closed. Later ones take no time.
func slowSync(store *faults) (began, release chan struct{}) {
	began, release = make(chan struct{}), make(chan struct{})
	store.set(func() {
		store.sync = func() error {
			select {
			case <-began:
			default:
				close(began)
			}
			<-release
			return nil
		}
	})
	return began, release
}

// TestEndOnDisk has the disk write the end of a turn while whoever follows the session
// already sees it. What comes of it waits for the disk: the next prompt in the queue.
func TestEndOnDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		f, store := faultyFixture(t, p)
		id := f.session()
		first := f.prompt(id, "one").ID
		a := p.agent(t)
		a.prompted(t)
		second := f.promptWhen(id, "two", engine.WhenQueue).ID
		synctest.Wait()
		began, release := slowSync(store)
		a.complete(t, first)
		receive(t, began)
		f.ended(id, first)
		synctest.Wait()
		if n := len(all[terret.TurnStart](f.log(id))); n != 1 {
			t.Errorf("%d turns have begun, want 1: the end of the first is not on disk", n)
		}
		close(release)
		a.prompted(t)
		a.complete(t, second)
		f.ended(id, second)
	})
}

// TestWhatIsSynced holds what the disk has to write at once: everything but pieces of
// text, and these, too, if the last sync is a while ago.
func TestWhatIsSynced(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		f, store := faultyFixture(t, p)
		var mu sync.Mutex
		var unsynced []terret.Batch
		syncs := 0
		store.set(func() {
			store.wrote = func(batches []terret.Batch) error {
				mu.Lock()
				defer mu.Unlock()
				unsynced = append(unsynced, batches...)
				return nil
			}
			store.sync = func() error {
				mu.Lock()
				defer mu.Unlock()
				unsynced = nil
				syncs++
				return nil
			}
		})
		id := f.session()
		want := func(what string, synced bool, do func()) {
			t.Helper()
			synctest.Wait()
			before := syncs
			do()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if left := len(unsynced); (syncs > before) != synced || (left == 0) != synced {
				t.Errorf("%s: %d syncs, and %d batches are left; must be synced: %t", what, syncs-before, left, synced)
			}
		}
		var a *puppetAgent
		piece := func() { a.say(t, terret.MessageDelta{MessageID: "m", Text: "piece"}) }
		var first, queued string
		want("a prompt", true, func() {
			first = f.prompt(id, "one").ID
			a = p.agent(t)
			a.prompted(t)
		})
		want("a piece", false, piece)
		want("another piece", false, piece)
		time.Sleep(time.Second)
		want("a piece after a while", true, piece)
		want("the next", false, piece)
		want("a piece and a message", true, func() {
			a.say(t, terret.MessageDelta{MessageID: "m", Text: "piece"}, terret.Notification{Text: "note"})
		})
		queued = f.promptWhen(id, "two", engine.WhenQueue).ID
		want("an end and the next prompt", true, func() {
			a.complete(t, first)
			a.prompted(t)
		})
		want("an end", true, func() { a.complete(t, queued) })
		f.ended(id, queued)
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

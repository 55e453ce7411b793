package engine_test

import (
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// busyFixture has a session in which a turn runs until the gate opens.
func busyFixture(t *testing.T) (f *fixture, store *faults, g gate, id string) {
	t.Helper()
	g = newGate()
	f, store = faultyFixture(t, mock.New(mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}}))
	id = f.session()
	f.prompt(id, "first")
	g.wait(t)
	return f, store, g, id
}

// While a turn runs nobody reads the queue to begin a prompt: by the time the turn ends, it
// may have been edited.
func TestQueueReadWhenFree(t *testing.T) {
	t.Parallel()
	f, store, g, id := busyFixture(t)
	reads := func() (n int) { store.set(func() { n = store.reads[id] }); return n }
	done := f.promptWhen(id, "a", engine.WhenQueue)
	f.shownAs(id, "a") // nobody reads the queue to show it any more
	before := reads()
	engine.Next(f.Engine, id)
	if n := reads(); n != before {
		t.Errorf("read %d times", n-before)
	}
	close(g.open)
	f.ended(id, done.ID)
}

// A queued prompt that is removed after the queue was read, and before it begins, does not
// run.
func TestDropBeforeItBegins(t *testing.T) {
	t.Parallel()
	f, store, g, id := busyFixture(t)
	a := f.promptWhen(id, "a", engine.WhenQueue)
	b := f.promptWhen(id, "b", engine.WhenQueue)
	f.shownAs(id, "a", "b") // nobody reads the queue to show it any more
	stored, dropped := make(chan struct{}), make(chan error, 1)
	store.set(func() {
		store.drop = func() { close(stored) }
		store.pended = sync.OnceFunc(func() { // several may read the queue at once; all of them wait for the drop
			go func() { dropped <- f.DropQueued(t.Context(), id, a.ID, "") }()
			<-stored
		})
	})
	close(g.open)
	f.ended(id, b.ID)
	if err := receive(t, dropped); err != nil {
		t.Error(err)
	}
	if n := len(all[terret.TurnStart](f.log(id))); n != 2 {
		t.Errorf("%d turns, want the first and b", n)
	}
}

// A queued prompt that begins while it is being removed is a conflict: it runs.
func TestDropWhileItBegins(t *testing.T) {
	t.Parallel()
	f, store, g, id := busyFixture(t)
	a := f.promptWhen(id, "a", engine.WhenQueue)
	f.shownAs(id, "a") // nobody reads the queue to show it any more
	stored, dropped := make(chan struct{}), make(chan error, 1)
	store.set(func() {
		store.drop = func() { close(stored); f.ended(id, a.ID) }
		store.pended = sync.OnceFunc(func() {
			go func() { dropped <- f.DropQueued(t.Context(), id, a.ID, "") }()
			<-stored
		})
	})
	close(g.open)
	wantKind(t, receive(t, dropped), terret.CodeConflict)
}

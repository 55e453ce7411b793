package engine_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// TestPromptOnDisk has the disk take its time for a prompt: until it is written, the agent
// does not get it and Prompt does not return, also to somebody who asks twice.
func TestPromptOnDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPuppet()
		f, store := faultyFixture(t, p)
		id := f.session()
		began, release := slowCommit(store, nil)
		turn := terret.NewID(terret.PrefixTurn)
		promised := make(chan error, 2)
		prompt := func() {
			_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("one"), Turn: turn})
			promised <- err
		}
		go prompt()
		receive(t, began)
		go prompt() // somebody who is unsure whether the first call came through
		synctest.Wait()
		if len(promised) > 0 || len(p.opened) > 0 {
			t.Errorf("%d calls returned and %d agents were started before the prompt was on disk", len(promised), len(p.opened))
		}
		close(release)
		for range 2 {
			if err := receive(t, promised); err != nil {
				t.Error(err)
			}
		}
		a := p.agent(t)
		a.prompted(t)
		a.complete(t, turn)
		f.ended(id, turn)
	})
}

// TestFoundOnDisk asks again for a turn that has ended while the disk still writes its end:
// the answer waits for the disk. If the disk fails, the answer is that of the next owner,
// which goes by the log.
func TestFoundOnDisk(t *testing.T) {
	for what, fails := range map[string]error{"slow": nil, "it fails": errDisk} {
		t.Run(what, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := newPuppet()
				f, store := faultyFixture(t, p)
				id, turn := f.session(), terret.NewID(terret.PrefixTurn)
				promised := make(chan terret.Turn, 2)
				prompt := func() {
					found, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("one"), Turn: turn})
					if err != nil || found.ID != turn {
						t.Errorf("%+v, %v", found, err)
					}
					promised <- found
				}
				go prompt()
				a := p.agent(t)
				a.prompted(t)
				receive(t, promised)
				synctest.Wait()
				_, release := slowCommit(store, fails)
				a.complete(t, turn)
				synctest.Wait()
				go prompt()
				synctest.Wait()
				if len(promised) > 0 {
					t.Error("a turn was acknowledged before it was on disk")
				}
				close(release)
				if found := receive(t, promised); found.State != terret.TurnCompleted {
					t.Errorf("the turn is %s", found.State)
				}
			})
		})
	}
}

// TestGroupOnDisk commits for three sessions at once, of which one is refused. Each caller is
// told what happened to its own.
func TestGroupOnDisk(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f, store := faultyFixture(t, newPuppet())
		ids := []string{f.session(), f.session(), f.session()}
		title := "title"
		update := func(id string) error {
			return f.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, "")
		}
		for _, id := range ids { // claims them
			if err := update(id); err != nil {
				t.Fatal(err)
			}
		}
		errRefused := errors.New("refused")
		began, release := slowCommit(store, nil)
		held := make(chan error, 1)
		go func() { held <- update(ids[0]) }()
		receive(t, began)
		var told [3]chan error
		for i, id := range ids {
			told[i] = make(chan error, 1)
			go func() { told[i] <- update(id) }()
		}
		synctest.Wait()
		store.set(func() {
			store.batch = func(b terret.Batch) error {
				if b.Session == ids[1] {
					return errRefused
				}
				return nil
			}
		})
		close(release)
		if err := receive(t, held); err != nil {
			t.Error(err)
		}
		for i, want := range []error{nil, errRefused, nil} {
			if err := receive(t, told[i]); !errors.Is(err, want) {
				t.Errorf("session %d: %v, want %v", i, err, want)
			}
		}
		synctest.Wait()
		store.set(func() { store.batch = nil })
		for _, id := range ids {
			if err := update(id); err != nil {
				t.Error(err)
			}
		}
	})
}

// slowCommit makes the next commit slow: began is closed when it is in the store, and it
// ends with err when release is closed. Later ones work.
func slowCommit(store *faults, err error) (began, release chan struct{}) {
	began, release = make(chan struct{}), make(chan struct{})
	first := true
	store.set(func() {
		store.wrote = func([]terret.Batch) error {
			if !first {
				return nil
			}
			first = false
			close(began)
			<-release
			return err
		}
	})
	return began, release
}

// TestEndOnDisk has the disk take its time for the end of a turn: the next prompt in the
// queue waits for it.
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
		began, release := slowCommit(store, nil)
		a.complete(t, first)
		receive(t, began)
		synctest.Wait()
		if n := len(all[terret.TurnStart](f.log(id))); n != 1 {
			t.Errorf("%d turns have begun, want 1: the end of the first is not on disk", n)
		}
		close(release)
		f.ended(id, first)
		a.prompted(t)
		a.complete(t, second)
		f.ended(id, second)
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

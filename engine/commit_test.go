package engine_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

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

package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

// TestLive holds that a session in memory is the one in the store.
func TestLive(t *testing.T) {
	t.Parallel()
	g := newGate()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{g.step()}, {{Text: "ok"}}}})
	id := f.session()
	same := func(when string) {
		t.Helper()
		got, ok := f.Live(id)
		if diff := cmp.Diff(f.stored(id), got, cmpopts.IgnoreFields(terret.Session{}, "LastSeq", "UpdatedAt")); !ok || diff != "" {
			t.Errorf("%s: live is %t (-stored +live):\n%s", when, ok, diff)
		}
	}
	first := f.prompt(id, "first")
	g.wait(t)
	f.until(id, 0, func(ev terret.Event) bool {
		state, ok := ev.Data.(terret.SessionStateChange)
		return ok && state.State == terret.SessionBusy
	})
	same("while a turn runs")
	close(g.open)
	f.ended(id, first.ID)
	f.run(id, "second")
	same("after it")
	title := "renamed"
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Title: &title}, ""); err != nil {
		t.Fatal(err)
	}
	same("renamed")
	if err := f.CloseSession(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if s, ok := f.Live(id); ok {
		t.Errorf("closed: %+v", s)
	}
}

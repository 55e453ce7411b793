package engine_test

import (
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// notes returns the messages in a log, by their id.
func (f *fixture) notes(session string) []string {
	f.t.Helper()
	var out []string
	for _, m := range all[terret.BusMessage](f.log(session)) {
		out = append(out, m.MessageID)
	}
	return out
}

func TestNote(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{})
	id := terret.NewSessionID()
	for range 2 {
		if err := f.OpenLog(t.Context(), id, "team"); err != nil {
			t.Fatal(err)
		}
	}
	m := terret.BusMessage{MessageID: "1", From: "a", To: []string{"b"}, Type: "chat", Text: "hi"}
	if err := f.Note(t.Context(), id, "ann", m, terret.BusReceipt{MessageID: "1", By: "b", Status: "read"}); err != nil {
		t.Fatal(err)
	}
	if got := f.notes(id); !slices.Equal(got, []string{"1"}) {
		t.Errorf("notes %v", got)
	}
	if err := f.Note(t.Context(), id, "ann", terret.TurnComplete{}); terret.AsError(err).Code != terret.CodeInternal {
		t.Errorf("a note that is none: %v", err)
	}
	if err := f.Note(t.Context(), f.session(), "ann", m); !errors.Is(err, terret.ErrConflict) {
		t.Errorf("a note in an agent's session: %v", err)
	}
	_, err := f.Prompt(t.Context(), engine.PromptRequest{Session: id, Prompt: text("hi")})
	if !errors.Is(err, terret.ErrUnsupported) {
		t.Errorf("prompting a log: %v", err)
	}
	if got := len(f.log(id)); got != 2 {
		t.Errorf("%d events", got)
	}
}

// TestNoteForeign holds that any process may note, whoever owns the log, and that each
// note is in it once.
func TestNoteForeign(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "terret.db")
	a := fileFixture(t, path, mock.New(mock.Script{}))
	b := fileFixture(t, path, mock.New(mock.Script{}))
	id := terret.NewSessionID()
	if err := a.OpenLog(t.Context(), id, "team"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var want []string
	for i := range 20 {
		f, name := a, string(rune('a'+i))
		if i%2 == 1 {
			f = b
		}
		want = append(want, name)
		group.Go(func() {
			if err := f.Note(t.Context(), id, "ann", terret.BusMessage{MessageID: name, To: []string{}}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	got := a.notes(id)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("notes %v", got)
	}
	a.close() // now nobody owns it, or b does
	if err := b.Note(t.Context(), id, "ann", terret.BusMessage{MessageID: "z", To: []string{}}); err != nil {
		t.Error(err)
	}
	if got := b.notes(id); got[len(got)-1] != "z" {
		t.Errorf("notes %v", got)
	}
}

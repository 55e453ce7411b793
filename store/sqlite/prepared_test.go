package sqlite

import (
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// TestStatementsAreKept does the same again and again: nothing is parsed anew, for
// reading or for writing.
func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	made, err := Open(t.Context(), path, Options{}) // the schema changes while it is made
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s := openFile(t, path)
	x := newHolder(t, s)
	ctx := t.Context()
	round := func() {
		t.Helper()
		x.must(t, "again")
		if _, err := s.Session(ctx, x.id); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Read(ctx, terret.ReadQuery{Session: x.id, Kinds: []terret.Kind{terret.KindTurnStart}, Backward: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ListRules(ctx, x.id); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Pending(ctx, x.id); err != nil {
			t.Fatal(err)
		}
		if _, err := s.CountSessions(ctx, terret.SessionBusy); err != nil {
			t.Fatal(err)
		}
	}
	kept := func() (n int) {
		t.Helper()
		look := func(c *lite.Conn) error {
			k, again := c.Kept()
			if again != 0 {
				t.Errorf("%d statements were prepared again", again)
			}
			n += k
			return nil
		}
		if err := s.alone(ctx, look); err != nil {
			t.Fatal(err)
		}
		if err := s.read(ctx, "look", look); err != nil {
			t.Fatal(err)
		}
		return n
	}
	round()
	before := kept()
	for range 5 {
		round()
	}
	if n := kept(); n != before {
		t.Errorf("%d statements are kept, then %d", before, n)
	}
	if n := len(s.readers.idle); n != 1 {
		t.Errorf("one reader after the other used %d connections", n)
	}
}

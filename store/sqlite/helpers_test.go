package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver of another program

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// openFile opens the store at path until the end of the test.
func openFile(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func tempPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "terret.db")
}

// connect opens the file as another program would.
func connect(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// write changes the database behind the store's back.
func write(t *testing.T, s *Store, text string, args ...any) {
	t.Helper()
	if err := s.alone(t.Context(), func(c *lite.Conn) error { return c.Exec(text, args...) }); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// number asks the connection that writes for a number.
func number(t *testing.T, s *Store, text string, args ...any) (n int64) {
	t.Helper()
	err := s.alone(t.Context(), func(c *lite.Conn) error {
		_, err := c.Row(func(r *lite.Rows) { n = r.Int(0) }, text, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// holder has a session that this store has claimed.
type holder struct {
	s     *Store
	id    string
	epoch int64
	seq   int64
}

func newHolder(t *testing.T, s *Store) *holder {
	t.Helper()
	n, err := s.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Claim(t.Context(), n.ID)
	if err != nil {
		t.Fatal(err)
	}
	return &holder{s: s, id: n.ID, epoch: c.Session.Epoch}
}

func (o *holder) append(ctx context.Context, text string) error {
	results, err := o.s.Commit(ctx, []terret.Batch{{Session: o.id, Epoch: o.epoch, After: o.seq, Events: []terret.Event{
		{Time: terret.Now(), Data: terret.Notification{Text: text, Level: "info"}},
	}}})
	if err != nil {
		return err
	}
	if results[0].Err == nil {
		o.seq++
	}
	return results[0].Err
}

func (o *holder) must(t *testing.T, text string) {
	t.Helper()
	if err := o.append(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

// wantEvents reads the session through any store and checks that it is dense.
func wantEvents(t *testing.T, s *Store, session string, want int64) {
	t.Helper()
	var after int64
	for {
		page, err := s.Read(t.Context(), terret.ReadQuery{Session: session, After: after})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, e := range page {
			if after++; e.Seq != after {
				t.Fatalf("event %d where %d should be", e.Seq, after)
			}
		}
	}
	if after != want {
		t.Errorf("%d events, want %d", after, want)
	}
}

func wantClean(t *testing.T, s *Store) {
	t.Helper()
	if findings, err := s.Check(t.Context()); err != nil || len(findings) != 0 {
		t.Errorf("check: %v, %v", findings, err)
	}
}

// wantSays fails unless the error is of that kind and a person finds the words in
// it.
func wantSays(t *testing.T, err error, kind terret.ErrorCode, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one of kind %s", kind)
		return
	}
	if got := terret.AsError(err).Code; got != kind {
		t.Errorf("kind %s, want %s: %v", got, kind, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

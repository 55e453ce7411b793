package postgres

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

func wantSays(t *testing.T, what string, err error, words string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v does not say %q", what, err, words)
	}
}

// TestLostNotification takes from a store what tells it of others' changes: it finds out
// all the same.
func TestLostNotification(t *testing.T) {
	t.Parallel()
	a, b := openSchema(t, t.Name()), openSchema(t, t.Name())
	o := newOwner(t, a)
	version, err := b.Wait(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	send := func(quiet bool) {
		t.Helper()
		query := `UPDATE terret SET version = version + 1`
		if quiet {
			if _, err := a.pool.Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
			return
		}
		o.must(t, "x")
	}
	for _, quiet := range []bool{false, true, false, true} {
		send(quiet)
		if version, err = b.Wait(t.Context(), version); err != nil {
			t.Fatal(err)
		}
		// Also when the connection that listens is gone.
		if _, err := a.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = $1 AND query LIKE 'LISTEN%'`, label(b.worker.name())); err != nil {
			t.Fatal(err)
		}
	}
}

// TestParts creates sessions across the border of a part of the log, and drops a part
// whose sessions are gone.
func TestParts(t *testing.T) {
	t.Parallel()
	s := openSchema(t, t.Name())
	ctx := t.Context()
	parts := func() (n int) {
		t.Helper()
		if err := s.pool.QueryRow(ctx, `SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	first := newOwner(t, s)
	first.must(t, "in the first part")
	if got := parts(); got != 2 {
		t.Fatalf("%d parts at first, want 2", got)
	}
	if _, err := s.pool.Exec(ctx, `SELECT setval('sessions_key_seq', $1)`, partSize-2); err != nil {
		t.Fatal(err)
	}
	newOwner(t, s).must(t, "last of the first part")
	if _, err := s.pool.Exec(ctx, `SELECT setval('sessions_key_seq', $1)`, partSize+partSize/2-1); err != nil {
		t.Fatal(err)
	}
	later := newOwner(t, s) // makes the part after its own
	later.must(t, "in the part for all others")
	if got := parts(); got != 3 {
		t.Fatalf("%d parts, want 3", got)
	}
	if _, err := s.Compact(ctx, terret.Now().Time); err != nil {
		t.Fatal(err)
	}
	if got := parts(); got != 3 {
		t.Errorf("%d parts after a sweep, want 3: the first is in use", got)
	}
	page, err := s.ListSessions(ctx, terret.SessionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range page.Items {
		if n.ID == later.id {
			continue
		}
		if err := s.Delete(ctx, n.ID); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Compact(ctx, terret.Now().Time); err != nil {
		t.Fatal(err)
	}
	if got := parts(); got != 2 {
		t.Errorf("%d parts after the first is empty, want 2", got)
	}
	later.want(t, s, 1)
}

package postgres

import (
	"strings"
	"testing"
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

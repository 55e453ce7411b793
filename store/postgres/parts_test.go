package postgres

import (
	"context"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/terret-dev/terret"
)

// partsOf lists the parts of the log.
func partsOf(t *testing.T, s *Store) (names []string) {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'events'::regclass ORDER BY name`)
	if err == nil {
		names, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func wantParts(t *testing.T, what string, s *Store, want ...string) {
	t.Helper()
	if got := partsOf(t, s); !slices.Equal(got, want) {
		t.Errorf("%s: the parts are %v, want %v", what, got, want)
	}
}

// nextKey says which key the next session gets.
func nextKey(t *testing.T, s *Store, key int64) {
	t.Helper()
	if _, err := s.pool.Exec(t.Context(), `SELECT setval('sessions_key_seq', $1)`, key-1); err != nil {
		t.Fatal(err)
	}
}

func sweep(t *testing.T, s *Store) {
	t.Helper()
	if _, err := s.Compact(t.Context(), terret.Now().Time); err != nil {
		t.Fatal(err)
	}
}

// twoParts makes a session in the first part of the log and one in the second.
func twoParts(t *testing.T, s *Store) (first, later *owner) {
	t.Helper()
	first = newOwner(t, s)
	first.must(t, "in the first part")
	nextKey(t, s, partSize+partSize/2)
	later = newOwner(t, s) // makes the part after its own
	later.must(t, "in the part for all others")
	return first, later
}

// TestParts creates sessions across the border of a part of the log, and drops a part
// whose sessions are gone.
func TestParts(t *testing.T) {
	t.Parallel()
	s := openSchema(t, t.Name())
	wantParts(t, "at first", s, "events_0", "events_rest")
	first, later := twoParts(t, s)
	nextKey(t, s, partSize-1)
	last := newOwner(t, s)
	last.must(t, "last of the first part")
	nextKey(t, s, partSize+partSize/2+1)
	newOwner(t, s).must(t, "another")
	wantParts(t, "with sessions", s, "events_0", "events_2", "events_rest")
	if err := s.Delete(t.Context(), first.id); err != nil {
		t.Fatal(err)
	}
	sweep(t, s)
	wantParts(t, "with a session in the first", s, "events_0", "events_2", "events_rest")
	if err := s.Delete(t.Context(), last.id); err != nil {
		t.Fatal(err)
	}
	sweep(t, s)
	wantParts(t, "after the first is empty", s, "events_2", "events_rest") // the last is empty, too, but not full

	later.want(t, s, 1)
	later.must(t, "after the drop")
	later.want(t, s, 2)
	nextKey(t, s, 2*partSize+1)
	next := newOwner(t, s)
	next.must(t, "in the last part")
	next.want(t, s, 1)
	sweep(t, s)
	wantParts(t, "with a session in the last", s, "events_2", "events_rest")
}

// TestPartsReader reads the log all the time, as a backup does: an empty part stays, and
// nobody is held up for long or gets an error. The next sweep drops it.
func TestPartsReader(t *testing.T) {
	t.Parallel()
	s := openSchema(t, t.Name())
	first, later := twoParts(t, s)
	reader, err := s.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(context.WithoutCancel(t.Context())) }() // if the test fails
	for _, q := range []string{`SET LOCAL idle_in_transaction_session_timeout = 0`, `SELECT 1 FROM events LIMIT 1`} {
		if _, err := reader.Exec(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), first.id); err != nil {
		t.Fatal(err)
	}
	sweep(t, s)
	later.must(t, "while it is read")
	wantParts(t, "with a reader", s, "events_0", "events_2", "events_rest")
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	sweep(t, s)
	wantParts(t, "without", s, "events_2", "events_rest")
	later.want(t, s, 2)
}

// TestPartsLate has a session appear in a part that was found to be empty: its creation
// took long. Nothing of it is lost, whether it comes before the drop or after it.
func TestPartsLate(t *testing.T) {
	t.Parallel()
	s := openSchema(t, t.Name())
	first, _ := twoParts(t, s)
	if err := s.Delete(t.Context(), first.id); err != nil {
		t.Fatal(err)
	}
	parts, err := s.fullParts(t.Context())
	if err != nil || !slices.Equal(parts, []int64{0}) {
		t.Fatalf("parts to drop: %v, %v", parts, err)
	}
	drop := func() {
		t.Helper()
		if err := s.write(t.Context(), "drop", func(ctx context.Context, tx pgx.Tx) error { return dropPart(ctx, tx, 0) }); err != nil {
			t.Fatal(err)
		}
	}
	nextKey(t, s, 7)
	before := newOwner(t, s)
	before.must(t, "before the drop")
	nextKey(t, s, partSize+partSize/2+1)
	drop()
	before.want(t, s, 1)
	wantParts(t, "with a late session", s, "events_0", "events_2", "events_rest")

	if err := s.Delete(t.Context(), before.id); err != nil {
		t.Fatal(err)
	}
	drop()
	drop() // another node had the same in mind
	wantParts(t, "without it", s, "events_2", "events_rest")
	nextKey(t, s, 8)
	after := newOwner(t, s)
	after.must(t, "after the drop")
	after.want(t, s, 1)
	nextKey(t, s, partSize+partSize/2+1)
	sweep(t, s)
	after.must(t, "again")
	after.want(t, s, 2)
}

// TestManyBlobs has one sweep remove all bodies that sessions left behind, however many.
func TestManyBlobs(t *testing.T) {
	t.Parallel()
	s := openSchema(t, t.Name())
	if _, err := s.pool.Exec(t.Context(), `INSERT INTO blobs (hash, body) SELECT sha256(i::text::bytea), 'x' FROM generate_series(1, $1::int) i`, 2*chunk+1); err != nil {
		t.Fatal(err)
	}
	sweep(t, s)
	if n, err := onServer.Blobs(t.Context(), s); err != nil || n != 0 {
		t.Errorf("%d bodies are left, %v", n, err)
	}
}

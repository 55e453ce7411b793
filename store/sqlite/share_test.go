package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// TestTwoStoresInOneProcess has two stores on one file while another process
// comes and goes. The locks of a file belong to the whole process on POSIX, and
// closing any descriptor of it gives them up: if opening the second store did
// that, other programs would take the file for unused.
func TestTwoStoresInOneProcess(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	a, b := openFile(t, path), openFile(t, path)
	x, y := newHolder(t, a), newHolder(t, b)
	x.must(t, "before")
	if said, ok := runChild(t, "open", path); !ok {
		t.Fatal(said)
	}
	if said, ok := runChild(t, "probe", path); !ok {
		t.Errorf("another program: %s", said)
	}
	for range 3 {
		x.must(t, "after")
		y.must(t, "after")
	}
	wantEvents(t, b, x.id, 4)
	wantEvents(t, a, y.id, 3)
	if said, ok := runChild(t, "open", path); !ok {
		t.Fatal(said)
	}
	third := openFile(t, path)
	wantEvents(t, third, x.id, 4)
	wantEvents(t, third, y.id, 3)
	page, err := third.ListSessions(t.Context(), terret.SessionFilter{Query: "child"})
	if err != nil || len(page.Items) != 2 {
		t.Errorf("the other process made %d sessions, want 2: %v", len(page.Items), err)
	}
	wantClean(t, third)
}

// TestOpenTogether opens a file that is not there yet many times at once.
func TestOpenTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "terret.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := s.Create(t.Context(), terret.Session{ID: terret.NewSessionID(), Agent: "mock", Cwd: "/"}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			if said, ok := runChild(t, "open", path); !ok {
				t.Error(said)
			}
		})
	}
	wg.Wait()
	s := openFile(t, path)
	page, err := s.ListSessions(t.Context(), terret.SessionFilter{})
	if err != nil || len(page.Items) != 11 {
		t.Errorf("%d sessions, want 11: %v", len(page.Items), err)
	}
	wantClean(t, s)
}

// TestLockedFile has another program hold the file.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s := openFile(t, path)
	o := newHolder(t, s)
	o.must(t, "before")
	other := connect(t, path)
	mustExec(t, other, `BEGIN EXCLUSIVE`)

	why := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, why)
	defer cancel()
	err := o.append(ctx, "locked out")
	if !errors.Is(err, why) {
		t.Errorf("commit: %v, want the context's cause", err)
	}
	wantEvents(t, s, o.id, 1) // reading goes on
	wantEvents(t, openFile(t, path), o.id, 1)
	mustExec(t, other, `ROLLBACK`)

	o.must(t, "after")
	wantEvents(t, s, o.id, 2)
}

// TestExclusiveProgram has another program keep the file for itself from before
// the open on.
func TestExclusiveProgram(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	other := connect(t, path)
	mustExec(t, other, `PRAGMA locking_mode = EXCLUSIVE`)
	mustExec(t, other, `CREATE TABLE mine (x)`)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("open: %v, want the context's deadline", err)
	}
	mustExec(t, other, `DROP TABLE mine`)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	wantClean(t, openFile(t, path))
}

// TestWorkerFiles checks the traces that workers leave beside the database.
func TestWorkerFiles(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	locks := func() []string {
		t.Helper()
		names, err := filepath.Glob(filepath.Join(path+".workers", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ListSessions(t.Context(), terret.SessionFilter{}); err != nil || len(locks()) != 0 {
		t.Errorf("a store that only reads leaves %v, %v", locks(), err)
	}
	o := newHolder(t, s)
	if len(locks()) != 1 {
		t.Errorf("an owner has lock files %v", locks())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), o.id); err == nil {
		t.Error("a closed store claims")
	}
	if len(locks()) != 0 {
		t.Errorf("a closed store leaves %v", locks())
	}

	// Traces of a worker that died are removed once it owns nothing.
	dead := filepath.Join(path+".workers", terret.NewID(terret.PrefixWorker)+".lock")
	if err := os.WriteFile(dead, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSuffix(filepath.Base(dead), ".lock")
	again := openFile(t, path)
	write(t, again, `INSERT INTO workers (id, pid, host, started_at) VALUES (?, 1, 'h', 0)`, id)
	write(t, again, `UPDATE sessions SET owner = ? WHERE id = ?`, id, o.id)
	orphans, err := again.Orphans(t.Context())
	if err != nil || len(orphans) != 1 || len(locks()) != 1 {
		t.Errorf("orphans %v, locks %v, %v", orphans, locks(), err)
	}
	c, err := again.Claim(t.Context(), o.id)
	if err != nil || c.Session.Epoch <= o.epoch {
		t.Errorf("claim of an orphan: %+v, %v", c, err)
	}
	if orphans, err = again.Orphans(t.Context()); err != nil || len(orphans) != 0 || len(locks()) != 1 {
		t.Errorf("orphans %v, locks %v, %v", orphans, locks(), err)
	}
}

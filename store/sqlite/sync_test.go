package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lite"
)

// pieceOf is a piece of text that does not merge with another.
func pieceOf(i int) terret.Event {
	return terret.Event{Time: terret.Now(), Data: terret.MessageDelta{MessageID: fmt.Sprint(i), Text: "piece"}}
}

func (o *holder) batch(events ...terret.Event) terret.Batch {
	return terret.Batch{Session: o.id, Epoch: o.epoch, After: o.seq, Events: events}
}

func (o *holder) commit(t *testing.T, b terret.Batch) []terret.Entry {
	t.Helper()
	r, err := o.s.Commit(t.Context(), []terret.Batch{b})
	if err != nil || r[0].Err != nil {
		t.Fatal(r, err)
	}
	o.seq = r[0].LastSeq
	return r[0].Entries
}

func note() terret.Event {
	return terret.Event{Time: terret.Now(), Data: terret.Notification{Text: "note"}}
}

// openLazy opens a store that does not sync everything.
func openLazy(t *testing.T) *Store {
	t.Helper()
	s := openFile(t, tempPath(t))
	if !s.sync.lazy {
		t.Skip("this system does not say when it was started, so everything is synced")
	}
	return s
}

// How a transaction gets to the disk: not by itself, or by SQLite's sync before anybody
// sees it.
const unsynced, full = "not synced", "synced by SQLite"

// syncs is how a store commits and syncs.
type syncs struct {
	committed []string
	n         int // of the store's own
}

func watchSyncs(s *Store) *syncs {
	l := &syncs{}
	s.fault = func(phase string) error { // with the turn
		if phase != "before" {
			return nil
		}
		_, err := s.db.Row(func(r *lite.Rows) {
			how := unsynced // at NORMAL
			if r.Int(0) == 2 {
				how = full
			}
			l.committed = append(l.committed, how)
		}, "PRAGMA synchronous")
		return err
	}
	s.syncData = func(f *os.File) error {
		now, err := os.Stat(s.path + "-wal")
		is, isErr := f.Stat()
		if err != nil || isErr != nil || !os.SameFile(is, now) {
			return fmt.Errorf("%s is not the log: %w, %w", f.Name(), err, isErr)
		}
		l.n++
		return syncData(f)
	}
	return l
}

// want holds that do commits once, in that way, and leaves the sync of it to others.
func (l *syncs) want(t *testing.T, what, how string, do func()) {
	t.Helper()
	l.committed, l.n = nil, 0
	do()
	if len(l.committed) != 1 || l.committed[0] != how || l.n != 0 {
		t.Errorf("%s: %q and %d syncs, want %q", what, l.committed, l.n, how)
	}
}

// TestSync holds that Commit leaves it to Sync to have the disk write events, and that all
// else is on disk before anybody sees it.
func TestSync(t *testing.T) {
	t.Parallel()
	s := openLazy(t)
	x, y := newHolder(t, s), newHolder(t, s)
	l := watchSyncs(s)
	commit := func(what string, want string, change func(*terret.Batch)) {
		t.Helper()
		b := x.batch(note())
		change(&b)
		l.want(t, what, want, func() { x.commit(t, b) })
	}
	same := func(*terret.Batch) {}
	sync := func(what string, want int) {
		t.Helper()
		l.n = 0
		if err := s.Sync(t.Context()); err != nil || l.n != want || s.sync.events != 0 {
			t.Errorf("%s: synced %d times, want %d, and %d events are left, %v", what, l.n, want, s.sync.events, err)
		}
	}
	release := func() {
		if err := s.Release(t.Context(), y.id, y.epoch); err != nil {
			t.Fatal(err)
		}
	}
	sync("nothing", 0)
	for range 2 {
		commit("a note", unsynced, same)
		sync("the note", 1)
		sync("nothing more", 0)
	}
	commit("one that takes from the inbox", unsynced, func(b *terret.Batch) { b.Taken = []string{"i"} })
	l.want(t, "those of two sessions", unsynced, func() {
		r, err := s.Commit(t.Context(), []terret.Batch{x.batch(note()), y.batch(note())})
		if err != nil || r[0].Err != nil || r[1].Err != nil {
			t.Fatal(r, err)
		}
		x.seq, y.seq = r[0].LastSeq, r[1].LastSeq
	})
	sync("all of them", 1)
	commit("one without events", full, func(b *terret.Batch) { b.Events, b.Cursor = nil, []byte("c") })
	commit("another note", unsynced, same)
	l.want(t, "a release", full, release)
	sync("what the release synced", 0)

	// No more than a number of them, however they come.
	commit("as many as may be lost", unsynced, func(b *terret.Batch) { b.Events = slices.Repeat(b.Events, unsyncedEvents-1) })
	commit("the last that fits", unsynced, same)
	l.want(t, "a transaction that changes nothing", full, release)
	commit("one too many", full, same)
	commit("the first after that", unsynced, same)
	commit("more than may be lost", full, func(b *terret.Batch) { b.Events = slices.Repeat(b.Events, unsyncedEvents+1) })

	// One that was committed although the disk says otherwise goes into the database.
	s.fault = func(phase string) error {
		if phase == "after" {
			return errDisk
		}
		return nil
	}
	x.commit(t, x.batch(note()))
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	if wal, err := os.Stat(s.path + "-wal"); err != nil || wal.Size() != 0 || s.sync.events != 0 {
		t.Errorf("what was found in the log is not in the database: %v, %d events, %v", wal, s.sync.events, err)
	}
	l = watchSyncs(s)

	// Where it cannot be known whether the machine has died since, all is synced.
	s.sync.lazy = false
	commit("on a strange system", full, same)
	wantEvents(t, s, x.id, x.seq)
	wantClean(t, s)
}

var errDisk = errors.New("disk on fire")

// TestFailedSync has the disk lose what readers have seen, and say so once. Nothing is
// written behind that hole: first all of it goes into the database.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	failing := func(*os.File) error { return os.NewSyscallError("fdatasync", syscall.EIO) }
	for name, fail := range map[string]func(*testing.T, *Store, *holder){
		"of a commit": func(t *testing.T, s *Store, x *holder) {
			x.commit(t, x.batch(note()))
			s.syncData = failing
			if err := s.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "is full or has failed") {
				t.Errorf("a failed sync: %v", err)
			}
		},
		"behind another": func(t *testing.T, s *Store, x *holder) {
			x.commit(t, x.batch(note()))
			s.fault = func(string) error { return errDisk }
			if _, err := s.Commit(t.Context(), []terret.Batch{x.batch(note())}); err == nil {
				t.Error("a failed commit is said to have worked")
			}
			s.fault = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openLazy(t)
			x := newHolder(t, s)
			x.must(t, strings.Repeat("x", 50_000))
			reader, err := connect(t, s.path).BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var n int
			if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM events").Scan(&n); err != nil {
				t.Fatal(err)
			}
			fail(t, s, x)
			s.syncData = syncData

			short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := s.Commit(short, []terret.Batch{x.batch(note())}); err == nil {
				t.Error("something was written behind the hole")
			}
			if err := reader.Rollback(); err != nil {
				t.Fatal(err)
			}

			x.must(t, "after it")
			if wal, err := os.Stat(s.path + "-wal"); err != nil || wal.Size() > 50_000 {
				t.Errorf("the log still holds what was before: %v, %v", wal.Size(), err)
			}
			wantEvents(t, s, x.id, x.seq)
			wantClean(t, s)
		})
	}
}

// TestMendAtOnce holds that what a failed sync leaves behind goes into the database before
// anybody else can write, if nobody is in the way.
func TestMendAtOnce(t *testing.T) {
	t.Parallel()
	s := openLazy(t)
	x := newHolder(t, s)
	s.syncData = func(*os.File) error { return os.NewSyscallError("fdatasync", syscall.EIO) }
	told := false
	s.fault = func(phase string) error { // SQLite's own descriptor hears of it, too
		if phase != "checkpoint" || told {
			return nil
		}
		told = true
		return &lite.Error{Code: sqlite3.SQLITE_IOERR | 4<<8, Text: "disk I/O error"}
	}
	x.commit(t, x.batch(note()))
	if err := s.Sync(t.Context()); err == nil {
		t.Error("a failed sync is said to have worked")
	}
	if wal, err := os.Stat(s.path + "-wal"); err != nil || wal.Size() != 0 || s.sync.failed {
		t.Errorf("it is not in the database: %v, %v", wal, err)
	}
	s.syncData = syncData
	x.must(t, "after it")
	wantEvents(t, s, x.id, x.seq)
	wantClean(t, s)
}

// TestLinkedDatabase opens a database by its name and by a link: both are the same, with
// one log and with the same workers.
func TestLinkedDatabase(t *testing.T) {
	t.Parallel()
	path, link := tempPath(t), filepath.Join(t.TempDir(), "link.db")
	direct := openFile(t, path)
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	s := openFile(t, link)
	x := newHolder(t, s)
	x.must(t, "one")
	x.must(t, "two")
	wantEvents(t, s, x.id, x.seq)
	if s.wal == nil || s.files.wal == nil {
		t.Error("the log file was not found")
	}
	if _, err := direct.Claim(t.Context(), x.id); err == nil {
		t.Error("a session was taken from somebody who is alive")
	}
}

// TestPowerCut takes away what was not synced, as a power cut may, and starts the
// machine anew: no number that anybody has seen is given again.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s := openFile(t, path)
	x, idle := newHolder(t, s), newHolder(t, s)
	x.must(t, "one")
	idle.must(t, "one")
	if err := s.Release(t.Context(), idle.id, idle.epoch); err != nil {
		t.Fatal(err)
	}
	cut, crash := copyOf(t, path), copyOf(t, path)
	var seen []terret.Entry
	for i := range 5 {
		seen = append(seen, x.commit(t, x.batch(pieceOf(i)))...)
	}
	seen = append(seen, x.commit(t, x.batch(note()))...)
	last := seen[len(seen)-1]

	other := connect(t, cut)
	mustExec(t, other, `UPDATE upkeep SET value = value + 1 WHERE name = 'boot'`) // started anew
	for range 2 {
		again := openFile(t, cut)
		if err := again.begin(t.Context(), 0, again.jump); err != nil { // as another process that opens it at the same time
			t.Fatal(err)
		}
		n, err := again.Session(t.Context(), x.id)
		if err != nil || n.LastSeq != 1+unsyncedEvents {
			t.Errorf("the session goes on after %d, want %d, %v", n.LastSeq, 1+unsyncedEvents, err)
		}
		if n, err := again.Session(t.Context(), idle.id); err != nil || n.LastSeq != 1 {
			t.Errorf("a session that nobody owned goes on after %d, %v", n.LastSeq, err)
		}
		if pos, err := again.LastPos(t.Context()); err != nil || pos < last.Pos {
			t.Errorf("the last position is %d, but %d was seen, %v", pos, last.Pos, err)
		}
	}
	again := openFile(t, cut)
	c, err := again.Claim(t.Context(), x.id)
	if err != nil || c.Session.Epoch != x.epoch+1 {
		t.Fatalf("claim: %+v, %v", c, err)
	}
	y := &holder{s: again, id: x.id, epoch: c.Session.Epoch, seq: c.Session.LastSeq}
	next := y.commit(t, y.batch(pieceOf(9)))
	if next[0].Seq <= last.Seq || next[0].Pos <= last.Pos {
		t.Errorf("number %d at %d is given, but %d at %d was seen", next[0].Seq, next[0].Pos, last.Seq, last.Pos)
	}
	for _, q := range []terret.ReadQuery{{After: last.Seq}, {After: 1}, {Backward: true, Limit: 1}} {
		q.Session = x.id
		if got, err := again.Read(t.Context(), q); err != nil || len(got) != 1 || got[0].Seq != next[0].Seq {
			t.Errorf("%+v: %v, %v; want what came after the power cut", q, got, err)
		}
	}
	wantClean(t, again)

	// A process that dies takes nothing with it, and numbers go on where they were.
	crashed := openFile(t, crash)
	if n, err := crashed.Session(t.Context(), x.id); err != nil || n.LastSeq != 1 {
		t.Errorf("the session goes on after %d, want 1, %v", n.LastSeq, err)
	}
}

// copyOf copies a database as it is on disk while its owner is at work.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

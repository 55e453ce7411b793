package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// olderDatabase is a database as the first version wrote it.
func olderDatabase(t *testing.T) string {
	t.Helper()
	dump, err := os.ReadFile(fixture(1))
	if err != nil {
		t.Fatal(err)
	}
	path := tempPath(t)
	db := connect(t, path)
	mustExec(t, db, string(dump))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestCopyBeforeMigration holds that a database is kept as it was before it is migrated, that
// an older program which finds the newer one says where, and that the copy can be had back.
func TestCopyBeforeMigration(t *testing.T) {
	t.Parallel()
	path := olderDatabase(t)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{s: s, id: fixtureSession}
	if c, err := s.Claim(t.Context(), fixtureSession); err != nil {
		t.Fatal(err)
	} else {
		h.epoch, h.seq = c.Session.Epoch, 6
	}
	h.must(t, "since")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copies := copiesBefore(path, 1)
	if len(copies) != 1 || !strings.HasPrefix(copies[0], path+".schema-1-") {
		t.Fatalf("copies: %q", copies)
	}
	if info, err := os.Stat(copies[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v, %v", info, err)
	}
	if again := openFile(t, path); again != nil {
		if found := copiesBefore(path, 99); len(found) != 1 {
			t.Errorf("what is up to date was copied: %q", found)
		}
	}
	wantSays(t, newerSchema(path, 4, 1), terret.CodeStartupRefused, "newer terret", "terret db restore '"+copies[0]+"'")
	if err := newerSchema(path, 4, 0); strings.Contains(err.Error(), "restore") {
		t.Errorf("a copy that is too new is offered: %v", err)
	}

	other := filepath.Join(t.TempDir(), "terret.db")
	if kept, err := Restore(t.Context(), other, copies[0]); err != nil || kept != "" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	restored := openFile(t, other)
	readFixture(t, restored)
	wantClean(t, restored)
}

// TestNoCopyNoMigration holds that nothing is migrated if the copy cannot be made.
func TestNoCopyNoMigration(t *testing.T) {
	t.Parallel()
	old := olderDatabase(t)
	path := filepath.Join(t.TempDir(), strings.Repeat("a", 240)) // no name that is longer by thirty is one
	if err := os.Rename(old, path); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), path, Options{})
	wantSays(t, err, terret.CodeStartupRefused, "cannot keep a copy", "nothing was changed")
	var version int64
	if err := connect(t, path).QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version); err != nil || version != 1 {
		t.Errorf("version %d, %v", version, err)
	}
}

// TestRestore puts a backup in place of a database, which is kept whole.
func TestRestore(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHolder(t, s)
	h.must(t, "before")
	backup := filepath.Join(t.TempDir(), "it's a backup")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	h.must(t, "after")

	_, err = Restore(t.Context(), path, backup)
	wantSays(t, err, terret.CodeConflict, path, "in use", "stop every terret")
	wantEvents(t, s, h.id, 2) // and it works on
	h.must(t, "on")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	kept, err := Restore(t.Context(), path, backup)
	if err != nil {
		t.Fatal(err)
	}
	wantEvents(t, openFile(t, path), h.id, 1)
	wantEvents(t, openFile(t, kept), h.id, 3)
	if left, _ := filepath.Glob(path + ".restor*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestRestoreRefuses holds that what cannot be used is refused, and leaves the database.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHolder(t, s)
	h.must(t, "x")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	other := filepath.Join(dir, "other.db")
	db := connect(t, other)
	mustExec(t, db, "CREATE TABLE a (b)")
	newer := filepath.Join(dir, "newer.db")
	newerDB := connect(t, newer)
	mustExec(t, newerDB, fmt.Sprintf("CREATE TABLE a (b); PRAGMA application_id = %d; PRAGMA user_version = 99", applicationID))
	for from, say := range map[string]string{
		filepath.Join(dir, "gone"):   "no such file",
		file("text", "not a backup"): "not a database",
		file("empty", ""):            "is no database of terret",
		other:                        "another program",
		newer:                        "newer terret",
		path:                         "that is the database itself",
	} {
		if kept, err := Restore(t.Context(), path, from); err == nil || !strings.Contains(err.Error(), say) || kept != "" {
			t.Errorf("%s: %q, %v; want %q", from, kept, err, say)
		}
	}
	wantEvents(t, openFile(t, path), h.id, 1)
	if found, _ := filepath.Glob(path + ".r*"); len(found) > 0 {
		t.Errorf("left behind: %q", found)
	}
}

// TestRestoreOverDamage puts a backup in place of what is no database any more.
func TestRestoreOverDamage(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHolder(t, s)
	h.must(t, "x")
	backup := filepath.Join(t.TempDir(), "backup")
	err = errors.Join(s.Backup(t.Context(), backup), s.Close())
	damage := []byte(strings.Repeat("damage", 1000))
	if err = errors.Join(err, os.WriteFile(path, damage, 0o600)); err != nil {
		t.Fatal(err)
	}
	kept, err := Restore(t.Context(), path, backup)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(kept); err != nil || string(got) != string(damage) {
		t.Errorf("what was there is not kept: %v", err)
	}
	wantEvents(t, openFile(t, path), h.id, 1)
}

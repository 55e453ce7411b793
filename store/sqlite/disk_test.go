package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// fillUp commits until it fails, and returns the error.
func fillUp(t *testing.T, h *holder) error {
	t.Helper()
	for range 10_000 {
		if err := h.append(t.Context(), strings.Repeat("x", 20_000)); err != nil {
			return err
		}
	}
	t.Fatal("the disk is never full")
	return nil
}

// TestFullDatabase reaches the limit of pages that the connection was given,
// which is how SQLite sees a full disk.
func TestFullDatabase(t *testing.T) {
	t.Parallel()
	for _, path := range []string{tempPath(t), Memory} {
		s := openFile(t, path)
		h := newHolder(t, s)
		h.must(t, "before")
		if limit := number(t, s, `PRAGMA max_page_count = 200`); limit != 200 {
			t.Fatal(limit)
		}
		wantSays(t, fillUp(t, h), terret.CodeInternal, "full", path, "nothing stored is lost")
		stored := h.seq
		wantSays(t, h.append(t.Context(), strings.Repeat("x", 200_000)), terret.CodeInternal, "full")
		wantEvents(t, s, h.id, stored)
		wantClean(t, s)
		number(t, s, `PRAGMA max_page_count = 100000`)
		h.must(t, "after")
		wantEvents(t, s, h.id, stored+1)
		wantClean(t, s)
	}
}

// TestReadOnly opens databases that may not be written, as a user for whom
// permissions count.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	// The folders above must let that user through, and are private by default.
	base := t.TempDir()
	for _, dir := range []string{base, filepath.Dir(base)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct {
		what      string
		dir, file os.FileMode // 0 means that it is not there
	}{
		{"folder", 0o555, 0},
		{"folder with a database", 0o555, 0o666},
		{"database", 0o777, 0o444},
		{"database that may not even be read", 0o777, 0o000},
		{"folder and database", 0o555, 0o444},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir := filepath.Join(base, fmt.Sprint(i))
			path := filepath.Join(dir, "terret.db")
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
			session := ""
			if c.file != 0 || i == 3 {
				session = fill(t, path)
				if err := os.Chmod(path, c.file); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chmod(dir, c.dir); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o700) })
			said, ok := runChild(t, "unprivileged", path)
			if ok || !strings.HasPrefix(said, string(terret.CodeStartupRefused)) || !strings.Contains(said, path) || !strings.Contains(said, "permissions") {
				t.Errorf("it says %q", said)
			}
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if session != "" {
				if err := os.Chmod(path, 0o600); err != nil {
					t.Fatal(err)
				}
				s := openFile(t, path)
				wantEvents(t, s, session, 200)
				wantClean(t, s)
			}
		})
	}
	t.Run("writable", func(t *testing.T) { // or else the others prove nothing
		dir := filepath.Join(base, "writable")
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if said, ok := runChild(t, "unprivileged", filepath.Join(dir, "terret.db")); !ok {
			t.Error(said)
		}
	})
}

// TestModes checks that nobody else can read what agents say.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "terret.db")
	s := openFile(t, path)
	h := newHolder(t, s)
	h.must(t, "x")
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 4 { // the database, its log, its index, the workers
		t.Errorf("files: %v, %v", files, err)
	}
	locks, err := filepath.Glob(path + ".workers/*")
	if err != nil || len(locks) != 1 {
		t.Errorf("locks: %v, %v", locks, err)
	}
	for _, name := range append(append(files, locks...), dir, filepath.Dir(dir), backup) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

// TestOddPaths has names that mean something in a URL or to SQLite.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a b?#%.db", "file:x.db", "ü&mode=memory.db", "x?mode=ro", "%41.db", "'quoted\".db", `back\slash.db`} {
		dir := filepath.Join(t.TempDir(), "d "+name)
		path := filepath.Join(dir, name)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		h := newHolder(t, s)
		h.must(t, "x")
		backup := filepath.Join(dir, "copy "+name)
		if err := s.Backup(t.Context(), backup); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 3 { // the database, the workers, the backup
			t.Errorf("%s: folder holds %v, %v", name, entries, err)
		}
		for _, p := range []string{path, backup} {
			if info, err := os.Stat(p); err != nil || info.Size() == 0 {
				t.Errorf("%s: %v, %v", p, info, err)
			}
			wantEvents(t, openFile(t, p), h.id, 1)
		}
	}
}

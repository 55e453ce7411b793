package sqlite

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// fill makes a database with enough in it to be damaged, and closes it.
func fill(t *testing.T, path string) (session string) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHolder(t, s)
	for i := range 200 {
		h.must(t, fmt.Sprintf("%d %s", i, strings.Repeat("x", 1000)))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return h.id
}

// TestNotOurs opens files that are something else. They must stay as they are.
func TestNotOurs(t *testing.T) {
	t.Parallel()
	whole := tempPath(t)
	fill(t, whole)
	ours, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	random := make([]byte, 10_000)
	for i := range random {
		random[i] = byte(rand.IntN(256))
	}
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db := connect(t, foreign)
	mustExec(t, db, `CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1); PRAGMA user_version = 1`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile(foreign)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what    string
		content []byte
		says    string
	}{
		{"random bytes", random, "damaged"},
		{"a few bytes", []byte("hello"), "damaged"},
		{"text", bytes.Repeat([]byte("hello, world\n"), 1000), "damaged"},
		{"half a magic", ours[:7], "damaged"},
		{"only the magic", ours[:16], "damaged"},
		{"half a header", ours[:50], "damaged"},
		{"a header and nothing else", ours[:100], "damaged"},
		{"another program's database", theirs, "another program"},
	} {
		t.Run(c.what, func(t *testing.T) {
			path := tempPath(t)
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(t.Context(), path, Options{})
			wantSays(t, err, terret.CodeStartupRefused, c.says, path)
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(after, c.content) {
				t.Errorf("the file was changed: %d bytes, were %d, %v", len(after), len(c.content), err)
			}
		})
	}
	t.Run("a folder", func(t *testing.T) {
		dir := t.TempDir()
		_, err := Open(t.Context(), dir, Options{})
		wantSays(t, err, terret.CodeStartupRefused, dir)
	})
	t.Run("an empty file", func(t *testing.T) {
		path := tempPath(t)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		wantClean(t, openFile(t, path))
	})
}

// TestDamagedPage damages one page after the other of a good database. Each time
// Check must find it, or reading must fail with words that help; what is read
// without an error must be what was written.
func TestDamagedPage(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	session := fill(t, path)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	noticed := 0
	for n := 1; n < len(good)/page; n += 7 {
		bad := bytes.Clone(good)
		copy(bad[n*page:(n+1)*page], bytes.Repeat([]byte{0xA5}, page))
		damaged := tempPath(t)
		if err := os.WriteFile(damaged, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if noticesDamage(t, damaged, session) {
			noticed++
		} else {
			t.Errorf("page %d is damaged and nobody notices", n+1)
		}
	}
	t.Logf("%d damaged pages noticed", noticed)
}

func noticesDamage(t *testing.T, path, session string) bool {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		wantSays(t, err, terret.CodeStartupRefused, "damaged", path)
		return true
	}
	defer s.Close()
	if _, err := s.Read(t.Context(), terret.ReadQuery{Session: session}); err != nil {
		wantSays(t, err, terret.CodeStartupRefused, "damaged", path)
	}
	findings, err := s.Check(t.Context())
	if err != nil {
		wantSays(t, err, terret.CodeStartupRefused, "damaged", path)
	}
	return err != nil || len(findings) > 0
}

// TestCheckFinds has what SQLite itself sees nothing wrong with.
func TestCheckFinds(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ spoil, says string }{
		"number behind the log": {`UPDATE sessions SET last_seq = 0`, "its log ends elsewhere"},
		"same number twice":     {`INSERT INTO events (session, seq, at, kind, body) SELECT session, seq, at, 'diag.info', body FROM events`, "several events 1"},
		"lost blob":             {`DELETE FROM blobs`, "is lost"},
		"decided by nobody":     {`INSERT INTO requests (id, session, turn, seq, epoch, gate, state, created_at) VALUES ('r', 1, '', 1, 1, 'plan', 'decided', 0)`, "without a decision"},
	} {
		t.Run(what, func(t *testing.T) {
			s := openFile(t, tempPath(t))
			h := newHolder(t, s)
			h.must(t, strings.Repeat("large ", 20_000))
			wantClean(t, s)
			write(t, s, c.spoil)
			findings, err := s.Check(t.Context())
			if err != nil || len(findings) == 0 || !strings.Contains(findings[0], c.says) {
				t.Errorf("findings %q, %v; want one that says %q", findings, err, c.says)
			}
			if what == "lost blob" {
				_, err := s.Read(t.Context(), terret.ReadQuery{Session: h.id})
				wantSays(t, err, terret.CodeInternal, "event 1", "damaged")
			}
		})
	}
}

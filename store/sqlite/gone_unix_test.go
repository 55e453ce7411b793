//go:build unix

package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// A file that is deleted, moved or replaced while it is in use is noticed: nothing more
// is acknowledged, and reading says so too.
func TestFileGone(t *testing.T) {
	t.Parallel()
	for what, do := range map[string]func(path string) error{
		"deleted":     os.Remove,
		"moved":       func(path string) error { return os.Rename(path, path+".old") },
		"wal deleted": func(path string) error { return os.Remove(path + "-wal") },
		"replaced": func(path string) error {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.Rename(path, path+".old"); err != nil {
				return err
			}
			return os.WriteFile(path, content, 0o600)
		},
	} {
		path := tempPath(t)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := newHolder(t, s)
		h.must(t, "before")
		if err := do(path); err != nil {
			t.Fatal(err)
		}
		err = s.PutRule(t.Context(), terret.Rule{ID: terret.NewID(terret.PrefixRule), Effect: terret.EffectDeny, Pattern: "Bash", Scope: terret.ScopeAlways})
		if e := terret.AsError(err); err == nil || e.Code != terret.CodeStartupRefused || !strings.Contains(e.Message, "while it was in use") {
			t.Errorf("%s: a write: %v", what, err)
		}
		if _, err := s.LastPos(t.Context()); err == nil {
			t.Errorf("%s: a server would say that it is ready", what)
		}
		_ = s.Close() // it cannot give its sessions back
	}
}

// A write-ahead log that is damaged in its middle is said, with how much is lost; one that
// is whole, or that a crash cut off, is nothing to speak of.
func TestDamagedWAL(t *testing.T) {
	t.Parallel()
	path := tempPath(t)
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHolder(t, s)
	for i := range 20 {
		h.must(t, strings.Repeat("x", 100*i))
	}
	whole := map[string][]byte{} // as a crash leaves them
	for _, suffix := range []string{"", "-wal"} {
		if whole[suffix], err = os.ReadFile(path + suffix); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	wal := whole["-wal"]
	for name, c := range map[string]struct {
		wal  func(b []byte) []byte
		want string
	}{
		"whole":   {func(b []byte) []byte { return b }, ""},
		"cut off": {func(b []byte) []byte { return b[:len(b)-1000] }, ""},
		"middle":  {func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, "that were stored after them are lost"},
		"header":  {func(b []byte) []byte { b[20] ^= 1; return b }, "the header"},
	} {
		copied := tempPath(t)
		if err := errors.Join(os.WriteFile(copied, whole[""], 0o600), os.WriteFile(copied+"-wal", c.wal(bytes.Clone(wal)), 0o600)); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		s, err := Open(t.Context(), copied, Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := said.String(); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: said %q", name, got)
		}
	}
}

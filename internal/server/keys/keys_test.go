package keys

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pocket is a keyring in memory, which may be locked.
type pocket struct {
	keys   map[string]string
	locked bool
}

var errLocked = errors.New("locked")

func (p *pocket) Get(_, name string) (string, error) {
	if p.locked {
		return "", errLocked
	}
	return p.keys[name], nil
}

func (p *pocket) Set(_, name, key string) error {
	if p.locked {
		return errLocked
	}
	p.keys[name] = key
	return nil
}

func (p *pocket) Delete(_, name string) error {
	delete(p.keys, name)
	return nil
}

func TestKeys(t *testing.T) {
	t.Parallel()
	dir, ctx := filepath.Join(t.TempDir(), "data"), t.Context()
	ring := &pocket{keys: map[string]string{}}
	s, plain := Open(dir).With(ring), Open(dir).With(nil)
	want := func(s *Store, name, key string) {
		t.Helper()
		if got, err := s.Get(name); err != nil || got != key {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	want(s, "openai", "")
	if in, err := s.Set(ctx, "openai", " in-the-ring\n"); err != nil || !in {
		t.Errorf("%v, %v", in, err)
	}
	ring.locked = true
	if in, err := s.Set(ctx, "gemini", "in-the-file"); err != nil || in {
		t.Errorf("%v, %v", in, err)
	}
	want(s, "gemini", "in-the-file")
	if _, err := s.Get("openai"); !errors.Is(err, errLocked) {
		t.Error(err)
	}
	ring.locked = false
	want(s, "openai", "in-the-ring")
	if _, err := plain.Get("openai"); err == nil {
		t.Error("a key came out of no keyring")
	}
	content, err := os.ReadFile(filepath.Join(dir, "keys.json"))
	if err != nil || strings.Contains(string(content), "in-the-ring") {
		t.Errorf("%s, %v", content, err)
	}
	info, err := os.Stat(filepath.Join(dir, "keys.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	names, in, err := s.Names()
	if err != nil || strings.Join(names, " ") != "gemini openai" || in["gemini"] || !in["openai"] {
		t.Errorf("%v %v %v", names, in, err)
	}
	for name, key := range map[string]string{"": "k", "../x": "k", "openai": " ", "a": "two\nlines"} {
		if _, err := s.Set(ctx, name, key); err == nil {
			t.Errorf("%q has the key %q", name, key)
		}
	}
	if found, err := s.Remove(ctx, "openai"); err != nil || !found || len(ring.keys) > 0 {
		t.Errorf("%v, %v, %v", found, err, ring.keys)
	}
	if found, err := s.Remove(ctx, "openai"); err != nil || found {
		t.Errorf("%v, %v", found, err)
	}
	// A file that others can read is not used.
	if err := os.Chmod(filepath.Join(dir, "keys.json"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("gemini"); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Error(err)
	}
}

// TestNull is that a file which says null has no keys, and can get some.
func TestNull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "keys.json"), []byte("null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := Open(dir).With(nil)
	if _, err := s.Set(t.Context(), "openai", "k"); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get("openai"); err != nil || got != "k" {
		t.Errorf("%q, %v", got, err)
	}
}

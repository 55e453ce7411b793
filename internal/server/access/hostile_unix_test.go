//go:build unix

package access

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
)

// Files that others could read or change are refused, with the command that
// mends them.
func TestLooseModes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{adminFile, listFile} {
		for _, mode := range []os.FileMode{0o604, 0o640, 0o644, 0o660, 0o602, 0o666, 0o777, 0o610} {
			t.Run(name+mode.String(), func(t *testing.T) {
				t.Parallel()
				tokens := openTokens(t, filepath.Join(t.TempDir(), "it's a home"))
				secret := create(t, tokens, Spec{Name: "x", Scope: View})
				path := filepath.Join(tokens.dir, name)
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
				_, err := Open(tokens.dir)
				wantKind(t, "open", err, terret.CodeStartupRefused)
				fix := "chmod 600 '" + strings.ReplaceAll(path, "'", `'\''`) + "'"
				if err != nil && !strings.Contains(err.Error(), fix) {
					t.Errorf("%v does not say %s", err, fix)
				}
				if name == listFile {
					_, err := tokens.authenticate(t.Context(), secret)
					wantKind(t, "while running", err, terret.CodeInternal)
				}
				if err := os.Chmod(path, 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := openTokens(t, tokens.dir).authenticate(t.Context(), secret); err != nil {
					t.Errorf("after chmod: %v", err)
				}
			})
		}
	}
}

// Neither a link nor a pipe is taken for a file, and nothing waits for them.
func TestNotPlainFiles(t *testing.T) {
	t.Parallel()
	plant := map[string]func(path string) error{
		"link": func(path string) error {
			other := filepath.Join(filepath.Dir(path), "other")
			if err := os.WriteFile(other, []byte(strings.Repeat("x", 43)), 0o600); err != nil {
				return err
			}
			return os.Symlink(other, path)
		},
		"dangling": func(path string) error { return os.Symlink(path+".gone", path) },
		"pipe":     func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":   func(path string) error { return os.Mkdir(path, 0o700) },
		"device":   func(path string) error { return os.Symlink("/dev/zero", path) },
	}
	for what, make := range plant {
		for _, name := range []string{adminFile, listFile} {
			t.Run(what+" "+name, func(t *testing.T) {
				t.Parallel()
				home := t.TempDir()
				if err := make(filepath.Join(home, name)); err != nil {
					t.Fatal(err)
				}
				_, err := Open(home)
				wantKind(t, "open", err, terret.CodeStartupRefused)
				if _, err := os.Lstat(filepath.Join(home, "token.gone")); err == nil {
					t.Error("it wrote through a link")
				}
			})
		}
	}
}

func TestFilesArePrivate(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	secret := create(t, tokens, Spec{Name: "x", Scope: View})
	device, _, err := tokens.exchange(t.Context(), tokens.NewCode(), "phone")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(tokens.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
		content, err := os.ReadFile(filepath.Join(tokens.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), secret) || strings.Contains(string(content), device) {
			t.Errorf("%s holds a token in the clear", e.Name())
		}
	}
	if info, err := os.Stat(tokens.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the home has mode %v (%v)", info.Mode(), err)
	}
}

// owned is a file of that user.
type owned struct {
	fs.FileInfo
	uid uint32
}

func (o owned) Sys() any { return &syscall.Stat_t{Uid: o.uid} }

// A file counts as ours if it belongs to us or to root, and to nobody else.
func TestOurs(t *testing.T) {
	t.Parallel()
	me := uint32(os.Geteuid())
	for uid, want := range map[uint32]bool{me: true, 0: true, me + 1: false, me + 1000: false} {
		if got := ours(owned{uid: uid}); got != want {
			t.Errorf("user %d of a file of %d: %v", me, uid, got)
		}
	}
}

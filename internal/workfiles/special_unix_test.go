//go:build unix

package workfiles

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
)

// Nothing waits for a pipe, and nothing but files is opened.
func TestSpecialFiles(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("tracked", "1\n")
	f.sh("git init -q . && git add . && git commit -qm 1 && rm tracked")
	for _, name := range []string{"pipe", "tracked"} {
		if err := syscall.Mkfifo(f.path(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", f.path("socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	f.symlink("pipe", "link")
	f.symlink("/dev/zero", "zero")
	for _, p := range []string{"pipe", "socket", "link", "zero", "tracked"} {
		_, err := f.Read(t.Context(), p)
		wantKind(t, p, err, terret.CodeInvalidRequest, terret.CodeForbidden)
	}
	same(t, "changes", []string{"created link +1 -0", "deleted tracked +0 -1", "created zero +1 -0"}, f.working(""))
	list, err := f.List(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "list", []string{"other link link", "other pipe", "other socket", "other tracked", "other zero link"}, names(list))
}

// Nothing of /proc is read, though its files say that they are regular, and the
// environment of the server is among them.
func TestMadeUpFiles(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc here")
	}
	root := openFolder(t, "/", "")
	for _, p := range []string{"proc/self/environ", "proc/1/status", "proc/" + fmt.Sprint(os.Getpid()) + "/environ", "proc/self", "proc", "sys/kernel", "proc/self/root/etc/passwd", "proc/self/fd/0"} {
		if c, err := root.Read(t.Context(), p); err == nil || c.Text != "" {
			t.Errorf("%s: %q", p, c.Text)
		}
	}
	_, err := root.List(t.Context(), "proc", nil)
	wantKind(t, "list /proc", err, terret.CodeForbidden)
	self := openFolder(t, "/proc/self", "")
	_, err = self.Read(t.Context(), "environ")
	wantKind(t, "a session in /proc", err, terret.CodeForbidden, terret.CodeConflict)
}

// Names that JSON cannot carry are listed, but cannot be asked for.
func TestOddNames(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	if err := os.WriteFile(filepath.Join(f.dir, "bad\xff"), []byte("x"), 0o600); err != nil {
		t.Skip("no such names here")
	}
	f.write("new\nline", "1\n")
	f.write("quo\"te\ttab", "1\n")
	f.write("-rf", "1\n")
	f.write(":(top)x", "1\n")
	f.write("*", "1\n")
	f.sh("git init -q .")
	list, err := f.List(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "list", []string{"file *", "file -rf", "file :(top)x", "other bad\uFFFD", "file new\nline", "file quo\"te\ttab"}, names(list))
	same(t, "changes", []string{
		"created * +1 -0", "created -rf +1 -0", "created :(top)x +1 -0", "created bad\uFFFD +1 -0", "created new\nline +1 -0", "created quo\"te\ttab +1 -0",
	}, f.working(""))
	for _, p := range []string{"*", "-rf", ":(top)x", "new\nline"} {
		if c, err := f.Read(t.Context(), p); err != nil || c.Text != "1\n" {
			t.Errorf("%q: %+v, %v", p, c, err)
		}
	}
}

// A .gitignore that is a pipe holds up nobody for long.
func TestIgnoreRulesFromAPipe(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1\n")
	f.sh("git init -q . && git add . && git commit -qm 1 && mkfifo .gitignore")
	list, err := f.List(t.Context(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "list", []string{"other .gitignore", "file a"}, names(list))
	if found, err := f.Find(t.Context(), "a", 0); err != nil || paths(found) != "a" {
		t.Errorf("%v, %v", found, err)
	}
}

package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file that is replaced can be had back, also one that was made or removed by that, with
// its permission bits. One that is not as expected is left alone.
func TestReplace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		was, wanted *File
	}{
		"edit":    {&File{Mode: 0o644, Content: []byte("new\n")}, &File{Mode: 0o644, Content: []byte("old\n")}},
		"program": {&File{Mode: 0o755, Content: []byte("new\n")}, &File{Mode: 0o644, Content: []byte("new\n")}},
		"delete":  {&File{Mode: 0o644, Content: []byte("new\n")}, nil},
		"create":  {nil, &File{Mode: 0o644, Perm: 0o600, Content: []byte("secret\n")}},
		"link":    {&File{Mode: fs.ModeSymlink | 0o777, Content: []byte("nowhere")}, &File{Mode: 0o644, Content: []byte("old\n")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			f.write("other", "stays")
			switch {
			case c.was == nil:
			case c.was.Mode&fs.ModeSymlink != 0:
				f.symlink(string(c.was.Content), "a")
			default:
				f.write("a", string(c.was.Content))
				if err := os.Chmod(f.path("a"), c.was.Mode); err != nil {
					t.Fatal(err)
				}
			}
			start := contents(t, f.dir)
			other := &File{Mode: 0o644, Content: []byte("else")}
			_, err := f.Replace(t.Context(), "a", other, c.wanted, "test")
			if conflict, ok := errors.AsType[*ConflictError](err); !ok || !cmp.Equal(conflict.Paths, []string{"a"}) {
				t.Fatalf("a file that is another: %v", err)
			}
			if d := cmp.Diff(start, contents(t, f.dir)); d != "" {
				t.Fatalf("a conflict changed something: %s", d)
			}
			res, err := f.Replace(t.Context(), "a", c.was, c.wanted, "test")
			if err != nil || !cmp.Equal(res.Restored, []string{"a"}) || res.Copy == "" {
				t.Fatalf("%+v, %v", res, err)
			}
			if c.wanted == nil {
				if exists(f.path("a")) {
					t.Error("it is still there")
				}
			} else if got := f.read("a"); got != string(c.wanted.Content) {
				t.Errorf("it holds %q", got)
			}
			if c.wanted != nil && c.wanted.Perm != 0 {
				if info, err := os.Stat(f.path("a")); err != nil || info.Mode().Perm() != c.wanted.Perm {
					t.Errorf("mode %v, %v", info.Mode(), err)
				}
			}
			if _, err := f.RestoreCopy(t.Context(), res.Copy, RestoreOptions{}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(start, contents(t, f.dir)); d != "" {
				t.Errorf("not as it was: %s", d)
			}
		})
	}
}

// Nothing outside of the folder and nothing in a .git is replaced.
func TestReplaceStaysInside(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.symlink(t.TempDir(), "out")
	for _, p := range []string{"../a", "/a", ".git/config", "x/.git/config", "a/../../b", "", "out/a"} {
		if res, err := f.Replace(t.Context(), p, nil, &File{Mode: 0o644, Content: []byte("x")}, "test"); err == nil {
			t.Errorf("%q was written: %+v", p, res)
		}
	}
}

// A snapshot's files come with their content and permission bits.
func TestFile(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("d/a", "one\n")
	f.sh("chmod 600 d/a; ln -s d/a link; echo x > run; chmod 755 run")
	s := f.snapshot()
	f.sh("rm -r d link run")
	for path, want := range map[string]*File{
		"d/a":  {Mode: 0o644, Perm: 0o600, Content: []byte("one\n")},
		"link": {Mode: fs.ModeSymlink | 0o777, Content: []byte("d/a")},
		"run":  {Mode: 0o755, Perm: 0o755, Content: []byte("x\n")},
		"none": nil, "d": nil, "*": nil,
	} {
		got, err := f.File(t.Context(), s.ID, path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", path, d)
		}
	}
}

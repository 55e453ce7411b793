//go:build linux || darwin

package checkpoint

import (
	"fmt"
	"testing"
	"time"
)

// looked returns a folder of which every look counts, however fresh its files are.
func looked(t *testing.T, names int) *folder {
	t.Helper()
	f := newFolder(t)
	f.names, f.settle = names, -time.Hour
	f.sh("git init -q . && printf 'deps/\n*.log\n' > .gitignore && mkdir -p deps/a logs src/empty")
	f.write("a", "one")
	f.write("src/b", "two")
	f.write("src/run", "#!/bin/sh")
	f.write("logs/x.log", "ignored")
	for i := range 20 {
		f.write(fmt.Sprintf("deps/a/%d", i), "ignored")
	}
	f.symlink("a", "link")
	f.sh("find . -exec touch -h -t 202001010000 {} +") // git takes a second look at files that are new
	return f
}

// withoutGit takes a snapshot that cannot run git.
func (f *folder) withoutGit() (Snapshot, error) {
	bin := f.bin
	defer func() { f.bin = bin }()
	f.bin = f.path("no-git")
	return f.Snapshot(f.t.Context())
}

// An unchanged folder needs no git, and any change is seen that git would see.
func TestLook(t *testing.T) {
	t.Parallel()
	changes := map[string]string{
		"nothing":                        "true",
		"content":                        "echo more >> a",
		"content of the same size":       "printf 1ne > a",
		"new file":                       "echo new > src/new",
		"new file in an empty folder":    "echo new > src/empty/new",
		"new file where all are ignored": "echo new > logs/new",
		"new folder":                     "mkdir -p x/y && echo new > x/y/z",
		"ignored file":                   "echo more >> logs/x.log",
		"ignored folder":                 "echo more >> deps/a/1",
		"removed":                        "rm src/b",
		"renamed":                        "mv src/b src/c",
		"permissions":                    "chmod 700 src/run",
		"link":                           "ln -sf src/b link",
		"file becomes a folder":          "rm a && mkdir a && echo new > a/a",
		"rules":                          "printf '*.log\n' > .gitignore",
		"rules of a folder":              "echo b > src/.gitignore",
		"rules of the repository":        "echo src/b >> .git/info/exclude",
		"ignored, but tracked":           "git add -f deps/a/1",
		"repository in the folder":       "git init -q src/repo && echo new > src/repo/x",
	}
	for name, change := range changes {
		for _, names := range []int{lookLimit, 20} { // with and without a look into ignored folders
			t.Run(fmt.Sprintf("%s/%d", name, names), func(t *testing.T) {
				t.Parallel()
				f := looked(t, names)
				git := openFolder(t, t.TempDir(), f.dir, Limits{})
				git.names = -1
				for range 3 { // the first finds that the folder is large, the second what is ignored
					f.snapshot()
					git.snapshot()
				}
				before, err := f.withoutGit()
				if err != nil {
					t.Fatalf("an unchanged folder: %v", err)
				}
				f.sh("mkdir -p .git/info && " + change)
				for range 2 {
					if got, want := f.snapshot(), git.snapshot(); got.ID != want.ID {
						t.Errorf("got %s, want what git alone sees: %s (before: %s)", got.ID, want.ID, before.ID)
					}
				}
			})
		}
	}
}

// What changed a moment ago may change again without looking different.
func TestLookSettles(t *testing.T) {
	t.Parallel()
	f := looked(t, lookLimit)
	f.settle = time.Hour
	f.snapshot()
	f.snapshot()
	if _, err := f.withoutGit(); err == nil {
		t.Error("a look was enough although the files have just changed")
	}
}

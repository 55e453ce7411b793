package checkpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A turn changes a folder; undo and redo must go back and forth exactly.
var turns = []struct {
	name    string
	before  func(*folder)
	turn    func(*folder)
	changes []string
}{
	{
		name:    "empty folder",
		before:  func(*folder) {},
		turn:    func(f *folder) { f.write("a", "1") },
		changes: []string{"created a"},
	},
	{
		name:   "shell edits",
		before: func(f *folder) { f.write("a.txt", "one\ntwo\n"); f.write("sub/b.txt", "b\n") },
		turn: func(f *folder) {
			f.sh(`sed -i.orig s/two/2/ a.txt; rm a.txt.orig; echo more >> sub/b.txt; mkdir -p new/deep; echo n > new/deep/n.txt`)
		},
		changes: []string{"modified a.txt", "created new/deep/n.txt", "modified sub/b.txt"},
	},
	{
		name:    "deletions",
		before:  func(f *folder) { f.write("a", "1"); f.write("d/e/f", "2"); f.write("d/g", "3") },
		turn:    func(f *folder) { f.remove("a"); f.remove("d") },
		changes: []string{"deleted a", "deleted d/e/f", "deleted d/g"},
	},
	{
		name:    "renames",
		before:  func(f *folder) { f.write("old/a", "same"); f.write("b", "b") },
		turn:    func(f *folder) { f.sh(`mv old new; mv b c`) },
		changes: []string{"deleted b", "created c", "created new/a", "deleted old/a"},
	},
	{
		name:    "modes",
		before:  func(f *folder) { f.write("run.sh", "#!/bin/sh\n"); f.write("b.sh", "x"); f.sh(`chmod 755 b.sh`) },
		turn:    func(f *folder) { f.sh(`chmod 755 run.sh; chmod 644 b.sh`) },
		changes: []string{"modified b.sh", "modified run.sh"},
	},
	{
		name:    "private files stay private",
		before:  func(f *folder) { f.write("key", "k"); f.write("key2", "k"); f.sh(`chmod 600 key; chmod 400 key2`) },
		turn:    func(f *folder) { f.remove("key"); f.sh(`chmod 600 key2; echo >> key2; chmod 400 key2`) },
		changes: []string{"deleted key", "modified key2"},
	},
	{
		name: "permission bits come back",
		before: func(f *folder) {
			f.write("key", "k")
			f.write("open", "o")
			f.write("plain", "p")
			f.sh(`chmod 600 key; chmod 666 open`)
		},
		turn: func(f *folder) {
			f.sh(`for i in key open plain; do rm $i; echo changed > $i; chmod 640 $i; done; chmod 666 key`)
		},
		changes: []string{"modified key", "modified open", "modified plain"},
	},
	{
		name: "permission bits alone",
		before: func(f *folder) {
			for _, p := range []string{"key", "open", "run", "script"} {
				f.write(p, p)
			}
			f.sh(`chmod 600 key; chmod 666 open; chmod 711 run; chmod 744 script`)
		},
		turn:    func(f *folder) { f.sh(`chmod 644 key; chmod 600 open; chmod 755 run; chmod 700 script`) },
		changes: nil,
	},
	{
		name: "permission bits of programs",
		before: func(f *folder) {
			f.write("run", "1")
			f.write("gone", "1")
			f.sh(`chmod 710 run; chmod 744 gone`)
		},
		turn:    func(f *folder) { f.write("run", "2"); f.sh(`chmod 755 run; rm gone`) },
		changes: []string{"deleted gone", "modified run"},
	},
	{
		name: "symlinks",
		before: func(f *folder) {
			f.write("t", "target")
			f.symlink("t", "l")
			f.symlink("/nowhere", "dangling")
			f.symlink("..", "up")
		},
		turn: func(f *folder) {
			f.remove("l")
			f.symlink("dangling", "l")
			f.remove("dangling")
			f.remove("up")
			f.write("up", "now a file")
			f.remove("t")
			f.symlink("l", "t")
		},
		changes: []string{"deleted dangling", "modified l", "modified t", "modified up"},
	},
	{
		name:    "file becomes folder",
		before:  func(f *folder) { f.write("x", "file") },
		turn:    func(f *folder) { f.remove("x"); f.write("x/y/z", "deep"); f.write("x/w", "w") },
		changes: []string{"deleted x", "created x/w", "created x/y/z"},
	},
	{
		name:    "folder becomes file",
		before:  func(f *folder) { f.write("x/y/z", "deep"); f.write("x/w", "w"); f.write("x.y", "sorts between") },
		turn:    func(f *folder) { f.remove("x"); f.write("x", "file") },
		changes: []string{"created x", "deleted x/w", "deleted x/y/z"},
	},
	{
		name:   "folder becomes symlink to its copy",
		before: func(f *folder) { f.write("d/a", "1"); f.write("d/b", "2") },
		turn:   func(f *folder) { f.sh(`mv d e; ln -s e d`) },
		changes: []string{
			"created d", "deleted d/a", "deleted d/b", "created e/a", "created e/b",
		},
	},
	{
		name: "CRLF, encodings, keywords and LFS are bytes",
		before: func(f *folder) {
			f.write(".gitattributes", "* text=auto eol=crlf ident\n*.bin filter=lfs diff=lfs merge=lfs -text\n*.u16 working-tree-encoding=UTF-16\n*.x binary\n")
			f.write("crlf", "a\r\nb\r\n")
			f.write("mixed", "a\r\nb\nc\r")
			f.write("id", "$Id$ $Id: 1234 $\n")
			f.write("big.bin", "\x00\x01\r\n\xff")
			f.write("s.u16", "not utf-16\n")
		},
		turn: func(f *folder) {
			f.write("crlf", "a\nb\r\n")
			f.write("mixed", "a\nb\r\nc\r")
			f.write("id", "$Id$ changed\r\n")
			f.write("big.bin", "\x00\x02\n\r\xfe")
			f.remove("s.u16")
		},
		changes: []string{"modified big.bin", "modified crlf", "modified id", "modified mixed", "deleted s.u16"},
	},
	{
		name:    "same size, same moment",
		before:  func(f *folder) { f.write("a", "1111") },
		turn:    func(f *folder) { f.write("a", "2222") },
		changes: []string{"modified a"},
	},
	{
		name: "awkward names",
		before: func(f *folder) {
			for _, n := range awkward {
				f.write(n, "before "+n)
			}
		},
		turn: func(f *folder) {
			for i, n := range awkward {
				if i%2 == 0 {
					f.write(n, "after")
				} else {
					f.remove(n)
				}
			}
		},
	},
	{
		name: "non-git folder with .gitignore",
		before: func(f *folder) {
			f.write(".gitignore", "*.log\n/out/\n")
			f.write("a.log", "ignored")
			f.write("a", "1")
		},
		turn:    func(f *folder) { f.write("a", "2"); f.write("b", "new") },
		changes: []string{"modified a", "created b"},
	},
	{
		name: "many files",
		before: func(f *folder) {
			f.sh(`for i in $(seq 600); do echo "file $i" > f$i; done; : > empty; cp f1 copy; head -c 3000000 /dev/zero > zero`)
		},
		turn: func(f *folder) {
			f.sh(`for i in $(seq 1 2 600); do rm f$i; done; for i in $(seq 2 2 600); do echo x >> f$i; done`)
		},
	},
	{
		name: "nested repositories",
		before: func(f *folder) {
			f.sh(`git init -q .; echo top > top
				git init -q in; (cd in; echo a > a; git add a; git commit -qm a; echo '*.tmp' > .gitignore; echo /excluded >> .git/info/exclude; : > excluded; : > x.tmp)
				mkdir -p deep; git init -q deep/er; (cd deep/er; echo b > b; git init -q est; echo c > est/c)
				git -C in worktree add -q ../tree; echo w > tree/w`)
		},
		turn: func(f *folder) {
			f.sh(`echo A > in/a; echo new > in/new; rm deep/er/b; echo C > deep/er/est/c; echo W > tree/w; rm tree/a`)
		},
		changes: []string{"deleted deep/er/b", "modified deep/er/est/c", "modified in/a", "created in/new", "deleted tree/a", "modified tree/w"},
	},
	{
		name:    "repository made and unmade in the turn",
		before:  func(f *folder) { f.sh(`git init -q a; echo 1 > a/x; mkdir b; echo 2 > b/x`) },
		turn:    func(f *folder) { f.sh(`rm -rf a/.git; echo 3 > a/x; git init -q b; echo 4 > b/y`) },
		changes: []string{"modified a/x", "created b/y"},
	},
	{
		name: "the user's repository is created anew and collected",
		before: func(f *folder) {
			f.sh(`git init -q .; for i in 1 2 3; do echo $i > f$i; done; git add .; git commit -qm all`)
		},
		turn:    func(f *folder) { f.sh(`rm -rf .git f1; echo x > f2; git init -q .; git gc -q --prune=now`) },
		changes: []string{"deleted f1", "modified f2"},
	},
	{
		name: "indexes that only their own repository can read",
		before: func(f *folder) {
			f.sh(`git init -q .; echo 1 > a; git add .; git update-index --split-index; echo garbage > b
				git init -q --object-format=sha256 sha256; (cd sha256; echo 1 > c; git add c)
				git init -q broken; echo 1 > broken/d; echo junk > broken/.git/index`)
		},
		turn:    func(f *folder) { f.sh(`echo 2 > a; echo 2 > sha256/c; echo 2 > broken/d`) },
		changes: []string{"modified a", "modified broken/d", "modified sha256/c"},
	},
	{
		name: "tracked in spite of ignore rules",
		before: func(f *folder) {
			f.sh(`git init -q .; echo dist > .gitignore; mkdir dist; echo 1 > dist/a; echo 1 > dist/loose; git add -f dist/a`)
		},
		turn: func(f *folder) {
			f.sh(`echo 2 > dist/a; echo 2 > dist/loose; echo 2 > dist/loose2; rm dist/loose dist/loose2; echo 1 > dist/loose`)
		},
		changes: []string{"modified dist/a"},
	},
}

// awkward are file names that trip up careless code.
var awkward = func() []string {
	names := []string{"-rf", "--help", ":(top)x", ":!x", "a b", "quote\"d", "*", "[x]", "ünï", "#hash", "!bang", "x.gitignore", "~", "$HOME", "it's"}
	if runtime.GOOS != "windows" {
		names = append(names, "new\nline", "tab\tname", `back\slash`, "trailing ", "dir\n/-x", "git~1x", "con", "a:b")
	}
	if runtime.GOOS == "linux" {
		names = append(names, "bad\xff\xfeutf8", "d\xff/\xfe")
	}
	return names
}()

func TestUndoRedo(t *testing.T) {
	t.Parallel()
	for _, tt := range turns {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			tt.before(f)
			stateBefore := contents(t, f.dir)
			before := f.snapshot()
			wantState(t, "after the first snapshot", stateBefore, contents(t, f.dir))
			tt.turn(f)
			stateAfter := contents(t, f.dir)
			after := f.snapshot()
			if again := f.snapshot(); again.ID != after.ID {
				t.Errorf("an unchanged folder has a new id: %s, then %s", after.ID, again.ID)
			}
			if tt.changes != nil {
				if d := cmp.Diff(tt.changes, f.changes(before, after)); d != "" {
					t.Errorf("changes (-want +got):\n%s", d)
				}
			}
			keepGit(stateBefore, stateAfter)

			f.restore(after, before)
			wantState(t, "undo", stateBefore, contents(t, f.dir))
			if s := f.snapshot(); f.changes(before, s) != nil {
				t.Errorf("after undo the snapshot differs: %v", f.changes(before, s))
			}
			f.restore(before, after)
			wantState(t, "redo", stateAfter, contents(t, f.dir))
			f.restore(after, before)
			wantState(t, "undo of undo of undo", stateBefore, contents(t, f.dir))
		})
	}
}

// keepGit makes before expect the .git folders of after: undo leaves them.
func keepGit(before, after map[string]string) {
	isGit := func(p string) bool { return strings.Contains("/"+filepath.ToSlash(p)+"/", "/.git/") }
	for p := range before {
		if isGit(p) {
			delete(before, p)
		}
	}
	for p, s := range after {
		if isGit(p) {
			before[p] = s
		}
	}
}

func TestChangesAndDiff(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a.txt", "one\ntwo\n")
	f.write("bin", "\x00\x01")
	f.write("gone", "x\n")
	f.write("sh", "x\n")
	before := f.snapshot()
	f.write("a.txt", "one\n2\nthree\n")
	f.write("bin", "\x00\x02")
	f.remove("gone")
	f.sh("chmod 755 sh")
	f.symlink("a.txt", ":link")
	after := f.snapshot()

	got, err := f.Changes(t.Context(), before.ID, after.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Path: ":link", Kind: Created, NewMode: fs.ModeSymlink | 0o777, Insertions: 1},
		{Path: "a.txt", Kind: Modified, OldMode: 0o644, NewMode: 0o644, Insertions: 2, Deletions: 1},
		{Path: "bin", Kind: Modified, OldMode: 0o644, NewMode: 0o644, Binary: true},
		{Path: "gone", Kind: Deleted, OldMode: 0o644, Deletions: 1},
		{Path: "sh", Kind: Modified, OldMode: 0o644, NewMode: 0o755},
	}
	for i := range got {
		if got[i].OldID == "" != (got[i].OldMode == 0) || got[i].NewID == "" != (got[i].NewMode == 0) {
			t.Errorf("ids of %+v", got[i])
		}
		got[i].OldID, got[i].NewID = "", ""
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	diff, err := f.Diff(t.Context(), before.ID, after.ID, "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	if s := string(diff); !strings.Contains(s, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n") || strings.Contains(s, "gone") {
		t.Errorf("diff:\n%s", s)
	}
	all, err := f.Diff(t.Context(), before.ID, after.ID)
	if err != nil || !strings.Contains(string(all), "Binary files a/bin and b/bin differ") {
		t.Errorf("diff of all: %v\n%s", err, all)
	}
}

func TestUnknownSnapshot(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	s := f.snapshot()
	missing := ID(strings.Repeat("1", 40) + "-" + strings.Repeat("2", 40))
	for _, id := range []ID{"", "--help", "HEAD", missing, s.ID[:40]} {
		_, err1 := f.Changes(t.Context(), s.ID, id)
		_, err2 := f.Diff(t.Context(), id, s.ID)
		_, err3 := f.Restore(t.Context(), s.ID, id, RestoreOptions{})
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, ErrUnknownSnapshot) {
				t.Errorf("id %q: got %v, want ErrUnknownSnapshot", id, err)
			}
		}
	}
}

// What a person does between a turn and its undo is kept, and named.
func TestConflict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		person   func(*folder)
		conflict []string
		forced   map[string]string // content after a forced undo; "" is no file
		stuck    []string          // not even force
	}{
		{"edit", func(f *folder) { f.write("mod", "mine") }, []string{"mod"}, map[string]string{"mod": "1"}, nil},
		{"edit of a created file", func(f *folder) { f.write("dir/new", "mine") }, []string{"dir/new"}, map[string]string{"dir/new": ""}, nil},
		{"deletion", func(f *folder) { f.remove("mod") }, []string{"mod"}, map[string]string{"mod": "1"}, nil},
		{"mode", func(f *folder) { f.sh("chmod 755 mod") }, []string{"mod"}, map[string]string{"mod": "1"}, nil},
		{"made private", func(f *folder) { f.sh("chmod 600 mod") }, []string{"mod"}, map[string]string{"mod": "1"}, nil},
		{"written again", func(f *folder) { f.write("gone", "mine") }, []string{"gone"}, map[string]string{"gone": "1"}, nil},
		{"file to symlink", func(f *folder) { f.remove("mod"); f.symlink("other", "mod") }, []string{"mod"}, map[string]string{"mod": "1", "other": "1"}, nil},
		{"folder to symlink", func(f *folder) { f.remove("sub"); f.symlink("elsewhere", "sub") }, []string{"sub/mod"}, map[string]string{"sub/mod": "1", "elsewhere/mod": "2"}, nil},
		{"folder to file", func(f *folder) { f.remove("sub"); f.write("sub", "mine") }, []string{"sub/mod"}, map[string]string{"sub/mod": "1"}, nil},
		{"file to folder", func(f *folder) { f.remove("mod"); f.write("mod/mine", "mine") }, []string{"mod"}, map[string]string{"mod/mine": "mine"}, []string{"mod"}},
		{"two", func(f *folder) { f.write("mod", "mine"); f.write("gone", "mine") }, []string{"gone", "mod"}, map[string]string{"mod": "1", "gone": "1"}, nil},
		{"elsewhere", func(f *folder) { f.write("other", "mine"); f.write("dir/mine", "mine") }, nil, map[string]string{"other": "mine", "dir/mine": "mine"}, nil},
		{"undone by hand", func(f *folder) { f.write("mod", "1"); f.remove("dir") }, nil, map[string]string{"mod": "1"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFolder(t)
			for _, p := range []string{"mod", "gone", "sub/mod", "other"} {
				f.write(p, "1")
			}
			f.write("elsewhere/mod", "2")
			before := f.snapshot()
			f.write("mod", "2")
			f.write("sub/mod", "2")
			f.write("dir/new", "2")
			f.remove("gone")
			after := f.snapshot()
			tt.person(f)

			mine := contents(t, f.dir)
			_, err := f.Restore(t.Context(), after.ID, before.ID, RestoreOptions{})
			if tt.conflict == nil {
				if err != nil {
					t.Fatal(err)
				}
			} else {
				conflict, ok := errors.AsType[*ConflictError](err)
				if !ok {
					t.Fatalf("got %v, want a conflict", err)
				}
				if d := cmp.Diff(tt.conflict, conflict.Paths); d != "" {
					t.Errorf("conflicts (-want +got):\n%s", d)
				}
				wantState(t, "after the refusal", mine, contents(t, f.dir))
				res, err := f.Restore(t.Context(), after.ID, before.ID, RestoreOptions{Force: true})
				if (err != nil) != (tt.stuck != nil) {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.stuck, res.NotRestored); d != "" {
					t.Errorf("not restored (-want +got):\n%s", d)
				}
			}
			for p, want := range tt.forced {
				if want == "" {
					if exists(f.path(p)) {
						t.Errorf("%s is still there", p)
					}
				} else if got := f.read(p); got != want {
					t.Errorf("%s holds %q, want %q", p, got, want)
				}
			}
		})
	}
}

// A file that was there all along, outside of the snapshot, looks created when
// the turn makes it visible. Undo must not delete it.
func TestKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		before, turn string
		kept         string
	}{
		{"no longer ignored", "echo .env > .gitignore; echo secret > .env", "echo > .gitignore", ".env"},
		{"no .gitignore any more", "mkdir s; echo /.env > s/.gitignore; echo secret > s/.env", "rm s/.gitignore", "s/.env"},
		{"no longer in an ignored folder", "echo build/ > .gitignore; mkdir build; echo secret > build/x", "rm .gitignore", "build/x"},
		{"no longer excluded", "git init -q .; echo .env > .git/info/exclude; echo secret > .env", "rm .git/info/exclude", ".env"},
		{"tracked against the rules", "git init -q .; echo .env > .gitignore; echo secret > .env", "git add -f .env", ".env"},
		{"no longer too large", "head -c 3000 /dev/zero > big", "echo small > big", "big"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openFolder(t, t.TempDir(), t.TempDir(), Limits{MaxFileBytes: 2000})
			f.write("a", "1")
			f.sh(tt.before)
			before := f.snapshot()
			f.write("a", "2")
			f.write("b", "new")
			f.sh(tt.turn)
			after := f.snapshot()
			content := f.read(tt.kept)
			res := f.restore(after, before)
			if f.read(tt.kept) != content || f.read("a") != "1" || exists(f.path("b")) {
				t.Errorf("undo did not keep what was there: %v", contents(t, f.dir))
			}
			if len(res.Kept) != 1 || res.Kept[0].Path != tt.kept {
				t.Errorf("kept: %v, want %s", res.Kept, tt.kept)
			}
			f.restore(before, after)
			if f.read("a") != "2" || f.read("b") != "new" || f.read(tt.kept) != content {
				t.Errorf("redo: %v", contents(t, f.dir))
			}
		})
	}
}

// A file that was too large when the turn began does not become what it was before that.
func TestOlderContentStaysAway(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string]string{"deleted": "rm big", "small again": "echo small > big"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openFolder(t, t.TempDir(), t.TempDir(), Limits{MaxFileBytes: 2000})
			f.write("big", "once small")
			f.snapshot()
			f.sh("head -c 3000 /dev/zero > big")
			before := f.snapshot()
			f.sh(turn)
			f.write("a", "1")
			after := f.snapshot()
			want := contents(t, f.dir)
			delete(want, "a")
			res := f.restore(after, before)
			if d := cmp.Diff(want, contents(t, f.dir)); d != "" || len(res.Kept) != 1 || res.Kept[0].Path != "big" {
				t.Errorf("%+v (-want +got):\n%s", res, d)
			}
		})
	}
}

func TestEmptyFoldersGo(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("keep/a", "1")
	before := f.snapshot()
	f.write("x/y/z", "1")
	f.write("keep/new/b", "1")
	f.write("keep/other/ignored", "1")
	after := f.snapshot()
	f.sh("mkdir keep/new/mine")
	f.restore(after, before)
	if exists(f.path("x")) || !exists(f.path("keep/new/mine")) || exists(f.path("keep/other")) {
		t.Errorf("left: x %v, keep/new/mine %v, keep/other %v", exists(f.path("x")), exists(f.path("keep/new/mine")), exists(f.path("keep/other")))
	}
}

// A restore that fails half way says what is done and what is not, leaves no
// litter, and can be run again.
func TestRestoreFailsHalfWay(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	for _, p := range []string{"a", "b", "c", "d/gone"} {
		f.write(p, "1")
	}
	stateBefore := contents(t, f.dir)
	before := f.snapshot()
	for _, p := range []string{"a", "b", "c", "new", "new2"} {
		f.write(p, "2")
	}
	f.remove("d")
	after := f.snapshot()

	broken := errors.New("broken")
	f.fault = func(p string) error {
		if slices.Contains([]string{"b", "new", "d/gone"}, p) {
			return broken
		}
		return nil
	}
	res, err := f.Restore(t.Context(), after.ID, before.ID, RestoreOptions{})
	partial, ok := errors.AsType[*RestoreError](err)
	if !ok || !errors.Is(err, broken) {
		t.Fatalf("got %v, want a RestoreError", err)
	}
	want := Result{Restored: []string{"a", "c", "new2"}, NotRestored: []string{"b", "d/gone", "new"}}
	if d := cmp.Diff(want, res); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.NotRestored, partial.NotRestored); d != "" {
		t.Errorf("error (-want +got):\n%s", d)
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("want a, b, c and new, got %v, %v", entries, err)
	}
	f.fault = nil
	res = f.restore(after, before)
	if d := cmp.Diff(Result{Restored: want.NotRestored, Already: want.Restored}, res); d != "" {
		t.Errorf("second result (-want +got):\n%s", d)
	}
	wantState(t, "second run", stateBefore, contents(t, f.dir))
}

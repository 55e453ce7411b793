package tools

import (
	"os"
	"path/filepath"
	"testing"
)

// names lists the folder.
func (b *bench) names() (names []string) {
	b.Helper()
	entries, err := os.ReadDir(b.Dir)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestInside(t *testing.T) {
	t.Parallel()
	b, out, extra := newBench(t), newBench(t), newBench(t)
	b.Roots = []string{extra.Dir, "relative", "/no/such/root"}
	b.write("src/a", "")
	b.write("src/.git/config", "")
	b.write(".GIT/x", "")
	b.write("realgit/config", "")
	b.write("-dash", "")
	b.write(".gitignore", "")
	out.write("o", "")
	extra.write("e", "")
	b.link("realgit", ".git")
	b.link(out.Dir, "out")
	b.link("src", "in")
	b.link(filepath.Join(b.Dir, "src"), "abs")
	b.link(out.path("new"), "dangling")
	b.link("src/fresh", "danglingin")
	for path, want := range map[string]struct {
		real   string
		inside bool
	}{
		"src/a":                  {b.path("src/a"), true},
		"./src/../src/a":         {b.path("src/a"), true},
		b.path("src/a"):          {b.path("src/a"), true},
		"in/a":                   {b.path("src/a"), true},
		"abs/a":                  {b.path("src/a"), true},
		"new/b/c":                {b.path("new/b/c"), true},
		"-dash":                  {b.path("-dash"), true},
		"~/x":                    {b.path("~/x"), true},
		".gitignore":             {b.path(".gitignore"), true},
		"danglingin":             {b.path("src/fresh"), true},
		extra.path("e"):          {extra.path("e"), true},
		extra.path("e/../f"):     {extra.path("f"), true},
		"out/o":                  {out.path("o"), false},
		"out/../src/a":           {b.path("src/a"), true}, // as it reads, and that is what is opened
		out.path("o"):            {out.path("o"), false},
		"../x":                   {filepath.Join(filepath.Dir(b.Dir), "x"), false},
		b.Dir + "x":              {b.Dir + "x", false},
		"dangling":               {out.path("new"), false},
		".git/config":            {b.path("realgit/config"), false},
		"realgit/config":         {b.path("realgit/config"), false},
		"src/.git/config":        {b.path("src/.git/config"), false},
		"in/.git/config":         {b.path("src/.git/config"), false},
		"new/.git":               {b.path("new/.git"), false},
		".GIT/x":                 {b.path(".GIT/x"), false},
		"src/.git . /x":          {b.path("src/.git . /x"), false},
		"src/.g\u200cit/x":       {b.path("src/.g\u200cit/x"), false},
		"src/GIT~1/x":            {b.path("src/GIT~1/x"), false},
		filepath.Dir(b.Dir) + "": {filepath.Dir(b.Dir), false},
	} {
		p, err := b.locate("path", path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if p.real != want.real || p.inside != want.inside {
			t.Errorf("%s leads to %s, inside %v; want %+v", path, p.real, p.inside, want)
		}
	}
}

// TestFolderInGit has its session in a folder below a .git, where some keep
// worktrees: what is above does not count.
func TestFolderInGit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(".git/tree/a", "")
	b.write(".git/tree/.git", "gitdir: ..")
	b.Dir = b.path(".git/tree")
	if u := b.prepare("Read", input{"file_path": "a"}); !u.Inside {
		t.Error("a is not inside")
	}
	if u := b.prepare("Read", input{"file_path": ".git"}); u.Inside {
		t.Error(".git is inside")
	}
}

func TestLinkedFolder(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("real/a", "x")
	b.write("real/.git/c", "x")
	b.link("real", "linked")
	real := b.path("real")
	b.Dir = b.path("linked")
	for path, inside := range map[string]bool{"a": true, ".git/c": false, b.path("a"): true, filepath.Join(real, "a"): true} {
		u := b.prepare("Read", input{"file_path": path})
		if u.Inside != inside || filepath.Dir(filepath.Dir(u.Paths[0])) == b.Dir {
			t.Errorf("%s: %+v", path, u)
		}
	}
	wantText(t, "Read a", b.prepare("Read", input{"file_path": filepath.Join(real, "a")}).Title)
}

func TestBadPaths(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("file", "")
	b.link("loop2", "loop1")
	b.link("loop1", "loop2")
	b.link("self/x", "self")
	for _, tool := range []string{"Read", "Write", "Edit"} {
		in := func(path string) input {
			in := input{"file_path": path}
			switch tool {
			case "Write":
				in["content"] = "x"
			case "Edit":
				in["old_string"], in["new_string"] = "a", "b"
			}
			return in
		}
		b.refused(tool, in("loop1"), "symbolic links")
		b.refused(tool, in("self"), "symbolic links")
		b.refused(tool, in("loop1/x"), "symbolic links")
		b.refused(tool, in("file/x"), "not a folder")
		b.refused(tool, in("a\x00b"), "NUL")
		b.refused(tool, in(""), "empty")
		b.refused(tool, in("."), "folder")
	}
}

// TestPathThatMoves puts a link in the way between Prepare and Run.
func TestPathThatMoves(t *testing.T) {
	t.Parallel()
	for tool, in := range map[string]input{
		"Read":  {"file_path": "d/f"},
		"Write": {"file_path": "d/f", "content": "new"},
		"Edit":  {"file_path": "d/f", "old_string": "text", "new_string": "new"},
		"Glob":  {"pattern": "*", "path": "d"},
		"Grep":  {"pattern": "text", "path": "d"},
	} {
		b, out := newBench(t), newBench(t)
		b.write("d/f", "text")
		out.write("f", "text")
		use := b.prepare(tool, in)
		if err := os.Rename(b.path("d"), b.path("was")); err != nil {
			t.Fatal(err)
		}
		b.link(out.Dir, "d")
		b.fails(use, "leads elsewhere")
		wantText(t, "text", out.read("f"))
		b.noLeftovers()
	}
}

// TestConfined has the link put in the way too late for the second look: the
// file operations themselves do not follow it.
func TestConfined(t *testing.T) {
	t.Parallel()
	b, out := newBench(t), newBench(t)
	b.write("d/f", "text")
	out.write("f", "secret")
	p, err := b.locate("path", "d/f")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(b.path("d")); err != nil {
		t.Fatal(err)
	}
	b.link(out.Dir, "d")
	if f, _, err := openRegular(p); err == nil {
		t.Errorf("%s was opened", f.Name())
	}
}

// TestOutsideTellsNothingBeforeItIsDecided prepares uses that cannot work.
func TestOutsideTellsNothingBeforeItIsDecided(t *testing.T) {
	t.Parallel()
	b, out := newBench(t), newBench(t)
	out.write("f", "one\none\n")
	out.write("similar", "")
	for _, c := range []struct {
		tool, word string
		in         input
	}{
		{"Read", "does not exist", input{"file_path": out.path("none")}},
		{"Read", "there is similar", input{"file_path": out.path("simila")}},
		{"Read", "is a folder", input{"file_path": out.Dir}},
		{"Write", "is a folder", input{"file_path": out.Dir, "content": "x"}},
		{"Edit", "occurs 2 times", input{"file_path": out.path("f"), "old_string": "one", "new_string": "x"}},
		{"Edit", "was not found", input{"file_path": out.path("f"), "old_string": "two", "new_string": "x"}},
		{"Glob", "does not exist", input{"path": out.path("none"), "pattern": "*"}},
		{"Grep", "does not exist", input{"path": out.path("none"), "pattern": "x"}},
	} {
		use := b.prepare(c.tool, c.in)
		if use.Inside || use.Diff != "" {
			t.Errorf("%s %v: %+v", c.tool, c.in, use)
		}
		b.fails(use, c.word)
	}
}

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tree writes files, the first one the oldest.
func (b *bench) tree(paths ...string) {
	b.Helper()
	for i, p := range paths {
		b.write(p, p+"\n")
		when := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(b.path(p), when, when); err != nil {
			b.Fatal(err)
		}
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	b, out := newBench(t), newBench(t)
	b.tree("a.go", "src/b.go", "src/deep/c.go", "src/deep/d.ts", ".hidden/e.go", ".git/f.go", "sub/.git/g.go",
		"node_modules/h/i.go", "src/node_modules/j.go", "[x]/k.go", "-l.go")
	out.write("out.go", "")
	b.link(out.Dir, "src/leaving")
	b.link("..", "src/loop")
	for _, c := range []struct {
		in     input
		want   string
		inside bool
	}{
		{input{"pattern": "*.go"}, "-l.go a.go", true},
		{input{"pattern": "**/*.go"}, "-l.go [x]/k.go .hidden/e.go src/deep/c.go src/b.go a.go", true},
		{input{"pattern": "**/*.{go,ts}", "path": "src"}, "src/deep/d.ts src/deep/c.go src/b.go", true},
		{input{"pattern": "src/**/c.go"}, "src/deep/c.go", true},
		{input{"pattern": "src/*/?.go"}, "src/deep/c.go", true},
		{input{"pattern": "./src/b.go"}, "src/b.go", true},
		{input{"pattern": b.path("src") + "/*.go"}, "src/b.go", true},
		{input{"pattern": "*.go", "path": b.path("src/deep/..")}, "src/b.go", true},
		{input{"pattern": `\[x\]/*`}, "[x]/k.go", true},
		{input{"pattern": "[[]x]/*"}, "[x]/k.go", true},
		{input{"pattern": ".git/*"}, ".git/f.go", false},
		{input{"pattern": "**/.git/*"}, "sub/.git/g.go .git/f.go", false},
		{input{"pattern": "**/node_modules/**"}, "src/node_modules/j.go node_modules/h/i.go", true},
		{input{"pattern": "**", "path": "node_modules"}, "node_modules/h/i.go", true},
		{input{"pattern": "../*/src/b.go", "path": "."}, "", false},
		{input{"pattern": "*.none"}, "[no files match]", true},
	} {
		use := b.prepare("Glob", c.in)
		if use.Inside != c.inside {
			t.Errorf("%v: inside %v", c.in, use.Inside)
		}
		if c.want == "" {
			continue // who knows what is there
		}
		res := b.works("Glob", c.in)
		want := c.want
		if !strings.HasPrefix(want, "[no") {
			want = strings.ReplaceAll(filepath.FromSlash(want), " ", "\n")
		}
		wantText(t, want+"\n", res.Text)
	}
	use := b.prepare("Glob", input{"pattern": "*.go", "path": "src/leaving"})
	if use.Inside || use.Paths[0] != out.Dir {
		t.Errorf("%+v", use)
	}
	var facts globFacts
	if err := json.Unmarshal(b.works("Glob", input{"pattern": "a.*"}).Structured, &facts); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(globFacts{Files: []string{b.path("a.go")}, Total: 1}, facts); d != "" {
		t.Error(d)
	}
	wantText(t, "Find `*.go` in src", b.prepare("Glob", input{"pattern": "src/*.go"}).Title)
}

func TestGlobRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("f", "")
	for pattern, word := range map[string]string{
		"":                        "empty",
		"src/":                    "empty",
		"[":                       "not closed",
		"{a":                      "not closed",
		"*/../x":                  `".."`,
		"a\x00*":                  "NUL",
		strings.Repeat("x*", 600): "longer than",
		"none/*":                  "none does not exist",
	} {
		b.refused("Glob", input{"pattern": pattern}, word)
	}
	b.refused("Glob", input{"pattern": "*", "path": "f"}, "f is not a folder")
	b.refused("Glob", input{"pattern": "*", "path": ""}, "path is empty")
	b.refused("Glob", input{"pattern": "*", "path": "/proc"}, "/proc")
	b.refused("Glob", input{"path": "f"}, "pattern", "missing")
}

// TestGlobBraces does not end in a lifetime if the time to match doubles with each brace.
func TestGlobBraces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	long := strings.Repeat("a", 60)
	b.tree(long, strings.Repeat("a", 40)+"b")
	braces := strings.Repeat("{a,a}", 40)
	wantText(t, strings.Repeat("a", 40)+"b\n", b.works("Glob", input{"pattern": braces + "b"}).Text)
	wantText(t, "[no files match]\n", b.works("Glob", input{"pattern": strings.Repeat("{*,a*}", 40) + "c"}).Text)
	b.works("Grep", input{"pattern": "x", "glob": strings.Repeat("{*,a*}", 40) + "c"})
}

// TestWalkStops shows that a walk looks at nothing more once nobody waits for it.
func TestWalkStops(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tree("a", "b", "c/d")
	root, err := os.OpenRoot(b.path("."))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	visits := 0
	w := &walk{root: root, skip: func(string) bool { return false }, depth: -1}
	w.visit = func(string, fs.DirEntry) error {
		visits++
		cancel()
		return nil
	}
	if err := w.run(ctx); !errors.Is(err, context.Canceled) || visits != 1 {
		t.Errorf("%v after %d visits", err, visits)
	}
}

func TestGlobLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var names []string
	for i := range 4*globLimit + 10 {
		names = append(names, fmt.Sprintf("f%05d", i))
	}
	slices.Reverse(names)
	b.tree(names...)
	res := b.works("Glob", input{"pattern": "*"})
	found := strings.Split(strings.TrimSpace(res.Text), "\n")
	if len(found) != globLimit+1 || found[0] != "f00000" || found[globLimit-1] != "f00999" || !res.Truncated {
		t.Errorf("%d found, first %s", len(found), found[0])
	}
	wantWords(t, res.Text, "the newest 1000 of 4010 files")
}

// TestSearchesAreCancelled ends the context in the middle of a walk.
func TestSearchesAreCancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 50 {
		b.write(fmt.Sprintf("d%d/f", i), "x\n")
	}
	cause := errors.New("stop it")
	for tool, in := range map[string]input{
		"Glob": {"pattern": "**"},
		"Grep": {"pattern": "y"},
	} {
		ctx := &countdown{Context: t.Context(), left: 30, err: cause}
		use := b.prepare(tool, in)
		if res, err := use.Run(ctx, nil); !errors.Is(err, cause) {
			t.Errorf("%s: %+v, %v", tool, res, err)
		}
	}
	b.write("big", strings.Repeat("line\n", 1<<20))
	ctx := &countdown{Context: t.Context(), left: 10, err: cause}
	if _, err := b.prepare("Read", input{"file_path": "big", "offset": 1 << 20}).Run(ctx, nil); !errors.Is(err, cause) {
		t.Errorf("Read: %v", err)
	}
}

// countdown is a context that ends when it has been looked at so often.
type countdown struct {
	context.Context
	left int
	err  error
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return c.err
	}
	return nil
}

func (c *countdown) Value(any) any { return nil }

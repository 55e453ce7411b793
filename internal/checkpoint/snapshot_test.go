package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		lim    Limits
		reason string
	}{
		{"files", Limits{MaxFiles: 9}, "more than 9 files"},
		{"bytes", Limits{MaxBytes: 99}, "over the limit of 99"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := openFolder(t, t.TempDir(), t.TempDir(), tt.lim)
			for i := range 10 {
				f.write(fmt.Sprintf("d%d/f", i), strings.Repeat("x", 10))
			}
			for range 2 { // the second answer comes without looking
				f.wantOff(tt.reason)
			}
		})
	}
}

func (f *folder) wantOff(reason string) {
	f.t.Helper()
	_, err := f.Snapshot(f.t.Context())
	off, ok := errors.AsType[*DisabledError](err)
	if !ok || !strings.Contains(off.Reason, reason) || off.Dir != f.dir {
		f.t.Errorf("got %v, want a reason with %q", err, reason)
	}
}

// A pipe that git waits for hangs a snapshot for no longer than its limit.
func TestLimitOfTime(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	before := f.snapshot()
	f.write("a", "2")
	after := f.snapshot()
	f.sh("mkfifo .gitignore")
	f.lim.Timeout = suspicious / 2 // before the pipe is looked for
	f.wantOff("longer than 250ms")
	f.wantOff("longer than 250ms")
	f.restore(after, before) // what there is can still be used
	if f.read("a") != "1" {
		t.Error("undo did not restore")
	}
}

// Limits count what there is, not how often it changes.
func TestLimitOfFilesWithChanges(t *testing.T) {
	t.Parallel()
	f := openFolder(t, t.TempDir(), t.TempDir(), Limits{MaxFiles: 10})
	for round := range 3 {
		for i := range 10 {
			f.write(fmt.Sprintf("f%d", i), fmt.Sprint(round))
		}
		f.snapshot()
	}
	f.write("one more", "x")
	if _, err := f.Snapshot(t.Context()); err == nil || f.disabled() == nil {
		t.Errorf("got %v, want undo off", err)
	}
}

// A folder that was too large is recorded again, in the same process, once somebody has
// cleaned up: the server has a Repo for as long as it runs.
func TestOnAgain(t *testing.T) {
	t.Parallel()
	f := openFolder(t, t.TempDir(), t.TempDir(), Limits{MaxFiles: 2})
	f.sh("touch a b c")
	f.wantOff("more than 2 files")
	f.sh("rm c")
	f.wantOff("more than 2 files") // nobody looks yet
	f.since = f.since.Add(-offFor)
	f.snapshot()
	f.sh("touch c")
	f.wantOff("more than 2 files")
	f.since = f.since.Add(-offFor)
	f.wantOff("more than 2 files")
}

func TestLeavesOutLargeFiles(t *testing.T) {
	t.Parallel()
	f := openFolder(t, t.TempDir(), t.TempDir(), Limits{MaxFileBytes: 100})
	f.write("small", "1")
	f.write("big", strings.Repeat("x", 101))
	f.write("grows", "1")
	before := f.snapshot()
	want := []LeftOut{{"big", "it is over 100 bytes"}}
	if d := cmp.Diff(want, before.LeftOut); d != "" {
		t.Errorf("left out (-want +got):\n%s", d)
	}
	f.write("small", "2")
	f.write("big", strings.Repeat("y", 102))
	f.write("grows", strings.Repeat("z", 103))
	after := f.snapshot()
	want = append(want, LeftOut{"grows", "it is over 100 bytes"})
	if d := cmp.Diff(want, after.LeftOut); d != "" {
		t.Errorf("left out (-want +got):\n%s", d)
	}
	f.restore(after, before)
	if f.read("small") != "1" || len(f.read("big")) != 102 || len(f.read("grows")) != 103 {
		t.Errorf("undo: %v", contents(t, f.dir))
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	userHome, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "checkpoints", "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/", link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/", link, userHome, filepath.Dir(userHome), home, filepath.Join(home, "checkpoints", "x")} {
		_, err := Open(t.Context(), home, dir, Limits{})
		if _, ok := errors.AsType[*DisabledError](err); !ok {
			t.Errorf("Open(%s): %v, want a DisabledError", dir, err)
		}
	}
	if _, err := Open(t.Context(), home, filepath.Join(home, "missing"), Limits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: %v", err)
	}
	worktree := filepath.Join(home, "worktrees", "x")
	if err := os.MkdirAll(worktree, 0o755); err != nil {
		t.Fatal(err)
	}
	openFolder(t, home, worktree, Limits{})
}

// Terret's home may be inside the folder, even where a .gitignore takes it back.
func TestHomeInsideFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := openFolder(t, filepath.Join(dir, ".my [home]"), dir, Limits{})
	f.write(".gitignore", "!*\n")
	f.write("a", "1")
	before := f.snapshot()
	again := f.snapshot()
	f.write("a", "2")
	after := f.snapshot()
	if before.ID != again.ID || len(f.changes(before, after)) != 1 {
		t.Errorf("the shadow repository is in its own snapshot: %v", f.changes(before, after))
	}
	f.restore(after, before)
}

// A folder inside a repository follows the ignore rules from above it.
func TestFolderInsideRepository(t *testing.T) {
	t.Parallel()
	top := newFolder(t)
	top.sh(`git init -q .; printf 'node_modules\n/pkg/a/gen\n/pkg/*/out/\n' > .gitignore; echo excluded >> .git/info/exclude
		mkdir -p pkg/a/node_modules pkg/a/gen pkg/a/out; echo '*.log' > pkg/.gitignore
		for f in node_modules/x gen/x out/x x.log excluded forced.log keep; do echo 1 > pkg/a/$f; done; git add -f pkg/a/forced.log`)
	f := openFolder(t, t.TempDir(), top.path("pkg/a"), Limits{})
	before := f.snapshot()
	f.sh(`for f in node_modules/x gen/x out/x x.log excluded forced.log keep; do echo 2 > $f; done; echo 2 > gen/y`)
	after := f.snapshot()
	if d := cmp.Diff([]string{"modified forced.log", "modified keep"}, f.changes(before, after)); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
}

func TestSnapshotContext(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("a", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Snapshot(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if f.disabled() != nil {
		t.Error("a cancelled snapshot turned undo off")
	}
	s := f.snapshot()
	if _, err := f.Restore(ctx, s.ID, s.ID, RestoreOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	sub := []string{"pkg", "a"}
	tests := []struct {
		pattern, below, inherited string
		hit                       bool
	}{
		{"foo", "/s/**/foo", "foo", false},
		{"foo/", "/s/**/foo/", "foo/", false},
		{"!foo", "!/s/**/foo", "!foo", false},
		{"/foo", "/s/foo", "", false},
		{"a/b", "/s/a/b", "", false},
		{"/pkg/a/x", "/s/pkg/a/x", "/x", false},
		{"!/pkg/a/x/", "!/s/pkg/a/x/", "!/x/", false},
		{"pkg/*/x/y", "/s/pkg/*/x/y", "/x/y", false},
		{"pkg", "/s/**/pkg", "pkg", true},
		{"*", "/s/**/*", "*", true},
		{"/pkg", "/s/pkg", "", true},
		{"/pkg/a", "/s/pkg/a", "", true},
		{"/pkg/a/", "/s/pkg/a/", "", true},
		{"pkg/**/x", "/s/pkg/**/x", "/**/x", false},
		{"**/x", "/s/**/x", "x", false},
		{"**/a", "/s/**/a", "a", true},
		{"**/x/y", "/s/**/x/y", "/**/x/y", false},
		{"/", "", "", false},
	}
	for _, tt := range tests {
		if got := below(tt.pattern, "s"); got != tt.below {
			t.Errorf("below(%q) = %q, want %q", tt.pattern, got, tt.below)
		}
		if got, hit := inherited(tt.pattern, sub); got != tt.inherited || hit != tt.hit {
			t.Errorf("inherited(%q) = %q, %v, want %q, %v", tt.pattern, got, hit, tt.inherited, tt.hit)
		}
	}
}

// A project below a repository that ignores everything is not ignored.
func TestFolderIgnoredFromAbove(t *testing.T) {
	t.Parallel()
	top := newFolder(t)
	top.sh(`git init -q .; echo '*' > .gitignore; mkdir -p src/project`)
	f := openFolder(t, t.TempDir(), top.path("src/project"), Limits{})
	before := f.snapshot()
	f.write("a", "1")
	if d := cmp.Diff([]string{"created a"}, f.changes(before, f.snapshot())); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
}

func FuzzParseChanges(f *testing.F) {
	f.Add([]byte(":100644 100755 " + strings.Repeat("a", 40) + " " + strings.Repeat("b", 40) + " M\x00p\x001\t2\tp\x00"))
	f.Add([]byte(":000000 120000 0 1 A\x00:x\x00-\t-\t:x\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := parseChanges(raw)
		if err == nil && len(list) > len(raw) {
			t.Errorf("%d changes from %d bytes", len(list), len(raw))
		}
	})
}

package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/internal/textdiff"
)

func TestWriteCreates(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	use := b.prepare("Write", input{"file_path": "a/b/c.txt", "content": "one\ntwo\n"})
	wantText(t, "Write "+filepath.Join("a", "b", "c.txt"), use.Title)
	want := "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
	wantText(t, want, use.Diff)
	if len(b.names()) > 0 {
		t.Error("Prepare created something")
	}
	res, err := use.Run(t.Context(), nil)
	if err != nil || res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	wantText(t, "Created "+filepath.Join("a", "b", "c.txt")+" (8 bytes).", res.Text)
	wantText(t, want, res.Diff)
	wantText(t, "one\ntwo\n", b.read("a/b/c.txt"))
	if d := cmp.Diff([]Change{{b.path("a/b/c.txt"), Created}}, res.Changed); d != "" {
		t.Error(d)
	}
	var facts writeFacts
	if err := json.Unmarshal(res.Structured, &facts); err != nil || !facts.Created || facts.Size != 8 {
		t.Errorf("facts %+v, error %v", facts, err)
	}
	if info, err := os.Stat(b.path("a/b/c.txt")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&^0o022 != 0o644&^0o022 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	b.noLeftovers()
}

func TestWriteReplaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("run.sh", "old\n")
	if err := os.Chmod(b.path("run.sh"), 0o751); err != nil {
		t.Fatal(err)
	}
	use := b.prepare("Write", input{"file_path": "run.sh", "content": "new\n"})
	wantText(t, "--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-old\n+new\n", use.Diff)
	res, err := use.Run(t.Context(), nil)
	if err != nil || res.IsError || res.Changed[0].Kind != Modified {
		t.Fatalf("%+v, %v", res, err)
	}
	wantText(t, "new\n", b.read("run.sh"))
	if info, _ := os.Stat(b.path("run.sh")); runtime.GOOS != "windows" && info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", info.Mode())
	}
	b.noLeftovers()

	res = b.works("Write", input{"file_path": "run.sh", "content": "new\n"})
	wantWords(t, res.Text, "already")
	if res.Changed != nil || res.Diff != "" {
		t.Errorf("%+v", res)
	}
}

func TestWriteThroughLinks(t *testing.T) {
	t.Parallel()
	b, out := newBench(t), newBench(t)
	b.write("target", "old\n")
	b.link("target", "link")
	b.link("made/new", "dangling")
	b.link(out.path("o"), "leaving")
	use := b.prepare("Write", input{"file_path": "link", "content": "new\n"})
	if d := cmp.Diff([]string{b.path("target")}, use.Paths); d != "" {
		t.Error(d)
	}
	wantText(t, "Write target", use.Title)
	b.works("Write", input{"file_path": "link", "content": "new\n"})
	wantText(t, "new\n", b.read("target"))
	b.works("Write", input{"file_path": "dangling", "content": "x"})
	wantText(t, "x", b.read("made/new"))
	for _, link := range []string{"link", "dangling"} {
		if info, err := os.Lstat(b.path(link)); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s is a link no more", link)
		}
	}
	use = b.prepare("Write", input{"file_path": "leaving", "content": "x"})
	if use.Inside || use.Paths[0] != out.path("o") {
		t.Errorf("%+v", use)
	}
	if res, err := use.Run(t.Context(), nil); err != nil || res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
	wantText(t, "x", out.read("o"))
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("dir/x", "")
	b.write("locked", "x")
	if err := os.Chmod(b.path("locked"), 0o444); err != nil {
		t.Fatal(err)
	}
	b.refused("Write", input{"file_path": "dir", "content": ""}, "dir is a folder")
	b.refused("Write", input{"file_path": "new/", "content": ""}, "names a folder")
	b.refused("Write", input{"file_path": "dir/x/y", "content": ""}, "not a folder")
	b.refused("Write", input{"file_path": "locked", "content": ""}, "read-only (mode 0444)")
	b.refused("Write", input{"file_path": "x"}, `"content" is missing`)
	b.refused("Write", input{"file_path": "x", "content": 7}, "content must be a string")
	b.refused("Write", input{"file_path": "x", "content": strings.Repeat("x", writeLimit+1)}, "longer than")
	b.refused("Write", input{"file_path": strings.Repeat("x", 5000), "content": ""}, "name too long")
}

// TestWriteOnChange has the file change between Prepare and Run, in every way.
func TestWriteOnChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench){
		"changed": func(b *bench) { b.write("there", "other\n") },
		"deleted": func(b *bench) { _ = os.Remove(b.path("there")) },
		"emptied": func(b *bench) { b.write("there", "") },
	} {
		b := newBench(t)
		b.write("there", "text\n")
		write := b.prepare("Write", input{"file_path": "there", "content": "new"})
		edit := b.prepare("Edit", input{"file_path": "there", "old_string": "text", "new_string": "new"})
		change(b)
		b.fails(write, "was changed by someone else", "nothing was written")
		b.fails(edit, "was changed by someone else", "Read it again")
		if got, _ := os.ReadFile(b.path("there")); strings.Contains(string(got), "new") {
			t.Errorf("%s: %q", name, got)
		}
		b.noLeftovers()
	}
	b := newBench(t)
	use := b.prepare("Write", input{"file_path": "new", "content": "mine"})
	b.write("new", "theirs")
	b.fails(use, "was changed by someone else")
	wantText(t, "theirs", b.read("new"))
	b.noLeftovers()

	use = b.prepare("Write", input{"file_path": "folder", "content": "mine"})
	b.write("folder/x", "")
	b.fails(use, "is a folder")
	b.noLeftovers()
}

func TestDiffs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("bin", "a\x00b")
	b.write("large", strings.Repeat("line\n", textdiff.MaxInput/5+1))
	b.write("latin", "caf\xe9\n")
	for path, want := range map[string]string{
		"bin":   "Binary files a/bin and b/bin differ\n",
		"large": "too large for a diff: 2097155 bytes become 2",
		"latin": "-caf\uFFFD\n+x\n",
	} {
		wantWords(t, b.prepare("Write", input{"file_path": path, "content": "x\n"}).Diff, want)
	}
	wantText(t, "--- a/latin\n+++ b/latin\n@@ -1 +1 @@\n-caf\uFFFD\n+x\n\\ No newline at end of file\n",
		b.prepare("Write", input{"file_path": "latin", "content": "x"}).Diff)
	long := b.prepare("Write", input{"file_path": "new", "content": strings.Repeat("line\n", 100_000)}).Diff
	if len(long) > textdiff.MaxDiff+100 {
		t.Errorf("a diff of %d bytes", len(long))
	}
	wantWords(t, long, "bytes of the diff cut")
}

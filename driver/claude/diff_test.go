package claude

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

const dir = "/home/dev/project"

func TestDiffOfOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ outcome, want string }{
		"created": {
			`{"type":"create","filePath":"/home/dev/project/n.txt","content":"hi\n","structuredPatch":[],"originalFile":null}`,
			"--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+hi\n",
		},
		"patched": {
			`{"filePath":"/home/dev/project/a/b.txt","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" x","-old","+new","\\ No newline at end of file"]}]}`,
			"--- a/a/b.txt\n+++ b/a/b.txt\n@@ -1,2 +1,2 @@\n x\n-old\n+new\n\\ No newline at end of file\n",
		},
		"rewritten": {
			`{"type":"update","filePath":"/etc/x","content":"b\n","originalFile":"a\n","structuredPatch":[]}`,
			"--- a/etc/x\n+++ b/etc/x\n@@ -1 +1 @@\n-a\n+b\n",
		},
		"the same":      {`{"type":"update","filePath":"/etc/x","content":"a\n","originalFile":"a\n"}`, ""},
		"a read":        {`{"type":"text","file":{"filePath":"/x","content":"y"}}`, ""},
		"a subagent":    {`{"agentId":"a","content":[{"type":"text","text":"found"}]}`, ""},
		"binary":        {`{"type":"create","filePath":"/b","content":"\u0000"}`, "Binary files /dev/null and b/b differ\n"},
		"not an object": {`"Error: no"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var o toolOutcome
			decode(json.RawMessage(c.outcome), &o)
			if diff := cmp.Diff(c.want, o.diff(dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiffOfInput(t *testing.T) {
	t.Parallel()
	files := func(path string) (string, bool) {
		content, ok := map[string]string{dir + "/f.txt": "one\ntwo\nthree\n"}[path]
		return content, ok
	}
	for name, c := range map[string]struct {
		tool, input string
		read        func(string) (string, bool)
		want        string
	}{
		"edit, file unknown":     {"Edit", `{"file_path":"/home/dev/project/f.txt","old_string":"two\n","new_string":"2\n"}`, nil, "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-two\n+2\n"},
		"edit, file known":       {"Edit", `{"file_path":"/home/dev/project/f.txt","old_string":"two","new_string":"2"}`, files, "--- a/f.txt\n+++ b/f.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"},
		"edit that does not fit": {"Edit", `{"file_path":"/home/dev/project/f.txt","old_string":"nine\n","new_string":"9\n"}`, files, "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-nine\n+9\n"},
		"several edits":          {"MultiEdit", `{"file_path":"/home/dev/project/f.txt","edits":[{"old_string":"one","new_string":"1"},{"old_string":"three","new_string":"3","replace_all":true}]}`, files, "--- a/f.txt\n+++ b/f.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+3\n"},
		"several, file unknown":  {"MultiEdit", `{"file_path":"/home/dev/project/f.txt","edits":[{"old_string":"a\n","new_string":"b\n"},{"old_string":"c\n","new_string":"d\n"}]}`, nil, "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-a\n+b\n@@ -1 +1 @@\n-c\n+d\n"},
		"write, file unknown":    {"Write", `{"file_path":"/home/dev/project/f.txt","content":"x\n"}`, nil, ""},
		"write, file known":      {"Write", `{"file_path":"/home/dev/project/f.txt","content":"one\ntwo\n"}`, files, "--- a/f.txt\n+++ b/f.txt\n@@ -1,3 +1,2 @@\n one\n two\n-three\n"},
		"write, new file":        {"Write", `{"file_path":"/home/dev/project/g.txt","content":"x\n"}`, files, "--- /dev/null\n+++ b/g.txt\n@@ -0,0 +1 @@\n+x\n"},
		"not an edit":            {"Bash", `{"command":"ls","file_path":"/x","content":"y"}`, files, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, decodeInput(terret.JSON(c.input)).diff(c.tool, dir, c.read)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDiffsAreBounded(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("a line of some length\n", 50_000)
	if got := unified("a", "b", "", big); len(got) > diffLimit+100 || !strings.HasSuffix(got, "bytes of the diff cut ...]\n") {
		t.Errorf("%d bytes, ends with %q", len(got), got[len(got)-60:])
	}
	if got := unified("a", "b", "", strings.Repeat(big, 3)); len(got) > 200 {
		t.Errorf("%d bytes", len(got))
	}
	if from, _ := labels("/x/a\nb", ""); strings.Contains(from, "\n") {
		t.Errorf("%q", from)
	}
}

func TestFileReader(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, size := range map[string]int{"a.txt": 3, "large": diffInput + 100} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := fileReader(dir)
	for path, want := range map[string]int{"a.txt": 3, filepath.Join(dir, "a.txt"): 3, "large": diffInput + 1, "none": -1, dir: -1, "/dev/zero": -1} {
		if got, ok := read(path); ok != (want >= 0) || ok && len(got) != want {
			t.Errorf("%s: %d bytes, %v", path, len(got), ok)
		}
	}
}

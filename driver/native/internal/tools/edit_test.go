package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, old, new, after string
		all                           bool
	}{
		{"once", "a b c", "b", "x", "a x c", false},
		{"delete", "a b c", " b", "", "a c", false},
		{"all", "b a b", "b", "bb", "bb a bb", true},
		{"all of one", "b", "b", "c", "c", true},
		{"all do not overlap", "aaaa", "aa", "b", "bb", true},
		{"lines", "1\n2\n3\n", "1\n2", "one\ntwo\nand", "one\ntwo\nand\n3\n", false},
		{"no end of line", "1\n2", "2", "3", "1\n3", false},
		{"crlf", "1\r\n2\r\n3\r\n", "1\n2\n", "one\ntwo\nand\n", "one\r\ntwo\r\nand\r\n3\r\n", false},
		{"crlf given", "1\r\n2\r\n", "1\r\n2", "one\r\ntwo", "one\r\ntwo\r\n", false},
		{"crlf within a line", "1\r\n2\r\n", "2", "2a\n2b", "1\r\n2a\r\n2b\r\n", false},
		{"crlf at the end", "1\r\n2", "1\n", "", "2", false},
		{"crlf before", "1\r\n2\r\n", "\n2", "", "1\r\n", false},
		{"mixed, lf part", "1\r\n2\r\n3\n4\n5\r\n", "3\n4", "x\ny", "1\r\n2\r\nx\ny\n5\r\n", false},
		{"mixed, crlf part", "1\r\n2\n3\n4\n", "1\n2", "x\ny", "x\r\ny\n3\n4\n", false},
		{"lone cr", "1\r2\r\n", "1\r2", "x", "x\r\n", false},
		{"crlf into lf", "1\n2\n", "1\n", "1\r\n", "1\r\n2\n", false},
		{"bom", "\ufeffa b", "a", "x", "\ufeffx b", false},
		{"bom given", "\ufeffa b", "\ufeffa", "\ufeffx", "\ufeffx b", false},
		{"bom and crlf", "\ufeff1\r\n2\r\n", "1\n2", "3\n4", "\ufeff3\r\n4\r\n", false},
		{"not utf-8", "\xe9\xff a \xfe", "a", "é", "\xe9\xff é \xfe", false},
		{"nul", "a\x00b", "b", "c", "a\x00c", false},
	} {
		b := newBench(t)
		b.write("f", c.before)
		in := input{"file_path": "f", "old_string": c.old, "new_string": c.new, "replace_all": c.all}
		use := b.prepare("Edit", in)
		wantText(t, c.before, b.read("f"))
		if use.Diff == "" || !use.Inside || use.Title != "Edit f" {
			t.Errorf("%s: %+v", c.name, use)
		}
		res, err := use.Run(t.Context(), nil)
		if err != nil || res.IsError || res.Diff != use.Diff {
			t.Fatalf("%s: %+v, %v", c.name, res, err)
		}
		wantText(t, c.after, b.read("f"))
		if d := cmp.Diff([]Change{{b.path("f"), Modified}}, res.Changed); d != "" {
			t.Error(d)
		}
		b.noLeftovers()
	}
}

func TestEditResult(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("d/f.go", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	use := b.prepare("Edit", input{"file_path": "d/f.go", "old_string": "5", "new_string": "five\nand"})
	wantText(t, "--- a/d/f.go\n+++ b/d/f.go\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and\n 6\n 7\n 8\n", use.Diff)
	b.write("g", "x x x")
	res := b.works("Edit", input{"file_path": "g", "old_string": "x", "new_string": "y", "replace_all": true})
	wantText(t, "Edited g (3 occurrences replaced).", res.Text)
	var facts editFacts
	if err := json.Unmarshal(res.Structured, &facts); err != nil || facts.Replaced != 3 || facts.Path != b.path("g") {
		t.Errorf("facts %+v, error %v", facts, err)
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("f", "one\n  two\none two\n\none\n")
	b.write("many", strings.Repeat("x\n", 100))
	b.write("aaa", "aaa")
	b.write("crlf", "1\r\n2\r\n")
	b.write("latin", "caf\xe9")
	b.write("mark", "\ufeffx")
	b.write("dir/x", "")
	b.write("locked", "x")
	if err := os.Chmod(b.path("locked"), 0o400); err != nil {
		t.Fatal(err)
	}
	b.write("large", "x")
	if err := os.Truncate(b.path("large"), writeLimit+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(b.path("locked"), 0o444); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, old, new string
		words          []string
	}{
		{"f", "one", "x", []string{"f: old_string occurs 3 times (lines 1, 3, 5)", "replace_all"}},
		{"many", "x", "y", []string{"occurs 100 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...)"}},
		{"aaa", "aa", "b", []string{"occurs 2 times (lines 1, 1)"}},
		{"f", "three", "x", []string{"was not found", "copy the text exactly"}},
		{"f", "two\nthree", "x", []string{"was not found", "its first line is there (line 2)"}},
		{"f", "", "x", []string{"old_string is empty", "Write"}},
		{"f", "one", "one", []string{"are the same"}},
		{"latin", "caf\uFFFD", "x", []string{"not UTF-8"}},
		{"mark", "\ufeff", "x", []string{"byte order mark"}},
		{"crlf", "1\n2", "1\r\n2", []string{"change nothing"}},
		{"none", "a", "b", []string{"none does not exist", "Write"}},
		{"mny", "a", "b", []string{"there is many"}},
		{"dir", "a", "b", []string{"is a folder"}},
		{"large", "x", "b", []string{"larger than"}},
		{"locked", "x", "b", []string{"read-only"}},
	} {
		b.refused("Edit", input{"file_path": c.path, "old_string": c.old, "new_string": c.new}, c.words...)
	}
	b.refused("Edit", input{"file_path": "f", "old_string": "one"}, `"new_string" is missing`)
	b.refused("Edit", input{"file_path": "f", "old_string": "one", "new_string": "x", "replace_all": "yes"}, "true or false")
	b.refused("Edit", input{"file_path": "many", "old_string": "x", "new_string": strings.Repeat("y", writeLimit/50), "replace_all": true}, "larger than")
	wantText(t, "aaa", b.read("aaa"))
}

// TestConcurrentEdits has many edit the same file at the same time. Each edit
// that says that it was made was made, and each of the others changed nothing.
func TestConcurrentEdits(t *testing.T) {
	t.Parallel()
	const writers = 12
	b := newBench(t)
	var before strings.Builder
	for i := range writers {
		fmt.Fprintf(&before, "line %02d old\n", i)
	}
	b.write("f", before.String())
	done := make([]bool, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for range 1000 { // prepares again when another was faster
				use, err := prepareEdit(t.Context(), b.Env, input{
					"file_path":  "f",
					"old_string": fmt.Sprintf("line %02d old", i), "new_string": fmt.Sprintf("line %02d new", i),
				}.json())
				if err != nil {
					t.Errorf("writer %d: %v", i, err)
					return
				}
				res, err := use.Run(t.Context(), nil)
				if err != nil || res.IsError && !strings.Contains(res.Text, "changed by someone else") {
					t.Errorf("writer %d: %+v, %v", i, res, err)
					return
				}
				if !res.IsError {
					done[i] = true
					return
				}
			}
		})
	}
	wg.Wait()
	wantText(t, strings.ReplaceAll(before.String(), "old", "new"), b.read("f"))
	for i, ok := range done {
		if !ok {
			t.Errorf("writer %d never came through", i)
		}
	}
	b.noLeftovers()
}

// TestConcurrentCreation has many create the same file: one wins.
func TestConcurrentCreation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	uses := make([]*Use, 8)
	for i := range uses {
		uses[i] = b.prepare("Write", input{"file_path": "f", "content": fmt.Sprint(i)})
	}
	won := make([]bool, len(uses))
	var wg sync.WaitGroup
	for i, u := range uses {
		wg.Go(func() {
			res, err := u.Run(t.Context(), nil)
			won[i] = err == nil && !res.IsError
		})
	}
	wg.Wait()
	winners := 0
	for i, ok := range won {
		if ok {
			winners++
			wantText(t, fmt.Sprint(i), b.read("f"))
		}
	}
	if winners != 1 {
		t.Errorf("%d winners", winners)
	}
	b.noLeftovers()
}

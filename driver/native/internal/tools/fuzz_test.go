package tools

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzPrepare gives every tool any input: none panics and none changes a file.
func FuzzPrepare(f *testing.F) {
	for _, in := range []string{
		`{"command":"rm -rf *","timeout_ms":5}`,
		`{"file_path":"a","offset":1,"limit":2}`,
		`{"file_path":"link","content":"x"}`,
		`{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}`,
		`{"file_path":"new/a","old_string":"","new_string":""}`,
		`{"pattern":"**/{a,b}","path":".."}`,
		`{"pattern":"(a|b)*","path":"a","glob":"[a-z]","-i":true,"context":1,"head_limit":1,"output_mode":"count"}`,
		`{"file_path":"/dev/stdin","content":"\u0000"}`,
		`[1]`, `{"file_path":{}}`, "{\"file_path\":\"\xff\"}",
	} {
		f.Add([]byte(in))
	}
	dir := f.TempDir()
	for name, content := range map[string]string{"a": "x\r\nx\r\n", "b": "x\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.Symlink("new", filepath.Join(dir, "link")); err != nil {
		f.Fatal(err)
	}
	before := picture(f, dir)
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, tool := range All() {
			use, err := tool.Prepare(t.Context(), Env{Dir: dir}, json.RawMessage(in))
			if (use == nil) == (err == nil) {
				t.Fatalf("%s: use %v, error %v", tool.Name, use, err)
			}
			if err != nil {
				if !utf8.ValidString(err.Error()) {
					t.Errorf("%s: error %q", tool.Name, err)
				}
				continue
			}
			if use.Title != plain(use.Title) || use.Tool != tool.Name || use.Class != tool.Class || !utf8.ValidString(use.Diff) {
				t.Errorf("%s: %+v", tool.Name, use)
			}
			for _, p := range use.Paths {
				if !filepath.IsAbs(p) || filepath.Clean(p) != p {
					t.Errorf("%s: path %q", tool.Name, p)
				}
			}
		}
		if d := cmp.Diff(before, picture(t, dir)); d != "" {
			t.Fatalf("files changed:\n%s", d)
		}
	})
}

// picture is all there is in a folder.
func picture(tb testing.TB, dir string) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			all[p] = e.Type().String()
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var content []byte
		if !e.IsDir() {
			content, err = os.ReadFile(p)
		}
		all[p] = fmt.Sprintf("%v %v %x", info.Mode(), info.ModTime(), sha256.Sum256(content))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// FuzzSubstitute holds an edit of an LF text against the simple way to make it,
// and that of the same text with CRLF against that.
func FuzzSubstitute(f *testing.F) {
	f.Add("one\ntwo\none\n", "one\n", "x\ny\n", true)
	f.Add("a\nb", "a\nb", "", false)
	f.Fuzz(func(t *testing.T, text, old, new string, all bool) {
		for _, s := range []string{text, old, new} {
			if !utf8.ValidString(s) || len(s) > 1000 || strings.ContainsAny(s, "\r\ufeff") {
				return
			}
		}
		if old == "" {
			return
		}
		want, n := simple(text, old, new, all)
		got, found, err := substitute([]byte(text), old, new, all)
		if (err != nil) != (n == 0) || err == nil && (string(got) != want || found != n) {
			t.Fatalf("%q: %q for %q gives %q (%d), %v; want %q (%d)", text, new, old, got, found, err, want, n)
		}
		got, _, crlfErr := substitute([]byte(crlf(text)), old, new, all)
		if (err != nil) != (crlfErr != nil) {
			t.Fatalf("LF: %v, CRLF: %v", err, crlfErr)
		}
		if err == nil && strings.Contains(text, "\n") && string(got) != crlf(want) {
			t.Fatalf("CRLF of %q: %q for %q gives %q, want %q", text, new, old, got, crlf(want))
		}
	})
}

// simple is substitute for LF texts, in few words. n is 0 where it must fail.
func simple(text, old, new string, all bool) (after string, n int) {
	n = strings.Count(text, old)
	if all {
		return strings.ReplaceAll(text, old, new), n
	}
	if n != 1 || strings.LastIndex(text, old) != strings.Index(text, old) {
		return "", 0
	}
	return strings.Replace(text, old, new, 1), 1
}

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

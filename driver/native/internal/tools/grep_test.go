package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGrep(t *testing.T) {
	t.Parallel()
	b, out := newBench(t), newBench(t)
	b.write("a.go", "one\ntwo\nThree one\nfour\nfive\nsix\nseven one\n")
	b.write("src/b.ts", "one\r\n\xe9 one\r\n")
	b.write("bin", "one\x00")
	b.write(".git/c", "one\n")
	b.write("node_modules/d", "one\n")
	b.write("-e", "-x\n")
	out.write("o", "one\n")
	b.link(out.Dir, "leaving")
	b.link(out.path("o"), "alsoleaving")
	slash := func(s string) string { return strings.ReplaceAll(s, "src/", filepath.FromSlash("src/")) }
	for _, c := range []struct {
		in   input
		want string
	}{
		{input{"pattern": "one"}, "a.go:1:one\na.go:3:Three one\na.go:7:seven one\nsrc/b.ts:1:one\nsrc/b.ts:2:\uFFFD one\n"},
		{input{"pattern": "^one$"}, "a.go:1:one\nsrc/b.ts:1:one\n"},
		{input{"pattern": "ONE", "-i": true, "path": "src"}, "src/b.ts:1:one\nsrc/b.ts:2:\uFFFD one\n"},
		{input{"pattern": "one", "path": "a.go", "head_limit": 1}, "a.go:1:one\n" + fullNote},
		{input{"pattern": "one", "glob": "*.ts"}, "src/b.ts:1:one\nsrc/b.ts:2:\uFFFD one\n"},
		{input{"pattern": "one", "glob": "src/*", "output_mode": "files"}, "src/b.ts\n"},
		{input{"pattern": "one", "output_mode": "files"}, "a.go\nsrc/b.ts\n"},
		{input{"pattern": "one", "output_mode": "files_with_matches", "head_limit": 1}, "a.go\n" + fullNote},
		{input{"pattern": "one", "output_mode": "count"}, "a.go:3\nsrc/b.ts:2\n"},
		{input{"pattern": "one", "output_mode": "files", "path": "node_modules"}, filepath.FromSlash("node_modules/d") + "\n"},
		{input{"pattern": "one", "output_mode": "files", "glob": "**/.git/*"}, filepath.FromSlash(".git/c") + "\n"},
		{input{"pattern": "-x"}, "-e:1:-x\n"},
		{input{"pattern": "nowhere"}, "[no matches]\n"},
		{input{"pattern": "two|six", "context": 1, "path": "a.go"}, "a.go-1-one\na.go:2:two\na.go-3-Three one\n--\na.go-5-five\na.go:6:six\na.go-7-seven one\n"},
		{input{"pattern": "two|four", "context": 1, "path": "a.go"}, "a.go-1-one\na.go:2:two\na.go-3-Three one\na.go:4:four\na.go-5-five\n"},
		{input{"pattern": "two", "context": 50, "glob": "a.go", "head_limit": 1}, "a.go-1-one\na.go:2:two\na.go-3-Three one\na.go-4-four\na.go-5-five\na.go-6-six\na.go-7-seven one\n"},
	} {
		wantText(t, slash(c.want), b.works("Grep", c.in).Text)
	}
	use := b.prepare("Grep", input{"pattern": "one", "path": "leaving"})
	if use.Inside || use.Paths[0] != out.Dir {
		t.Errorf("%+v", use)
	}
	if b.prepare("Grep", input{"pattern": "x", "glob": ".git/*"}).Inside {
		t.Error(".git is inside")
	}
	wantText(t, "Search for `a.b` in src", b.prepare("Grep", input{"pattern": "a.b", "path": "src"}).Title)
	var facts grepFacts
	if err := json.Unmarshal(b.works("Grep", input{"pattern": "one"}).Structured, &facts); err != nil || facts != (grepFacts{Matches: 5, Files: 2}) {
		t.Errorf("facts %+v, error %v", facts, err)
	}
}

const fullNote = "[the result is full and the search was ended; narrow pattern, path or glob to see more]\n"

func TestGrepRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.refused("Grep", input{"pattern": ""}, "empty")
	b.refused("Grep", input{"pattern": "(?=x)"}, "RE2", "lookaround")
	b.refused("Grep", input{"pattern": "("}, "RE2", "missing closing )")
	b.refused("Grep", input{"pattern": strings.Repeat("x", grepPattern+1)}, "longer than")
	b.refused("Grep", input{"pattern": "x", "output_mode": "lines"}, "content, files or count")
	b.refused("Grep", input{"pattern": "x", "context": 51}, "between 0 and 50")
	b.refused("Grep", input{"pattern": "x", "head_limit": 0}, "between 1 and 500")
	b.refused("Grep", input{"pattern": "x", "glob": "{"}, "glob", "not closed")
	b.refused("Grep", input{"pattern": "x", "path": "none"}, "none does not exist")
	b.refused("Grep", input{"pattern": "x", "path": ""}, "path is empty")
	b.refused("Grep", input{"pattern": "x", "-i": 1}, "-i must be true or false")
	b.refused("Grep", input{"path": "x"}, `"pattern" is missing`)
}

func TestGrepLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("many/f", strings.Repeat("x\n", 2*grepLimit))
	res := b.works("Grep", input{"pattern": "x", "path": "many"})
	if n := strings.Count(res.Text, ":x\n"); n != grepLimit || !res.Truncated {
		t.Errorf("%d matches, truncated %v", n, res.Truncated)
	}
	b.write("exact/f", strings.Repeat("x\n", grepLimit))
	if res := b.works("Grep", input{"pattern": "x", "path": "exact"}); res.Truncated {
		t.Error("a result that just fits is called cut")
	}
	b.write("wide/f", strings.Repeat("x"+strings.Repeat("é", 400)+"\n", 300))
	res = b.works("Grep", input{"pattern": "x", "path": "wide", "context": 2})
	if n := utf8.RuneCountInString(res.Text); n > grepChars+len(fullNote) || n < grepChars/2 || !res.Truncated {
		t.Errorf("%d characters, truncated %v", n, res.Truncated)
	}
	b.write("long/f", strings.Repeat("é", 200_000)+"needle"+strings.Repeat("ü", 10_000)+"\n")
	res = b.works("Grep", input{"pattern": "needle", "path": "long"})
	want := fmt.Sprintf("%s:1:...%sneedle%s...\n", filepath.FromSlash("long/f"), strings.Repeat("é", 50), strings.Repeat("ü", grepWidth-56))
	wantText(t, want, res.Text)
	b.write("longer/f", strings.Repeat("x", grepLine)+"needle\nneedle\n")
	res = b.works("Grep", input{"pattern": "needle", "path": "longer"})
	wantText(t, filepath.FromSlash("longer/f")+":2:needle\n[of lines over 1048576 bytes only the beginning was searched]\n", res.Text)
}

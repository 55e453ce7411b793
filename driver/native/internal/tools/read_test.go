package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		name, content string
		in            input
		want          string
		truncated     bool
	}{
		{"plain", "a\n\nb", nil, "     1\ta\n     2\t\n     3\tb\n", false},
		{"offset", "a\nb\nc\n", input{"offset": 2}, "     2\tb\n     3\tc\n", false},
		{"offset 0", "a\n", input{"offset": 0}, "     1\ta\n", false},
		{"limit", "a\nb\nc\n", input{"limit": 2}, "     1\ta\n     2\tb\n[more lines follow; read on with offset 3]\n", true},
		{"exact limit", "a\nb\n", input{"limit": 2}, "     1\ta\n     2\tb\n", false},
		{"empty", "", nil, "[the file is empty]\n", false},
		{"crlf", "a\r\nb\r\n", nil, "     1\ta\n     2\tb\n[lines end with CRLF; Edit keeps that]\n", false},
		{"bom", "\ufeffa\n\ufeffb\n", nil, "     1\ta\n     2\t\ufeffb\n", false},
		{"latin", "caf\xe9\n", nil, "     1\tcaf\uFFFD\n[bytes that are not UTF-8 are shown as \uFFFD]\n", false},
	} {
		b.write(c.name, c.content)
		in := input{"file_path": c.name}
		maps.Copy(in, c.in)
		res := b.works("Read", in)
		wantText(t, c.want, res.Text)
		if res.Truncated != c.truncated {
			t.Errorf("%s: truncated %v", c.name, res.Truncated)
		}
	}
	b.fails(b.prepare("Read", input{"file_path": "plain", "offset": 9}), "only 3 lines", "offset 9")
	use := b.prepare("Read", input{"file_path": "plain", "offset": 2})
	wantText(t, "Read plain from line 2", use.Title)
	wantText(t, b.path("plain"), use.Paths[0])
	if use.Class != Reads || use.Tool != "Read" || !use.Inside {
		t.Errorf("%+v", use)
	}
}

func TestReadLimits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("many", strings.Repeat("x\n", 5000))
	res := b.works("Read", input{"file_path": "many"})
	wantWords(t, res.Text, "  2000\tx\n", "offset 2001")
	if strings.Contains(res.Text, "2001\t") || !res.Truncated {
		t.Error("too many lines")
	}
	var facts readFacts
	if err := json.Unmarshal(res.Structured, &facts); err != nil || facts != (readFacts{FirstLine: 1, Lines: 2000, More: true, Size: 10000}) {
		t.Errorf("facts %+v, error %v", facts, err)
	}

	b.write("wide", strings.Repeat("é", 2000)+"\n"+strings.Repeat("é", 100_000)+"\nend\n")
	res = b.works("Read", input{"file_path": "wide"})
	wantText(t, fmt.Sprintf("     1\t%s\n     2\t%s[... 98000 characters cut ...]\n     3\tend\n",
		strings.Repeat("é", 2000), strings.Repeat("é", 2000)), res.Text)

	b.write("large", strings.Repeat(strings.Repeat("é", 1999)+"\n", 1000))
	res = b.works("Read", input{"file_path": "large"})
	if len(res.Text) > readLimit || len(res.Text) < readLimit/2 || !res.Truncated || !utf8.ValidString(res.Text) {
		t.Errorf("%d bytes, truncated %v", len(res.Text), res.Truncated)
	}
}

// TestReadSparse reads a file that is far too large to be held.
func TestReadSparse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("huge", strings.Repeat("line\n", 4000))
	if err := os.Truncate(b.path("huge"), 1<<40); err != nil {
		t.Skip(err)
	}
	wantWords(t, b.works("Read", input{"file_path": "huge", "limit": 3}).Text, "     3\tline\n[more")
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("dir/main.go", "x")
	b.write("Makefile", "x")
	b.write("image.png", "\x89PNG\r\n\x1a\n\x00\x00")
	b.write("blob", "ab\x00cd")
	b.refused("Read", input{"file_path": "dir"}, "dir is a folder", "Glob")
	b.refused("Read", input{"file_path": "dir/mian.go"}, "dir/mian.go does not exist", "there is main.go")
	b.refused("Read", input{"file_path": "dir/main.ts"}, "there is main.go")
	b.refused("Read", input{"file_path": "makefile.x"}, "there is Makefile")
	b.refused("Read", input{"file_path": "none/x/y"}, "nor does its folder")
	b.refused("Read", input{"file_path": "zzzzzz"}, "zzzzzz does not exist")
	b.fails(b.prepare("Read", input{"file_path": "image.png"}), "image/png", "is damaged")
	b.fails(b.prepare("Read", input{"file_path": "blob"}), "binary", "unknown kind", "5 bytes")
	use := b.prepare("Read", input{"file_path": "blob"})
	if err := os.Remove(b.path("blob")); err != nil {
		t.Fatal(err)
	}
	b.fails(use, "does not exist")
}

func TestTitlesAreHarmless(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	name := "a\x1b[31m\n\u202eb"
	b.write(name, "")
	wantText(t, "Read a\uFFFD[31m↵\uFFFDb", b.prepare("Read", input{"file_path": name}).Title)
	wantText(t, "[31m↵\uFFFDb\n", strings.TrimPrefix(b.works("Glob", input{"pattern": "*"}).Text, "a\uFFFD"))
}

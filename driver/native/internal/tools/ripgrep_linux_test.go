package tools

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// findRipgrep is a ripgrep, of the machine or of an agent; a test without one is skipped.
func findRipgrep(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("rg"); err == nil {
		return path
	}
	found, err := filepath.Glob("../../../../agents/node_modules/@openai/codex-linux-*/vendor/*/codex-path/rg")
	if err != nil || len(found) == 0 {
		t.Skip("there is no ripgrep") // `make conformance` has one, and takes this for a failure
	}
	path, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// forest is a folder in which ripgrep and we could see different things.
func forest(t *testing.T) *bench {
	t.Helper()
	b, out := newBench(t), newBench(t)
	for i := range ripgrepAfter + 200 {
		b.write(fmt.Sprintf("many/%04d.txt", i), fmt.Sprintf("line %d\nnothing\n", i))
	}
	b.write(".gitignore", "ignored\n*.log\n")
	b.write(".ignore", "*.skip\n")
	b.write(".rgignore", "*.rg\n")
	for _, name := range []string{"x/ignored/f", "x/a.log", "x/b.skip", "x/c.rg", "x/.hidden/f", "x/.f", "x/node_modules/m", "x/.git/g", "x/.terret/t", "x/.GIT/g", "x/é/ü name\nodd"} {
		b.write(name, "a needle here\nNEEDLE\nneedle needle\n")
	}
	b.write("y/binary", "needle\x00needle\n")
	b.write("y/late", strings.Repeat("text\n", 20_000)+"\x00needle\n")
	b.write("y/utf16", "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00")
	b.write("y/latin", "\xe9needle\xe9\n")
	b.write("y/crlf", "needle\r\n")
	b.write("y/huge", strings.Repeat("x", 2*grepLine)+"needle\nneedle\n")
	b.write("y/wide", strings.Repeat("x", grepLine-100)+"needle\n")
	b.write("y/folds", "\u017ftraSSe and \u212aelvin, STRASSE, strasse, kelvin, É é ß ẞ\n")
	b.write("y/empty", "")
	b.write("y/end", "no newline needle")
	out.write("o", "needle\n")
	b.link(out.Dir, "leaving")
	b.link(out.path("o"), "y/link")
	b.link("y", "z")
	return b
}

// TestRipgrep compares searches with ripgrep and without: they must not differ.
func TestRipgrep(t *testing.T) {
	t.Parallel()
	b := forest(t)
	rg := findRipgrep(t)
	searches := []input{
		{"pattern": "needle"},
		{"pattern": "NEEDLE", "-i": true},
		{"pattern": "^needle$"},
		{"pattern": "needle\\s+needle"},
		{"pattern": "(needle)+", "output_mode": "count"},
		{"pattern": "needle|NEEDLE"},
		{"pattern": "x?needle.", "output_mode": "files"},
		{"pattern": "needle", "context": 2},
		{"pattern": "needle", "glob": "*.log"},
		{"pattern": "needle", "glob": "**/node_modules/**"},
		{"pattern": "needle", "glob": "**/.git/*"},
		{"pattern": "needle", "path": "x"},
		{"pattern": "needle", "head_limit": 3},
		{"pattern": "strasse", "-i": true},
		{"pattern": "kelvin", "-i": true},
		{"pattern": "É", "-i": true},
		{"pattern": "é"},
		{"pattern": "ß", "-i": true},
		{"pattern": "\uFFFDneedle"},
		{"pattern": "line 1\\d{3}$", "output_mode": "files"},
		{"pattern": "nothing", "output_mode": "count", "head_limit": 5},
		{"pattern": "[n]eedle here"},
		{"pattern": "(?s)needle.NEEDLE"},
		{"pattern": "needle\nNEEDLE"},
		{"pattern": "\\x6eeedle"},
		{"pattern": "nowhere to be found"},
		{"pattern": "--files"},
		{"pattern": "\\bneedle\\b"},
		{"pattern": "(?i:nee)dle"},
	}
	for _, in := range searches {
		b.Ripgrep = ""
		without := b.works("Grep", in)
		b.Ripgrep = rg
		with := b.works("Grep", in)
		if with.Text != without.Text || string(with.Structured) != string(without.Structured) || with.Truncated != without.Truncated {
			t.Errorf("%v: with ripgrep\n%.2000s\nwithout\n%.2000s", in, with.Text, without.Text)
		}
	}
	g := &grepping{env: b.Env, place: place{real: b.Dir, shown: "."}, skip: unlessNamed(b.Dir, "")}
	a := parse("Grep", input{"pattern": "needle"}.json(), "pattern")
	g.re = grepExpression(a, "needle")
	files, ok := g.candidates(t.Context())
	if !ok || !files["y/latin"] || files["many/0001.txt"] || files["y/link"] || files["y/huge"] || files["x/.git/g"] {
		t.Errorf("%v, %v", files, ok)
	}
}

// TestRipgrepOfAProject is that a program which a repository brings is not run.
func TestRipgrepOfAProject(t *testing.T) {
	t.Parallel()
	b := forest(t)
	b.write("bin/rg", "#!/bin/sh\ntouch "+b.path("ran")+"\nexit 1\n")
	if err := os.Chmod(b.path("bin/rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Ripgrep = b.path("bin/rg")
	if res := b.works("Grep", input{"pattern": "a needle", "path": "x", "output_mode": "files"}); strings.Count(res.Text, "\n") < 6 {
		t.Errorf("%s", res.Text)
	}
	b.works("Grep", input{"pattern": "needle"})
	if _, err := os.Stat(b.path("ran")); err == nil {
		t.Error("a program of the project was run")
	}
	// One that says nothing useful changes nothing.
	other := newBench(t)
	other.write("rg", "#!/bin/sh\nexit 2\n")
	if err := os.Chmod(other.path("rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Ripgrep = other.path("rg")
	if res := b.works("Grep", input{"pattern": "needle", "output_mode": "count"}); !strings.Contains(res.Text, "y/latin:1\n") {
		t.Errorf("%s", res.Text)
	}
}

// TestRipgrepInterrupted is that a search which finds nothing can be ended.
func TestRipgrepInterrupted(t *testing.T) {
	t.Parallel()
	b, other := newBench(t), newBench(t)
	runs := other.path("runs")
	if err := syscall.Mkfifo(runs, 0o600); err != nil {
		t.Fatal(err)
	}
	other.write("rg", "#!/bin/sh\necho >"+runs+"\nexec /bin/sleep 600\n")
	if err := os.Chmod(other.path("rg"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.Ripgrep = other.path("rg")
	g := &grepping{env: b.Env, place: place{real: b.Dir, shown: "."}, skip: unlessNamed(b.Dir, ""), re: regexp.MustCompile("needle")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan bool)
	go func() {
		_, ok := g.candidates(ctx)
		ended <- ok
	}()
	if _, err := os.ReadFile(runs); err != nil { // it ends when the program has begun
		t.Fatal(err)
	}
	cancel()
	if <-ended {
		t.Error("a search that was broken off is believed")
	}
}

package tools

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/terret-dev/terret/internal/proc"
)

const (
	ripgrepAfter = 1000     // files after which ripgrep is worth its start
	ripgrepLimit = 16 << 20 // bytes of the names that it lists
	ripgrepWord  = 2        // bytes of the shortest text that it looks for
)

// candidates are the files below the place that may have matches, as ripgrep sees it: those
// that hold a text which every match holds. It never decides more than that, so that the
// result is the same without it. ok is false if nobody knows: then all files may.
func (g *grepping) candidates(ctx context.Context) (files map[string]bool, ok bool) {
	word, fold := g.word()
	if g.env.Ripgrep == "" || len(word) < ripgrepWord || g.place.real == "/" || g.env.within(g.env.Ripgrep) {
		return nil, false
	}
	// Everything that it would leave out by itself is searched: only we leave files out.
	argv := []string{
		g.env.Ripgrep, "--no-config", "--no-ignore", "--hidden", "--no-follow", "--text", "--encoding", "none", "--no-messages", "--fixed-strings",
		"--files-with-matches", "--null", "--max-filesize", "1M", "--threads", "2",
	}
	for _, name := range []string{".git", ".terret", "node_modules"} {
		if g.skip(name) {
			argv = append(argv, "--glob", "!"+name)
		}
	}
	if fold {
		argv = append(argv, "--ignore-case")
	}
	p, err := proc.Start(ctx, proc.Spec{Argv: append(argv, "-e", word, "--", "./"), Dir: g.place.real, Env: []string{"LC_ALL=C"}, Owner: g.env.Owner})
	if err != nil {
		return nil, false
	}
	defer context.AfterFunc(ctx, func() { _, _ = p.Kill() })() // it may say nothing for long
	_ = p.Stdin().Close()
	out, err := io.ReadAll(io.LimitReader(p.Stdout(), ripgrepLimit+1))
	if err == nil && len(out) <= ripgrepLimit {
		<-p.Done()
	}
	exit, err2 := p.Kill() // it has ended, unless something is wrong
	if ctx.Err() != nil || err != nil || err2 != nil || len(out) > ripgrepLimit || exit.Signal != "" || exit.Code != 0 && exit.Code != 1 {
		return nil, false
	}
	files = map[string]bool{}
	for name := range strings.SplitSeq(string(out), "\x00") {
		files[strings.TrimPrefix(filepath.ToSlash(name), "./")] = true
	}
	return files, true
}

// within reports whether a program is in a folder of the session: what a repository brings
// is not run to search it.
func (e Env) within(program string) bool {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return true
	}
	return slices.ContainsFunc(append([]string{e.Dir}, e.Roots...), func(dir string) bool {
		if d, err := filepath.EvalSymlinks(dir); err == nil {
			dir = d
		}
		rel, err := filepath.Rel(dir, real)
		return err == nil && filepath.IsLocal(rel)
	})
}

// word is the longest text that every match holds, and whether its case does not matter. It
// is empty if there is none.
func (g *grepping) word() (text string, fold bool) {
	re, err := syntax.Parse(g.re.String(), syntax.Perl)
	if err != nil {
		return "", false
	}
	return longest(re)
}

func longest(re *syntax.Regexp) (text string, fold bool) {
	switch re.Op { //nolint:exhaustive // the others promise nothing
	case syntax.OpLiteral:
		text, fold = string(re.Rune), re.Flags&syntax.FoldCase != 0
		odd := func(r rune) bool { return r == '\n' || r == utf8.RuneError || fold && r >= utf8.RuneSelf }
		if strings.ContainsFunc(text, odd) {
			return "", false
		}
	case syntax.OpCapture, syntax.OpPlus:
		return longest(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return longest(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if t, f := longest(sub); len(t) > len(text) {
				text, fold = t, f
			}
		}
	}
	return text, fold
}

// passes reports whether ripgrep knows that a file has no match. It is asked once, when the
// search turns out to be a long one.
func (s *search) passes(ctx context.Context, rel string, info os.FileInfo) bool {
	if s.seen++; s.seen == ripgrepAfter {
		s.maybe, s.known = s.candidates(ctx)
	}
	return s.known && info.Size() < grepLine && !s.maybe[rel]
}

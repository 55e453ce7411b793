package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/terret-dev/terret/internal/glob"
)

const (
	grepLimit   = 500    // matching lines, or files, in a result
	grepChars   = 30_000 // characters of a result
	grepWidth   = 500    // characters of a line in a result
	grepLine    = 1 << 20
	grepContext = 50
	grepPattern = 10_000 // bytes
)

// Output modes of Grep.
const (
	modeContent = "content"
	modeFiles   = "files"
	modeCount   = "count"
)

func grepTool() Tool {
	return Tool{
		Name: "Grep", Class: Search,
		Description: "Searches files line by line for a regular expression (RE2: no lookaround, no backreferences). " +
			"Skips binary files, .git, .terret, node_modules (unless path or glob name it) and symbolic links. Returns at most 500 matches and 30,000 characters.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","description":"The regular expression"},` +
			`"path":{"type":"string","description":"The file or folder to search; the session's folder if not given"},` +
			`"glob":{"type":"string","description":"Search only files whose name, or path when it has a slash, matches, such as *.go or src/**/*.ts"},` +
			`"output_mode":{"type":"string","enum":["content","files","count"],"description":"Matching lines (the default), paths of files that match, or matches in each file"},` +
			`"-i":{"type":"boolean","description":"Ignore case"},` +
			`"context":{"type":"integer","minimum":0,"maximum":50,"description":"Lines to show before and after each match"},` +
			`"head_limit":{"type":"integer","minimum":1,"maximum":500,"description":"At most so many matches, or files"}},` +
			`"required":["pattern"],"additionalProperties":false}`),
		Prepare: prepareGrep,
	}
}

// grepping is a prepared Grep use.
type grepping struct {
	env     Env
	place   place
	re      *regexp.Regexp
	pattern string // of the files to search, or ""
	glob    *glob.Glob
	mode    string
	context int
	limit   int
	skip    func(string) bool
}

func prepareGrep(_ context.Context, env Env, input json.RawMessage) (*Use, error) {
	a := parse("Grep", input, "pattern", "path", "glob", "output_mode", "-i", "context", "head_limit")
	pattern, path := a.text("pattern"), a.optionalText("path")
	if !a.has("path") {
		path = env.Dir
	}
	g := &grepping{
		env:     env,
		pattern: filepath.ToSlash(a.optionalText("glob")),
		mode:    grepMode(a),
		context: a.number("context", 0, grepContext, 0),
		limit:   a.number("head_limit", 1, grepLimit, grepLimit),
	}
	g.re = grepExpression(a, pattern)
	if a.has("glob") {
		var err error
		if g.glob, err = compilePattern(g.pattern); err != nil {
			a.fail("glob %q: %v", brief(g.pattern), err)
		}
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	var err error
	if g.place, err = env.locate("path", path); err != nil {
		return nil, err
	}
	g.skip = unlessNamed(path, g.pattern)
	use := &Use{
		Tool: "Grep", Class: Search,
		Title: fmt.Sprintf("Search for `%s` in %s", brief(pattern), brief(g.place.shown)), Paths: []string{g.place.real},
		Inside: g.place.inside && !hasGit(g.pattern),
		run:    g.run,
	}
	return settle(use, searchable(g.place))
}

func grepMode(a *args) string {
	mode := a.optionalText("output_mode")
	switch mode {
	case modeContent, modeFiles, modeCount:
	case "":
		mode = modeContent
	case "files_with_matches": // what other agents call it
		mode = modeFiles
	default:
		a.fail("output_mode must be content, files or count")
	}
	return mode
}

func grepExpression(a *args, pattern string) *regexp.Regexp {
	expr := pattern
	if a.flag("-i") {
		expr = "(?i)" + expr
	}
	switch {
	case a.has("pattern") && pattern == "":
		a.fail("the pattern is empty")
	case len(pattern) > grepPattern:
		a.fail("the pattern is longer than %d bytes", grepPattern)
	default:
		re, err := regexp.Compile(expr)
		if err == nil {
			return re
		}
		a.fail("the pattern is not a regular expression of RE2 (no lookaround, no backreferences; escape special characters): %v", err)
	}
	return nil
}

// searchable fails for a place that is neither folder nor file.
func searchable(p place) error {
	info, err := os.Lstat(p.real)
	if err != nil {
		return problem(p, err)
	}
	if info.IsDir() {
		return nil
	}
	return regular(p, info)
}

func (g *grepping) run(ctx context.Context, _ func(string)) (Result, error) {
	if err := g.env.relocate(g.place); err != nil {
		return Result{}, err
	}
	s := &search{grepping: g}
	info, err := os.Lstat(g.place.real)
	if err != nil {
		return Result{}, problem(g.place, err)
	}
	if !info.IsDir() {
		f, _, err := openRegular(g.place)
		if err != nil {
			return Result{}, err
		}
		defer f.Close()
		if err := s.file(ctx, f, g.place.shown); err != nil && !errors.Is(err, errEnough) {
			return Result{}, problem(g.place, err)
		}
		return s.result(0), nil
	}
	root, err := os.OpenRoot(g.place.real)
	if err != nil {
		return Result{}, problem(g.place, err)
	}
	defer func() { _ = root.Close() }()
	w := &walk{root: root, base: g.place.real, skip: g.skip, depth: -1}
	w.visit = func(rel string, e fs.DirEntry) error {
		if !e.Type().IsRegular() || !g.wants(rel) {
			return nil
		}
		return s.open(ctx, root, rel)
	}
	if err := w.run(ctx); err != nil {
		return Result{}, err
	}
	return s.result(w.unreadable), nil
}

// wants reports whether the glob lets a file through.
func (g *grepping) wants(rel string) bool {
	if g.glob == nil {
		return true
	}
	if !strings.Contains(g.pattern, "/") {
		rel = rel[strings.LastIndexByte(rel, '/')+1:]
	}
	return g.glob.Match(rel)
}

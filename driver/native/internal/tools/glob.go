package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/glob"
)

const globLimit = 1000 // files in a result

func globTool() Tool {
	return Tool{
		Name: "Glob", Class: Search,
		Description: `Finds files by a pattern of their paths, such as "**/*.go" or "src/**/*.{ts,tsx}"; "*" does not cross a "/", "**/" does. ` +
			"Returns at most 1,000 paths, the most recently changed first. Skips .git, .terret and node_modules unless the pattern names them, and does not follow symbolic links.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"pattern":{"type":"string","description":"The pattern"},` +
			`"path":{"type":"string","description":"The folder to search; the session's folder if not given"}},` +
			`"required":["pattern"],"additionalProperties":false}`),
		Prepare: prepareGlob,
	}
}

// globbing is a prepared Glob use.
type globbing struct {
	env     Env
	place   place // the folder that the walk begins in
	pattern string
	glob    *glob.Glob
	skip    func(string) bool
}

func prepareGlob(_ context.Context, env Env, input json.RawMessage) (*Use, error) {
	a := parse("Glob", input, "pattern", "path")
	pattern, folder := filepath.ToSlash(a.text("pattern")), a.optionalText("path")
	if !a.has("path") {
		folder = env.Dir
	}
	// The part before the first wildcard is a path like any other.
	prefix, rest := splitPattern(pattern)
	compiled, err := compilePattern(rest)
	if err != nil {
		a.fail("pattern %q: %v", brief(pattern), err)
	}
	if a.has("path") && folder == "" {
		a.fail("path is empty")
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	if filepath.IsAbs(prefix) {
		folder = prefix
	} else {
		folder = filepath.Join(folder, prefix)
	}
	g := &globbing{env: env, pattern: rest, glob: compiled, skip: unlessNamed(folder, rest)}
	if g.place, err = env.locate("path", folder); err != nil {
		return nil, err
	}
	use := &Use{
		Tool: "Glob", Class: Search,
		Title: fmt.Sprintf("Find `%s` in %s", brief(rest), brief(g.place.shown)), Paths: []string{g.place.real},
		Inside: g.place.inside && !hasGit(rest),
		run:    g.run,
	}
	return settle(use, isFolder(g.place))
}

// isFolder fails for a place that is not a folder.
func isFolder(p place) error {
	info, err := os.Lstat(p.real)
	if err != nil {
		return problem(p, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder", p.shown)
	}
	return nil
}

// hit is a file that was found.
type hit struct {
	rel      string
	modified time.Time
}

// hits keeps the globLimit newest files.
type hits struct {
	list  []hit
	total int
}

func (h *hits) add(f hit) {
	h.total++
	if h.list = append(h.list, f); len(h.list) >= 4*globLimit {
		h.trim()
	}
}

func (h *hits) trim() {
	slices.SortFunc(h.list, func(a, b hit) int {
		if c := b.modified.Compare(a.modified); c != 0 {
			return c
		}
		return strings.Compare(a.rel, b.rel)
	})
	h.list = h.list[:min(len(h.list), globLimit)]
}

// globFacts is the structured part of a Glob result.
type globFacts struct {
	Files []string `json:"files"` // absolute
	Total int      `json:"total"`
}

func (g *globbing) run(ctx context.Context, _ func(string)) (Result, error) {
	if err := g.env.relocate(g.place); err != nil {
		return Result{}, err
	}
	root, err := os.OpenRoot(g.place.real)
	if err != nil {
		return Result{}, problem(g.place, err)
	}
	defer func() { _ = root.Close() }()
	var found hits
	w := &walk{root: root, base: g.place.real, skip: g.skip, depth: g.depth()}
	w.visit = func(rel string, e fs.DirEntry) error {
		if e.IsDir() || !g.glob.Match(rel) {
			return nil
		}
		if info, err := e.Info(); err == nil { // else it is gone by now
			found.add(hit{rel, info.ModTime()})
		}
		return nil
	}
	if err := w.run(ctx); err != nil {
		return Result{}, err
	}
	found.trim()
	return g.result(&found, w.unreadable), nil
}

// depth is how deep a match can lie, or -1 when nobody knows.
func (g *globbing) depth() int {
	if strings.Contains(g.pattern, "**") || strings.ContainsAny(g.pattern, `{\`) {
		return -1
	}
	return strings.Count(g.pattern, "/")
}

func (g *globbing) result(found *hits, unreadable int) Result {
	facts := globFacts{Files: []string{}, Total: found.total}
	var out strings.Builder
	for _, f := range found.list {
		full := filepath.Join(g.place.real, filepath.FromSlash(f.rel))
		facts.Files = append(facts.Files, full)
		out.WriteString(below(g.place, f.rel) + "\n")
	}
	if found.total == 0 {
		out.WriteString("[no files match]\n")
	}
	more := found.total > len(found.list)
	if more {
		fmt.Fprintf(&out, "[the newest %d of %d files; narrow the pattern to see others]\n", len(found.list), found.total)
	}
	out.WriteString(unreadNote(unreadable))
	return Result{Text: out.String(), Truncated: more, Structured: structured(facts)}
}

// below is how rel below a folder is shown.
func below(p place, rel string) string {
	return plain(filepath.FromSlash(path.Join(filepath.ToSlash(p.shown), rel)))
}

func unreadNote(folders int) string {
	if folders == 0 {
		return ""
	}
	return fmt.Sprintf("[%s could not be read]\n", count(folders, "folder"))
}

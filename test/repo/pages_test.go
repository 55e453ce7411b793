package repo_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const decisionsIndex = "docs/decisions/README.md"

var (
	codeRE     = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	linkRE     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mentionRE  = regexp.MustCompile(`(?:^|[^\w/.-])(docs/[\w/-]+\.md|internal/[a-z][\w/]*\w(?:\.go)?)`)
	decisionRE = regexp.MustCompile(`^0*(\d+)-[a-z0-9-]+\.md$`)
)

// TestPages holds that links and mentions of files and packages lead somewhere, and that
// each decision says its number and its status and is in the list.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, fault := range pageFaults(t, os.DirFS(".")) {
		t.Error(fault)
	}
}

func TestPagesSeesFaults(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	good := "# 1. One\n\nStatus: in force\n\nText.\n"
	tree := fstest.MapFS{
		"README.md":                   file("[a](docs/A.md) [gone](docs/GONE.md#part) [web](https://x/y.md) [here](#a) `[code](NO.md)`\n"),
		"docs/A.md":                   file("[up](../README.md) [down](decisions) [off](decisions/009-no.md)\n```\n[code](NO.md)\n```\n"),
		"a.go":                        file("// docs/A.md and docs/OLD.md say why, and internal/gone how; engine/internal/x is elsewhere.\npackage a\n"),
		"engine/a.go":                 file("// In internal/x.\npackage engine\n"),
		"engine/internal/x/x.go":      file("package x\n"),
		"node_modules/b.md":           file("[gone](GONE.md)\n"),
		decisionsIndex:                file("[1](001-one.md) [2](002-two.md) [3](003-three.md)\n"),
		"docs/decisions/001-one.md":   file(good),
		"docs/decisions/002-two.md":   file("# 3. Two\n\nStatus: in force\n"),
		"docs/decisions/003-three.md": file("# 3. Three\n\nNo status.\n"),
		"docs/decisions/004-four.md":  file(strings.Replace(good, "1. One", "4. Four", 1)),
		"docs/decisions/notes.md":     file("Notes.\n"),
	}
	want := []string{
		`README.md: there is no docs/GONE.md`,
		`a.go: there is no docs/OLD.md`,
		`a.go: there is no internal/gone`,
		`docs/A.md: there is no docs/decisions/009-no.md`,
		`docs/decisions/002-two.md must begin with "# 2. Title", an empty line, and "Status: in force" or "Status: superseded by N"`,
		`docs/decisions/003-three.md must begin with "# 3. Title", an empty line, and "Status: in force" or "Status: superseded by N"`,
		`docs/decisions/004-four.md is not in docs/decisions/README.md`,
		`docs/decisions/notes.md must be called NNN-name.md`,
	}
	if got := pageFaults(t, tree); !slices.Equal(got, want) {
		t.Errorf("faults:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// pageFaults is what is wrong with the pages of a tree, sorted.
func pageFaults(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var faults []string
	texts := map[string]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if slices.Contains([]string{"node_modules", "testdata", "dist", ".git"}, d.Name()) {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) != ".md" && path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		texts[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		for _, target := range links(name, text) {
			if !exists(tree, target) {
				faults = append(faults, fmt.Sprintf("%s: there is no %s", name, target))
			}
		}
		for _, target := range mentions(name, text) {
			if !exists(tree, target) && !exists(tree, path.Join(path.Dir(name), target)) {
				faults = append(faults, fmt.Sprintf("%s: there is no %s", name, target))
			}
		}
		if path.Dir(name) == path.Dir(decisionsIndex) && name != decisionsIndex {
			faults = append(faults, decisionFaults(name, text, texts[decisionsIndex])...)
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func exists(tree fs.FS, name string) bool {
	_, err := fs.Stat(tree, name)
	return err == nil
}

// links are the files and folders of this repository that a page links to.
func links(name, text string) []string {
	if path.Ext(name) != ".md" {
		return nil
	}
	var found []string
	for _, m := range linkRE.FindAllStringSubmatch(codeRE.ReplaceAllString(text, ""), -1) {
		target, _, _ := strings.Cut(m[1], "#")
		if target != "" && !strings.Contains(target, ":") {
			found = append(found, path.Join(path.Dir(name), target))
		}
	}
	return found
}

// mentions are the pages, and the packages below internal, that a page or a comment of a Go
// file names: from the root, or from the folder of the file.
func mentions(name, text string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if path.Ext(name) == ".md" || strings.HasPrefix(strings.TrimSpace(line), "//") {
			for _, m := range mentionRE.FindAllStringSubmatch(line, -1) {
				found = append(found, m[1])
			}
		}
	}
	return found
}

func decisionFaults(name, text, index string) []string {
	m := decisionRE.FindStringSubmatch(path.Base(name))
	if m == nil {
		return []string{name + " must be called NNN-name.md"}
	}
	head := regexp.MustCompile(`^# ` + m[1] + `\. \S.*\n\nStatus: (in force|superseded by \d+)\n`)
	var faults []string
	if !head.MatchString(text) {
		faults = append(faults, fmt.Sprintf(`%s must begin with "# %s. Title", an empty line, and "Status: in force" or "Status: superseded by N"`, name, m[1]))
	}
	if !strings.Contains(index, "]("+path.Base(name)+")") {
		faults = append(faults, name+" is not in "+decisionsIndex)
	}
	return faults
}

package repo_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	changeNameRE = regexp.MustCompile(`^\d{4}-[a-z0-9-]+\.md$`)
	changeRE     = regexp.MustCompile(`^kind: (added|changed|fixed|security)\n\n([^\n]+[.)])\n$`)
	insideRE     = regexp.MustCompile(`\bTest[A-Z]\w+|\binternal/|_test\.go`)
)

// changeFault is what is wrong with a file of changes/unreleased; empty if nothing is.
func changeFault(name, text string) string {
	m := changeRE.FindStringSubmatch(text)
	switch {
	case !changeNameRE.MatchString(name):
		return "must be called NNNN-name.md"
	case m == nil:
		return `must be "kind: added", "changed", "fixed" or "security", an empty line, and one line of sentences`
	case len(m[2]) > 400:
		return "must say it in one or two sentences"
	case insideRE.MatchString(m[2]):
		return "must not name tests and packages: it is for users"
	}
	return ""
}

func TestChanges(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("changes/unreleased/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if fault := changeFault(filepath.Base(file), string(text)); fault != "" {
			t.Errorf("%s %s; see changes/README.md", file, fault)
		}
	}
}

func TestChangesSeesFaults(t *testing.T) {
	t.Parallel()
	good := "kind: fixed\n\nUndo works.\n"
	if fault := changeFault("0001-undo.md", good); fault != "" {
		t.Error(fault)
	}
	for name, text := range map[string]string{
		"undo.md":      good,
		"0002-kind.md": "kind: better\n\nUndo works.\n",
		"0003-none.md": "Undo works.\n",
		"0004-two.md":  "kind: fixed\n\nUndo works.\n\nRedo works.\n",
		"0005-long.md": "kind: fixed\n\n" + strings.Repeat("Undo works. ", 40) + "Yes.\n",
		"0006-test.md": "kind: fixed\n\nUndo works (TestUndo).\n",
		"0007-code.md": "kind: fixed\n\nA race in internal/checkpoint is gone.\n",
	} {
		if changeFault(name, text) == "" {
			t.Errorf("%s: no fault is seen in %q", name, text)
		}
	}
}

// TestChangelog makes two releases of a few changes.
func TestChangelog(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("scripts/changelog.sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	release := func(version string) error {
		cmd := exec.CommandContext(t.Context(), "sh", script, version, "2026-11-18")
		cmd.Dir = dir
		return cmd.Run()
	}
	write("CHANGELOG.md", "# Changelog\n\nAbove.\n\n")
	write("changes/unreleased/0001-b.md", "kind: fixed\n\nB works.\n")
	write("changes/unreleased/0002-a.md", "kind: added\n\nA.\n")
	write("changes/unreleased/0003-c.md", "kind: fixed\n\nC works.\n")
	for _, version := range []string{"", "next"} {
		if release(version) == nil {
			t.Errorf("%q was released", version)
		}
	}
	if err := release("0.1.0"); err != nil {
		t.Fatal(err)
	}
	if release("0.2.0") == nil {
		t.Error("a release without changes was made")
	}
	write("changes/unreleased/0004-d.md", "kind: security\n\nD.\n")
	if release("0.1.0") == nil {
		t.Error("a release was made twice")
	}
	if err := release("0.2.0"); err != nil {
		t.Fatal(err)
	}
	want := "# Changelog\n\nAbove.\n\n" +
		"## 0.2.0 (2026-11-18)\n\n### Security\n\n- D.\n\n" +
		"## 0.1.0 (2026-11-18)\n\n### Added\n\n- A.\n\n### Fixed\n\n- B works.\n- C works.\n"
	got, err := os.ReadFile(filepath.Join(dir, "CHANGELOG.md"))
	if err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("CHANGELOG.md: %v\n%s\nwant:\n%s", err, got, want)
	}
}

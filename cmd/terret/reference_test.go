package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCommandsPage holds that the page is made from the commands as they are.
func TestCommandsPage(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("../../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	got := commandsPage(newRoot(newApp(strings.NewReader(""), nil, nil, nil)))
	if string(got) != string(want) {
		t.Error("docs/reference/commands.md is not made from these commands: run `go generate ./cmd/terret`")
	}
}

// TestManuals holds that there is a manual page for each command, which man can show.
func TestManuals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root := newRoot(newApp(strings.NewReader(""), nil, nil, nil))
	if err := writeManuals(root, dir); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(dir + "/*.1")
	if err != nil || len(pages) != len(offered(root))+1 {
		t.Fatalf("%d pages for %d commands, %v", len(pages), len(offered(root)), err)
	}
	text, err := os.ReadFile(dir + "/terret-run.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, has := range []string{".TH \"TERRET-RUN\" 1", `\-\-policy string`, ".SH EXAMPLES"} {
		if !strings.Contains(string(text), has) {
			t.Errorf("terret-run.1 has no %s:\n%s", has, text)
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Log("there is no groff, so nobody has looked at the pages")
		return
	}
	for _, page := range pages {
		out, err := exec.CommandContext(t.Context(), "groff", "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", filepath.Base(page), err, out)
		}
	}
}

func TestRoff(t *testing.T) {
	t.Parallel()
	if got, want := roff(".x\n'y\na-b \\n"), "\\&.x\n\\&'y\na\\-b \\en"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

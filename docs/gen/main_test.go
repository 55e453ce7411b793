package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPIPage holds that the page is made from the description as it is.
func TestAPIPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "api.md")
	if err := run([]string{"api", "../openapi.json", page}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("docs/reference/api.md is not made from docs/openapi.json: run `go generate ./internal/server/httpapi`")
	}
	for _, has := range []string{"### POST /v1/sessions\n", "| `cwd` | query |", "[NewSession](#newsession)", "### NewSession\n"} {
		if !strings.Contains(string(got), has) {
			t.Errorf("the page has no %s", has)
		}
	}
}

func TestSite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "site")
	if err := run([]string{"site", dir, "v1"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index.html", "guide/undo.html", "reference/api.html", "search.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if err := run([]string{"nonsense"}); err == nil {
		t.Error("nonsense is done")
	}
}

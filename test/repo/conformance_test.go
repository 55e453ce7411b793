package repo_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRealAgentsAreRun holds that scripts/conformance.sh, which lets no test be skipped,
// runs every package whose tests are skipped without a real agent.
func TestRealAgentsAreRun(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("scripts/conformance.sh")
	if err != nil {
		t.Fatal(err)
	}
	needsAgent := regexp.MustCompile(`"TERRET_(CONFORMANCE|CLAUDE)"`)
	found := map[string]bool{}
	err = filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if dir := filepath.ToSlash(filepath.Dir(name)); strings.HasSuffix(name, "_test.go") && dir != "test/repo" && !found[dir] {
			source, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			found[dir] = needsAgent.Match(source)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for dir, needs := range found {
		if !needs {
			continue
		}
		n++
		if !regexp.MustCompile(` \./` + regexp.QuoteMeta(dir) + `( |\n)`).Match(script) {
			t.Errorf("scripts/conformance.sh does not run ./%s, which needs a real agent", dir)
		}
	}
	if n < 3 {
		t.Errorf("only %d packages need a real agent: are they still found?", n)
	}
}

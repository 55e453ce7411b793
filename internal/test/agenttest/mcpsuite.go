package agenttest

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	listed = regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`)
	judged = regexp.MustCompile(`(?m)^[✓✗] (\S+): \d+ passed`)
)

// MCPSuite runs the official conformance suite of MCP on a "server" or a "client": every
// scenario but those of extensions, in every version of the protocol that it knows. The file
// known names the checks that fail or warn, each behind its scenario. The test fails if another
// one does, or if one of them passes.
func MCPSuite(t *testing.T, side, known string, env []string, args ...string) {
	t.Helper()
	suite := Agent{Name: "conformance suite of MCP", Program: "conformance", settings: func(Place) ([]string, error) { return env, nil }}
	p := suite.Prepare(t, "")
	list, err := p.Run(t, "list", "--"+side)
	if err != nil {
		t.Fatal(err)
	}
	left, versions := map[string]bool{}, map[string]bool{}
	for _, scenario := range listed.FindAllStringSubmatch(list, -1) {
		if scenario[2] == "extension" {
			continue
		}
		left[scenario[1]] = true
		for v := range strings.SplitSeq(scenario[2], ",") {
			versions[v] = true
		}
	}
	if len(left) == 0 {
		t.Fatalf("it lists no scenario:\n%s", list)
	}
	run := func(t *testing.T, what ...string) string {
		t.Helper()
		results := t.TempDir()
		// Machines can be slow; nothing measures how long a scenario takes.
		out, err := p.Run(t, slices.Concat([]string{side}, what, []string{"--expected-failures", known, "--output-dir", results, "--timeout", "90000"}, args)...)
		if err != nil {
			t.Errorf("%q: %v\n%s\n%s", what, err, out, failures(results))
		}
		return out
	}
	for _, version := range slices.Sorted(maps.Keys(versions)) {
		t.Run(version, func(t *testing.T) {
			for _, scenario := range judged.FindAllStringSubmatch(run(t, "--suite", "all", "--spec-version", version), -1) {
				delete(left, scenario[1])
			}
		})
	}
	t.Run("left", func(t *testing.T) { // by the suite that is called all
		for scenario := range left {
			run(t, "--scenario", scenario)
		}
	})
}

// failures are the checks in a folder of results that did not pass, one on each line.
func failures(results string) string {
	var out strings.Builder
	_ = filepath.WalkDir(results, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		var checks []struct{ ID, Status, Description, ErrorMessage string }
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &checks)
		}
		for _, c := range checks {
			if c.Status == "FAILURE" || c.Status == "WARNING" {
				fmt.Fprintf(&out, "%s: %s: %s: %s %s\n", strings.TrimPrefix(filepath.Dir(path), results), c.ID, c.Status, c.Description, c.ErrorMessage)
			}
		}
		return err
	})
	return out.String()
}

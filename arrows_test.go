package terret_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/terret-dev/terret"

// arrows says which packages of this module each package may import. A name that
// ends with a slash stands for everything below; the longest match counts.
// Packages that are not listed may import nothing of the module.
var arrows = map[string][]string{
	".":                 {},
	"policy":            {".", "internal/shellread", "internal/lazyregexp"},
	"store":             {"."},
	"store/sqlite":      {".", "store", "internal/"},
	"store/postgres":    {".", "store", "internal/"},
	"store/storetest":   {"."},
	"engine":            {".", "policy", "internal/", "engine/internal/"},
	"driver/":           {".", "internal/"},
	"driver/native":     {".", "internal/", "sim"},
	"driver/all":        {".", "driver/", "internal/"},
	"driver/drivertest": {".", "internal/", "sim", "engine", "store/sqlite"},
	"sim":               {"internal/"},
	"view":              {"."},
	"team":              {".", "engine", "view", "internal/"},
	"workflow":          {".", "engine", "team", "internal/"},
	"review":            {".", "team", "workflow", "internal/"},
	"race":              {".", "team", "workflow", "internal/"},
	"sdk":               {".", "engine", "view", "driver/all", "driver/native", "store/sqlite", "internal/"},
	"client":            {".", "internal/sse"},
	"tui":               {".", "engine", "view", "internal/"},
	"web":               {},
	"internal/":         {"internal/"},
	"internal/bench":    {"./"},
	"cmd/terret":        {"./"},

	// These speak the vocabulary; the other internal packages know nothing of it.
	"internal/access":    {".", "internal/"},
	"internal/workfiles": {".", "internal/"},
	"internal/archive":   {".", "internal/lazyregexp"},
	"internal/complaint": {".", "internal/"},
	"internal/logcheck":  {"."},
	"internal/elicit":    {".", "internal/"},
	"internal/handover":  {".", "internal/"},
	"internal/hive":      {".", "internal/"},
	"internal/marks":     {"."},
	"internal/mcphost":   {".", "internal/"},
	"internal/program":   {".", "internal/"},
	"internal/persona":   {".", "policy", "internal/"},
	"internal/project":   {".", "internal/"},
	"internal/push":      {".", "internal/"},
	"internal/assemble":  {"./"}, // wires everything, for the program and the library

	"internal/httpapi":     {".", "engine", "policy", "view", "team", "workflow", "review", "race", "internal/"},
	"internal/httpapi/gen": {"internal/httpapi"},
	"engine/internal/":     {".", "internal/"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func listPackages(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "./...")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// inModule is the path within the module, "." for the root.
func inModule(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// mayImport lists what the package may import.
func mayImport(name string) []string {
	best, allowed := "", []string(nil)
	for k, v := range arrows {
		if (k == name || strings.HasSuffix(k, "/") && strings.HasPrefix(name, k)) && len(k) > len(best) {
			best, allowed = k, v
		}
	}
	return allowed
}

func permits(allowed []string, name string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return a == "./" || a == name || strings.HasSuffix(a, "/") && strings.HasPrefix(name, a)
	})
}

func TestArrows(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		name, ok := inModule(p.ImportPath)
		if !ok {
			t.Errorf("%s is not in the module", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if to, ok := inModule(imported); ok && !permits(mayImport(name), to) {
				t.Errorf("%s may not import %s: see docs/ARCHITECTURE.md for the arrows", name, to)
			}
		}
	}
}

func TestArrowsCanFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{".", "store", false},
		{"engine", "driver/claude", false},
		{"driver/claude", "driver/codex", false},
		{"driver/claude", "internal/proc", true},
		{"store/sqlite", "store", true},
		{"cmd/terret", "driver/all", true},
		{"internal/proc", ".", false},
		{"unheard/of", ".", false},
	} {
		if got := permits(mayImport(c.from), c.to); got != c.want {
			t.Errorf("%s imports %s: allowed %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// TestLinkSets holds what packages link, directly or not.
func TestLinkSets(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		name, _ := inModule(p.ImportPath)
		for _, dep := range p.Deps {
			_, ours := inModule(dep)
			first, _, _ := strings.Cut(dep, "/")
			third := !ours && strings.Contains(first, ".")
			switch {
			case name == "." && (third || ours):
				t.Errorf("the root package links %s; it may use the standard library only", dep)
			case name == "client" && strings.Contains(dep, "sqlite"):
				t.Errorf("client links %s", dep)
			case name == "internal/guard" && third && !strings.HasPrefix(dep, "golang.org/x/sys"):
				t.Errorf("internal/guard links %s; it runs in front of every agent and must stay lean", dep)
			}
		}
	}
}

// TestOwners holds who owns what. A driver of somebody else's agent runs a program and
// translates: it has no shell, tools, model, permission rules or loop of its own, and no
// terminal to scrape. What Terret owns (personas, sessions, events, context, the log)
// knows no agent.
func TestOwners(t *testing.T) {
	t.Parallel()
	foreign := []string{"driver/claude", "driver/codex", "driver/opencode", "driver/acp"}
	agents := []string{"policy", "engine", "view", "sim", "driver/native", "internal/tools", "internal/shellread", "internal/persona", "internal/project", "internal/mcphost"}
	ours := []string{"engine", "policy", "view", "store/sqlite", "internal/persona", "internal/project", "internal/access", "client"}
	seen := 0
	for _, p := range listPackages(t) {
		name, _ := inModule(p.ImportPath)
		driver, owner := slices.Contains(foreign, name), slices.Contains(ours, name)
		if driver || owner {
			seen++
		}
		for _, dep := range p.Deps {
			to, _ := inModule(dep)
			switch {
			case driver && slices.Contains(agents, to):
				t.Errorf("%s links %s: that is the agent's work, or ours", name, to)
			case driver && slices.Contains(strings.Split(dep, "/"), "pty"):
				t.Errorf("%s links %s: it must not need a terminal", name, dep)
			case owner && strings.HasPrefix(to, "driver/"):
				t.Errorf("%s links %s: it must not know an agent", name, to)
			}
		}
		// The others speak HTTP with a server of the agent.
		if name == "driver/claude" && slices.Contains(p.Imports, "net/http") {
			t.Errorf("%s speaks HTTP: the agent talks to its model itself", name)
		}
	}
	if seen != len(foreign)+len(ours) {
		t.Errorf("found %d of %d packages", seen, len(foreign)+len(ours))
	}
}

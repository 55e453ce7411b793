package repo_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const module = "github.com/terret-dev/terret"

// arrows says which packages of this module each package may import, from the ground up:
// nothing imports what stands further down in this list, but for the names it gives. A
// name that ends with a slash stands for everything below, "./" for everything, and "!"
// takes away. The longest match counts, of packages as of what they may import; leaves do
// not include the rooms internal/server/ and internal/test/, which must be named.
// Packages that are not listed may import nothing of the module.
var arrows = map[string][]string{
	// The words: events, decisions, records, errors, interfaces.
	".": {},

	// The leaves: one idea each. Most know nothing of the words.
	"internal/":              {"internal/"},
	"internal/document":      {".", "internal/"},
	"internal/handover":      {".", "internal/"},
	"internal/workfiles":     {".", "internal/"},
	"internal/test/logcheck": {"."},

	// Rules, logs, agents.
	"policy":                  {".", "policy/internal/", "internal/"},
	"policy/internal/":        {},
	"store":                   {"."},
	"store/sqlite":            {".", "store", "internal/"},
	"store/postgres":          {".", "store", "internal/"},
	"store/storetest":         {"."},
	"driver/":                 {".", "driver/internal/", "internal/"},
	"driver/internal/":        {".", "internal/"},
	"driver/native":           {".", "driver/internal/", "driver/native/internal/", "internal/"},
	"driver/native/internal/": {".", "driver/internal/", "driver/native/internal/", "internal/"},
	"driver/all":              {".", "driver/", "internal/"},
	"driver/drivertest":       {".", "internal/", "internal/test/", "test/sim", "engine", "store/sqlite"},

	// Turns.
	"engine":               {".", "policy", "internal/", "engine/internal/"},
	"engine/internal/":     {".", "internal/"},
	"engine/internal/desk": {".", "policy", "internal/"},
	"view":                 {"."},

	// Several agents on one thing.
	"work/team":     {".", "engine", "view", "internal/"},
	"work/workflow": {".", "engine", "work/team", "internal/"},
	"work/review":   {".", "work/team", "work/workflow", "internal/"},
	"work/race":     {".", "work/team", "work/workflow", "internal/"},

	// The server. Only what is below stands in these lists: nothing below may import it.
	"internal/server/":        {".", "internal/"},
	"internal/server/persona": {".", "policy", "internal/"},
	"internal/server/assemble": {
		".", "engine", "driver/all", "driver/native", "store/sqlite", "internal/",
		"internal/server/config", "internal/server/persona", "internal/server/project",
	},
	"internal/server/installation": {
		"internal/server/archive",
		".", "engine", "work/", "store/sqlite", "store/postgres", "internal/",
		"internal/server/assemble", "internal/server/config", "internal/server/keys", "internal/server/marks",
	},
	"internal/server/setup": {
		".", "policy", "driver/native", "internal/",
		"internal/server/assemble", "internal/server/config", "internal/server/keys",
	},
	"internal/server/httpapi":     {".", "engine", "policy", "view", "work/", "internal/", "internal/server/"},
	"internal/server/httpapi/gen": {"internal/server/httpapi"},
	"internal/server/config/gen":  {"internal/server/config"},

	// Doors: what other programs speak already. Clients, like people's.
	"internal/door/": {".", "client", "internal/"},

	// What people and programs use.
	"client":               {".", "internal/sse"},
	"sdk":                  {".", "engine", "view", "driver/native", "internal/server/assemble", "internal/server/config"},
	"tui":                  {".", "client", "tui/draft"},
	"tui/draft":            {},
	"web":                  {},
	"docs":                 {},
	"docs/gen":             {"docs"},
	"cmd/terret":           {"./", "internal/server/", "!test/", "test/sim"},
	"cmd/terret/internal/": {".", "internal/"},

	// What others could have written.
	"examples/": {".", "policy", "client", "sdk"},

	// Machinery of tests. Only tests and `terret sim` use it.
	"test/sim":   {"internal/"},
	"test/bench": {"./", "internal/server/", "internal/test/"},
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

// permits looks for the longest entry that stands for the name.
func permits(allowed []string, name string) bool {
	best, ok := 0, false
	for _, a := range slices.Concat([]string{"!internal/server/", "!internal/test/"}, allowed) {
		a, taken := strings.CutPrefix(a, "!")
		if n := len(a); (a == name || a == "./" || strings.HasSuffix(a, "/") && strings.HasPrefix(name, a)) && n >= best {
			best, ok = n, !taken
		}
	}
	return ok
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
		{"internal/proc", "internal/guard", true},
		{"internal/proc", "internal/server/config", false},
		{"engine", "internal/server/assemble", false},
		{"engine", "work/team", false},
		{"driver/claude", "driver/native/internal/tools", false},
		{"cmd/terret", "internal/test/pgtest", false},
		{"cmd/terret", "internal/server/httpapi", true},
		{"sdk", "internal/server/installation", false},
		{"internal/server/assemble", "work/team", false},
		{"examples/chat-ops", "client", true},
		{"examples/custom-policy", "engine", false},
		{"examples/custom-policy", "internal/proc", false},
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
			to, ours := inModule(dep)
			first, _, _ := strings.Cut(dep, "/")
			third := !ours && strings.Contains(first, ".")
			switch {
			case name == "." && (third || ours):
				t.Errorf("the root package links %s; it may use the standard library only", dep)
			case name == "client" && (third || ours && to != "." && to != "internal/sse"):
				t.Errorf("client links %s; it may use the standard library, the root package and internal/sse", dep)
			case name == "internal/guard" && third && !strings.HasPrefix(dep, "golang.org/x/sys"):
				t.Errorf("internal/guard links %s; it runs in front of every agent and must stay lean", dep)
			}
		}
	}
}

// linkedModules are the modules of others that a program links with a package that is meant
// for other people's programs. Whoever adds one adds it to all of those programs.
var linkedModules = map[string][]string{
	"client": {},
	"engine": {
		"golang.org/x/sys",
		"golang.org/x/text",
		"mvdan.cc/sh/v3",
	},
	"sdk": {
		"github.com/JohannesKaufmann/dom",
		"github.com/JohannesKaufmann/html-to-markdown/v2",
		"github.com/aymanbagabas/go-udiff",
		"github.com/dustin/go-humanize",
		"github.com/goccy/go-yaml",
		"github.com/google/jsonschema-go",
		"github.com/google/uuid",
		"github.com/landlock-lsm/go-landlock",
		"github.com/modelcontextprotocol/go-sdk",
		"github.com/remyoudompheng/bigfft",
		"github.com/segmentio/asm",
		"github.com/segmentio/encoding",
		"github.com/tailscale/hujson",
		"github.com/yosida95/uritemplate/v3",
		"golang.org/x/net",
		"golang.org/x/oauth2",
		"golang.org/x/sync",
		"golang.org/x/sys",
		"golang.org/x/text",
		"golang.org/x/time",
		"kernel.org/pub/linux/libs/security/libcap/psx",
		"modernc.org/libc",
		"modernc.org/mathutil",
		"modernc.org/memory",
		"modernc.org/sqlite",
		"mvdan.cc/sh/v3",
	},
}

// TestLinkedModules holds the modules that the libraries link, on Linux.
func TestLinkedModules(t *testing.T) {
	t.Parallel()
	for name, want := range linkedModules {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", "./"+name)
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		got := strings.Fields(string(out))
		slices.Sort(got)
		if diff := cmp.Diff(want, slices.Compact(got), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s links other modules than it should: %s", name, diff)
		}
	}
}

// TestOwners holds who owns what. A driver of somebody else's agent runs a program and
// translates: it has no shell, tools, model, permission rules or loop of its own, and no
// terminal to scrape. What Terret owns (personas, sessions, events, context, the log)
// knows no agent.
func TestOwners(t *testing.T) {
	t.Parallel()
	notForeign := []string{"driver/all", "driver/drivertest", "driver/mock", "driver/native"}
	agents := []string{"policy", "engine", "view", "test/sim", "driver/native", "driver/native/internal/tools", "policy/internal/shellread", "internal/server/persona", "internal/server/project", "driver/native/internal/mcphost"}
	ours := []string{"engine", "policy", "view", "store/sqlite", "internal/server/persona", "internal/server/project", "internal/server/access", "client"}
	seen, foreign := 0, 0
	for _, p := range listPackages(t) {
		name, _ := inModule(p.ImportPath)
		folder, isDriver := strings.CutPrefix(name, "driver/")
		driver, owner := isDriver && !strings.Contains(folder, "/") && !slices.Contains(notForeign, name), slices.Contains(ours, name)
		if driver {
			foreign++
		}
		if owner {
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
	if seen != len(ours) || foreign < 4 {
		t.Errorf("found %d of %d packages, and %d drivers", seen, len(ours), foreign)
	}
}

package repo_test

import (
	"os"
	"strings"
	"testing"
)

// dependencies are all modules that the product or its tests import directly, and
// why. Add one only when it is well kept and what it does is not small.
var dependencies = map[string]string{
	"github.com/danielgtaylor/huma/v2":                "routes that describe themselves",
	"github.com/JohannesKaufmann/html-to-markdown/v2": "web pages that a model can read",
	"golang.org/x/net":                                "character sets of web pages",
	"golang.org/x/oauth2":                             "tokens of MCP servers, in the form that the MCP SDK wants",
	"github.com/aymanbagabas/go-udiff":                "diffs of edits",
	"github.com/bmatcuk/doublestar/v4":                "what path patterns mean, for a test that compares",
	"github.com/goccy/go-yaml":                        "scenario files and frontmatter",
	"github.com/creack/pty":                           "terminals beside the conversation, on Linux and macOS",
	"github.com/google/go-cmp":                        "differences in tests",
	"github.com/google/jsonschema-go":                 "the schema of the configuration, and answers that must fit one",
	"github.com/tailscale/hujson":                     "comments in the configuration",
	"go.uber.org/goleak":                              "goroutine leaks in tests",
	"golang.org/x/sys":                                "pidfd, prctl",
	"golang.org/x/text":                               "Unicode variants of paths in rules",
	"github.com/SherClockHolmes/webpush-go":           "messages that only one browser can read",
	"github.com/spf13/cobra":                          "the command line",
	"github.com/spf13/pflag":                          "the flags of its commands, for their reference",
	"charm.land/bubbletea/v2":                         "the full-screen workspace: keys, mouse, and drawing only what has changed",
	"github.com/charmbracelet/colorprofile":           "the colours that a terminal has",
	"github.com/charmbracelet/x/ansi":                 "how wide text is on a terminal",
	"github.com/hinshun/vt10x":                        "a terminal to draw golden screens on, in tests",
	"github.com/yuin/goldmark":                        "the documentation as pages",
	"github.com/zalando/go-keyring":                   "the keyring of the operating system",
	"golang.org/x/term":                               "terminals",
	"github.com/jackc/pgx/v5":                         "the database of a fleet",
	"github.com/landlock-lsm/go-landlock":             "sandboxes where bubblewrap is missing",
	"github.com/rogpeppe/go-internal":                 "script tests of the command line",
	"github.com/anthropics/anthropic-sdk-go":          "what the Anthropic API takes and sends, in tests",
	"github.com/modelcontextprotocol/go-sdk":          "MCP servers of the native agent",
	"modernc.org/libc":                                "what the database is translated to, at the version that it asks for",
	"modernc.org/sqlite":                              "the database, without cgo",
	"rsc.io/qr":                                       "links that a phone can read off the screen",
	"mvdan.cc/sh/v3":                                  "shell commands as the shell reads them",
}

func TestDirectDependencies(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(mod)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "require ("):
			inside = true
		case line == ")":
			inside = false
		case inside && !strings.Contains(line, "// indirect"):
			name := strings.Fields(line)[0]
			if dependencies[name] == "" {
				t.Errorf("go.mod requires %s; say in dependencies_test.go what it is for", name)
			}
		}
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/test/oauthtest"
)

// browser opens the links that are printed to it.
type browser struct {
	bytes.Buffer
	t *testing.T
}

func (b *browser) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if _, link, found := strings.Cut(string(p), "sign in:\n"); found {
		oauthtest.Browse(b.t, strings.TrimSpace(link))
	}
	return n, err
}

// TestMCPLogin signs in to a server, by its address and by its name, and out again. Nothing
// that is printed holds a token.
func TestMCPLogin(t *testing.T) {
	t.Parallel()
	home, a := t.TempDir(), oauthtest.New(t)
	file := filepath.Join(home, "servers.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"bird": {"url": "`+a.URL+`"}, "tool": {"command": "there-is-no-such-program"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	said := ""
	terret := func(want int, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		err := &browser{t: t}
		environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret")}
		code := run(t.Context(), newApp(strings.NewReader(""), &out, err, environ), append([]string{"mcp"}, args...))
		if code != want {
			t.Errorf("%q ends with %d: %s", args, code, err)
		}
		said += out.String() + err.String()
		return out.String() + err.String()
	}
	has := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	has(terret(0), "not signed in to any MCP server")
	has(terret(0, "login", "bird", "--mcp", file), "you are signed in to bird")
	has(terret(0, "login", a.URL), "already lets you in")
	has(terret(0), "mcp-127.0.0.1-")
	terret(0, "logout", a.URL)
	has(terret(3, "logout", "bird", "--mcp", file), "you are not signed in")
	has(terret(2, "login", "bird"), "is not the address of a server")
	has(terret(3, "login", "cat", "--mcp", file), "no MCP server cat")
	has(terret(2, "login", "tool", "--mcp", file), "is a program")
	has(terret(6, "login", "http://127.0.0.1:1/"), "cannot be reached")
	if strings.Contains(said, "secret-") {
		t.Errorf("a token was printed: %s", said)
	}
	info, err := os.Stat(filepath.Join(home, "terret", "mcp-tokens.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

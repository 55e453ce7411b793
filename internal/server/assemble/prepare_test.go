package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// TestWorktreeSetup readies a worktree as the project says, once a person trusts the folder,
// and says that it did not before.
func TestWorktreeSetup(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := repository(t, map[string]string{
		".terret/config.jsonc": `{"worktree": {"setup": "cat .env > ready; echo port $PORT >> ready", "copy": [".env"]}}`,
		".gitignore":           ".env\n.terret\n", ".env": "K=1\n",
	})
	h := start(t, Options{Home: home, UserFile: filepath.Join(home, "none.jsonc"), Env: os.Environ(), Drivers: []terret.Driver{native.New(native.Config{})}})
	var notes []string
	create := func() terret.Session {
		t.Helper()
		notes = nil
		s, err := h.Sessions(nil).Create(t.Context(), terret.Session{
			Agent: native.Name, Model: native.DemoModel, Cwd: dir, Options: terret.SessionOptions{Worktree: true},
		}, CreateOptions{Branch: "Add a cart", Tell: func(note string) { notes = append(notes, note) }})
		if err != nil {
			t.Fatal(err)
		}
		says(t, h, s.ID, "list files")
		return s
	}
	s := create()
	if _, err := os.Stat(filepath.Join(s.Cwd, "ready")); err == nil {
		t.Error("a folder that nobody trusts ran a command")
	}
	if _, err := os.Stat(filepath.Join(s.Cwd, ".env")); err == nil || !strings.Contains(strings.Join(notes, ""), "until you trust") {
		t.Errorf("copied: %v; notes %q", err == nil, notes)
	}
	_, state, err := h.Trust.Check(dir)
	if err == nil {
		err = h.Trust.Decide(dir, state.Hash, true, "ada")
	}
	if err != nil {
		t.Fatal(err)
	}
	s = create()
	if text, err := os.ReadFile(filepath.Join(s.Cwd, "ready")); err != nil || !strings.HasPrefix(string(text), "K=1\nport ") || len(text) < 12 {
		t.Errorf("%q: %v", text, err)
	}
	if got := shell(t, s.Cwd, "git branch --show-current"); got != "add-a-cart-2" {
		t.Errorf("the branch is %s", got)
	}
}

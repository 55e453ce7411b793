package assemble_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
)

// TestProvidersFollowTheFile is that what the user's file says of providers counts at once,
// and what other places say stays.
func TestProvidersFollowTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.jsonc")
	if err := os.WriteFile(path, []byte(`{"providers": {"old": {"base_url": "http://127.0.0.1:1"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Config{Providers: map[string]config.Provider{"old": {BaseURL: "http://127.0.0.1:1"}, "project": {BaseURL: "http://127.0.0.1:2"}}}
	h, err := assemble.New(assemble.Options{Config: c, UserFile: path, Env: []string{"PATH="}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Agents.Close)
	want := func(names ...string) {
		t.Helper()
		if diff := cmp.Diff(names, slices.Sorted(maps.Keys(h.Agents.Providers()))); diff != "" {
			t.Error(diff)
		}
	}
	want("old", "project")
	if err := config.AddProvider(t.Context(), path, "new", config.Provider{BaseURL: "http://127.0.0.1:3/v1"}, nil); err != nil {
		t.Fatal(err)
	}
	h.Agents.Look()
	want("new", "old", "project")
	for _, name := range []string{"old", "new"} {
		if removed, err := config.RemoveProvider(t.Context(), path, name, nil); err != nil || !removed {
			t.Fatal(removed, err)
		}
	}
	h.Agents.Look()
	want("project")
	if err := os.WriteFile(path, []byte(`{`), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Agents.Look()
	want("project")
}

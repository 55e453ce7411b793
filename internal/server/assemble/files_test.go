package assemble

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/policy"
)

// TestProjectFiles is that every agent says what it takes orders from in a folder, that
// none of it acts before a person trusts the folder, and that no rule for other files
// lets an agent change it.
func TestProjectFiles(t *testing.T) {
	t.Parallel()
	drivers, err := all.Drivers(all.Config{Env: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	files := all.ProjectFiles()
	guarded := policy.Guard(files)
	store := OpenTrust(t.TempDir())
	for _, d := range drivers {
		about := terret.DescriptionOf(d)
		if len(about.ProjectFiles) == 0 && !strings.HasSuffix(d.Name(), "-acp") { // those are other ways to the same programs
			t.Errorf("%s names no file of a project", d.Name())
		}
		for _, f := range about.ProjectFiles {
			if f.Why == "" || strings.HasPrefix(f.Path, "/") || !slices.ContainsFunc(files, func(o terret.ProjectFile) bool { return o.Path == f.Path }) {
				t.Errorf("%s: %+v", d.Name(), f)
			}
			name := f.Path
			if strings.HasSuffix(name, "/") {
				name += "file"
			}
			holds(t, store, name)
			input, err := json.Marshal(map[string]string{"file_path": name})
			if err != nil {
				t.Fatal(err)
			}
			s := policy.Subject{Tool: "Edit", Class: terret.ClassEdit, Input: input, Cwd: "/repo", Roots: []string{"/repo"}, Guarded: guarded}
			s.Readlink = func(string) (string, error) { return "", os.ErrNotExist }
			if v := policy.Judge(s, nil, terret.PolicyAcceptEdits); v.Behavior == terret.BehaviorAllow {
				t.Errorf("%s: an edit of %s is accepted", d.Name(), name)
			}
		}
	}
}

// holds fails the test if a folder with that file would not need trust.
func holds(t *testing.T, store *trust.Store, name string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	decision, state, err := store.Check(dir)
	if err != nil || decision != trust.Unknown || len(state.Files) != 1 || state.Files[0].Path != name {
		t.Errorf("%s: %s, %+v, %v", name, decision, state, err)
	}
}

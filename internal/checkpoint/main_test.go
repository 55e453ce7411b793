package checkpoint

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

// childEnv makes the test binary run as one of the children below.
const childEnv = "CHECKPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	if child := os.Getenv(childEnv); child != "" {
		if err := children[child](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// folder is a folder under test and its shadow repository.
type folder struct {
	*Repo
	t    *testing.T
	home string
}

// newFolder makes an empty folder. The time limit is far away: these tests
// share their processors with others.
func newFolder(t *testing.T) *folder {
	t.Helper()
	return openFolder(t, t.TempDir(), t.TempDir(), Limits{})
}

func openFolder(t *testing.T, home, dir string, lim Limits) *folder {
	t.Helper()
	if lim.Timeout == 0 {
		lim.Timeout = 5 * time.Minute
	}
	r, err := Open(t.Context(), home, dir, lim)
	if err != nil {
		t.Fatal(err)
	}
	return &folder{Repo: r, t: t, home: home}
}

func (f *folder) path(p string) string { return filepath.Join(f.dir, filepath.FromSlash(p)) }

func (f *folder) write(p, content string) {
	f.t.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(p)), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(f.path(p), []byte(content), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) read(p string) string {
	f.t.Helper()
	b, err := os.ReadFile(f.path(p))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(b)
}

func (f *folder) symlink(target, p string) {
	f.t.Helper()
	if err := os.Symlink(target, f.path(p)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *folder) remove(p string) {
	f.t.Helper()
	if err := os.RemoveAll(f.path(p)); err != nil {
		f.t.Fatal(err)
	}
}

// sh runs a shell script in the folder, as an agent would.
func (f *folder) sh(script string) {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), "sh", "-ec", script)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	if out, err := cmd.CombinedOutput(); err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func (f *folder) snapshot() Snapshot {
	f.t.Helper()
	s, err := f.Snapshot(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *folder) restore(from, to Snapshot) Result {
	f.t.Helper()
	res, err := f.Restore(f.t.Context(), from.ID, to.ID, RestoreOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return res
}

// changes describes the changes between two snapshots, one line each.
func (f *folder) changes(before, after Snapshot) []string {
	f.t.Helper()
	list, err := f.Changes(f.t.Context(), before.ID, after.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	var lines []string
	for _, c := range list {
		lines = append(lines, fmt.Sprintf("%s %s", c.Kind, c.Path))
	}
	return lines
}

// contents describes everything below a folder but its empty folders: type,
// permission bits and content. Files of a .git also have their times.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		var content string
		switch {
		case info.Mode().Type() == fs.ModeSymlink:
			content, err = os.Readlink(p)
		case info.Mode().IsRegular():
			var b []byte
			b, err = os.ReadFile(p)
			content = string(b)
		}
		all[rel] = fmt.Sprintf("%v %q", info.Mode(), content)
		if strings.Contains("/"+filepath.ToSlash(rel), "/.git/") {
			all[rel] += info.ModTime().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantState(t *testing.T, what string, want, got map[string]string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: the folder differs (-want +got):\n%s", what, d)
	}
}

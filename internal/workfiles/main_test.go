package workfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a folder under test.
type folder struct {
	*Folder
	t    *testing.T
	home string
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	return openFolder(t, t.TempDir(), t.TempDir())
}

func openFolder(t *testing.T, dir, home string) *folder {
	t.Helper()
	f, err := Open(dir, home)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return &folder{f, t, home}
}

func (f *folder) path(p string) string { return filepath.Join(f.dir, filepath.FromSlash(p)) }

func (f *folder) write(p, content string) {
	f.t.Helper()
	writeFile(f.t, f.path(p), content)
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) symlink(target, p string) {
	f.t.Helper()
	if err := os.Symlink(target, f.path(p)); err != nil {
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

// working describes the changes of the folder, one line each.
func (f *folder) working(first string) []string {
	f.t.Helper()
	c, err := f.Working(f.t.Context(), first, true)
	if err != nil {
		f.t.Fatal(err)
	}
	return describe(c)
}

func describe(c Changes) []string {
	lines := []string{}
	for _, one := range c.Items {
		line := fmt.Sprintf("%s %s +%d -%d", one.Kind, one.Path, one.Insertions, one.Deletions)
		if one.Binary {
			line += " binary"
		}
		if one.TooLarge {
			line += " large"
		}
		if one.OldMode != one.NewMode {
			line += " " + one.OldMode + " " + one.NewMode
		}
		lines = append(lines, line)
	}
	return lines
}

func same[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantKind(t *testing.T, what string, err error, want ...terret.ErrorCode) {
	t.Helper()
	got := terret.ErrorCode("")
	if err != nil {
		got = terret.AsError(err).Code
	}
	if !slices.Contains(want, got) {
		t.Errorf("%s: kind %q, want %q (%v)", what, got, want, err)
	}
}

// contents describes everything below a folder: type, times and content.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprintf("%v %v", info.Mode(), info.ModTime())
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += " " + string(b)
		}
		all[p] = text
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func names(list Listing) []string {
	out := []string{}
	for _, e := range list.Items {
		text := string(e.Type) + " " + e.Path
		if e.Link {
			text += " link"
		}
		if e.Ignored {
			text += " ignored"
		}
		if e.Change != "" {
			text += " " + string(e.Change)
		}
		out = append(out, text)
	}
	return out
}

func paths(m Matches) string {
	var out []string
	for _, one := range m.Items {
		out = append(out, one.Path)
	}
	return strings.Join(out, " ")
}

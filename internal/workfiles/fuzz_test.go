package workfiles

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever the path is, nothing that is not shown is.
func FuzzPaths(f *testing.F) {
	base := f.TempDir()
	dir, home := filepath.Join(base, "dir"), filepath.Join(base, "dir", "home")
	for path, content := range map[string]string{
		"secret": "canary", "dir/fine": "fine", "dir/sub/fine": "fine", "dir/.git/config": "canary", "dir/home/token": "canary",
		"dir/.terret/logs/x": "canary",
	} {
		full := filepath.Join(base, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	for link, target := range map[string]string{"up": "..", "sub/up": "../..", "g": ".git", "h": "home", "t": ".terret"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			f.Fatal(err)
		}
	}
	folder, err := Open(dir, home)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = folder.Close() })
	for _, p := range []string{"fine", "../secret", "up/secret", "sub/up/secret", "g/config", ".GIT/config", "h/token", "t/logs/x", "sub/../fine", "/etc/passwd", "a\x00b", "./././", "sub//fine"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p string) {
		c, err := folder.Read(t.Context(), p)
		if strings.Contains(c.Text, "canary") {
			t.Fatalf("%q shows %q", p, c.Text)
		}
		if err == nil && c.Text != "fine" {
			t.Fatalf("%q: %+v", p, c)
		}
		if l, err := folder.List(t.Context(), p, nil); err == nil {
			for _, e := range l.Items {
				if e.Name == "secret" || e.Name == "token" || e.Name == "config" {
					t.Fatalf("%q lists %q", p, e.Path)
				}
			}
		}
	})
}

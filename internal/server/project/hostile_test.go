package project_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
)

// state is all that is in a folder, links as what they are.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.Walk(dir, func(name string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		out[name] = info.Mode().String()
		if info.Mode().IsRegular() {
			out[name] += " " + read(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A project may be full of symbolic links: nothing outside it, and nothing else
// inside it, is written, changed or removed.
func TestSymbolicLinks(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(s terret.Session, outside string) [2]string{
		".terret":       func(_ terret.Session, o string) [2]string { return [2]string{".", o} },
		"logs":          func(_ terret.Session, o string) [2]string { return [2]string{"logs", o} },
		"sessions":      func(_ terret.Session, o string) [2]string { return [2]string{"sessions", o} },
		"prompts":       func(_ terret.Session, o string) [2]string { return [2]string{"prompts", o} },
		"log":           func(_ terret.Session, o string) [2]string { return [2]string{"logs/harness.log", o + "/passwd"} },
		"log, dangling": func(_ terret.Session, o string) [2]string { return [2]string{"logs/harness.log", o + "/new"} },
		"log, inside":   func(_ terret.Session, _ string) [2]string { return [2]string{"logs/harness.log", "../../main.go"} },
		"log to lock":   func(_ terret.Session, _ string) [2]string { return [2]string{"logs/harness.log", "harness.log.lock"} },
		"lock":          func(_ terret.Session, o string) [2]string { return [2]string{"logs/harness.log.lock", o + "/passwd"} },
		"old log":       func(_ terret.Session, o string) [2]string { return [2]string{"logs/harness.log.1", o + "/passwd"} },
		"session": func(s terret.Session, o string) [2]string {
			return [2]string{"sessions/" + s.ID + ".json", o + "/passwd"}
		},
		"prompt": func(s terret.Session, o string) [2]string {
			return [2]string{"prompts/" + s.ID + "-system.txt", o + "/passwd"}
		},
		".gitignore":         func(_ terret.Session, o string) [2]string { return [2]string{".gitignore", o + "/new"} },
		".terret, inside":    func(_ terret.Session, _ string) [2]string { return [2]string{".", "src"} },
		"logs, inside":       func(_ terret.Session, _ string) [2]string { return [2]string{"logs", "../src"} },
		".terret to project": func(_ terret.Session, _ string) [2]string { return [2]string{".", "."} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside, s := t.TempDir(), newSession(t)
			for _, err := range []error{
				os.WriteFile(filepath.Join(outside, "passwd"), []byte("root:x:0:0\n"), 0o644),
				os.WriteFile(filepath.Join(s.Cwd, "main.go"), []byte("package main\n"), 0o644),
				os.Mkdir(filepath.Join(s.Cwd, "src"), 0o755),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			l := link(s, outside)
			from := path(s, filepath.FromSlash(l[0]))
			if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(l[1], from); err != nil {
				t.Fatal(err)
			}
			before, source := state(t, outside), state(t, filepath.Join(s.Cwd, "src"))

			f := project.New(project.Options{})
			f.Limit(100, 0) // so that it rotates
			f.Record(s, nil)
			for range 3 {
				f.Record(s, entries(t, s, terret.TurnStart{}, terret.TurnComplete{}))
			}
			_, _ = f.SavePrompt(s, "p") // refused or not
			f.Remove(s)

			if diff := cmp.Diff(before, state(t, outside)); diff != "" {
				t.Errorf("outside: %s", diff)
			}
			if diff := cmp.Diff(source, state(t, filepath.Join(s.Cwd, "src"))); diff != "" {
				t.Errorf("src: %s", diff)
			}
			if got := read(t, filepath.Join(s.Cwd, "main.go")); got != "package main\n" {
				t.Errorf("main.go: %q", got)
			}
			if exists(filepath.Join(s.Cwd, "logs")) || exists(filepath.Join(s.Cwd, "sessions")) {
				t.Error("files beside .terret")
			}
		})
	}
}

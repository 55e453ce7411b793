package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProjectFileStaysInTheProject(t *testing.T) {
	t.Parallel()
	outside := write(t, "config.jsonc", `{"rules": {"deny": ["X"]}}`)
	for name, make := range map[string]func(dir string) error{
		"file": func(dir string) error {
			if err := os.Mkdir(filepath.Join(dir, ".terret"), 0o700); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(outside, "config.jsonc"), filepath.Join(dir, projectFile))
		},
		"folder": func(dir string) error { return os.Symlink(outside, filepath.Join(dir, ".terret")) },
	} {
		dir := t.TempDir()
		if err := make(dir); err != nil {
			t.Fatal(err)
		}
		if got, err := Load(Sources{Project: dir, Trusted: true}); err != nil || got.Broken == nil || len(got.Rules.Deny) > 0 {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
}

// broken is what is wrong with the project's file, which must not be fatal.
func broken(src Sources) error {
	got, err := Load(src)
	if err != nil {
		return fmt.Errorf("fatal: %w", err)
	}
	return got.Broken
}

// A project's file that is broken counts in no part, and keeps nobody from working.
func TestBrokenProjectFile(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{`, `{"rules": {"deny": ["X"]}, "idle_after": "soon"}`, `{"rules": {"deny": ["X"]}, "agents": {"claude": {"args": ["x"]}}, "addr": 1}`, `{"unheard_of": "x"}`} {
		for _, trusted := range []bool{false, true} {
			got, err := Load(Sources{Project: write(t, projectFile, text), Trusted: trusted, Environ: []string{"TERRET_MODEL=m"}})
			if err != nil || got.Broken == nil || got.Model != "m" || len(got.Rules.Deny)+len(got.Agents) > 0 {
				t.Errorf("%s: %+v, error %v", text, got, err)
			}
		}
	}
}

func TestOddProjectFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, projectFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := broken(Sources{Project: dir}); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("a folder: error %v", err)
	}
	if _, err := Load(Sources{Project: write(t, ".terret", "a file")}); err != nil {
		t.Errorf("no folder: error %v", err)
	}
	large := write(t, projectFile, strings.Repeat(" ", maxFile+1))
	if err := broken(Sources{Project: large}); err == nil || !strings.Contains(err.Error(), "larger than 256 KB") {
		t.Errorf("large: error %v", err)
	}
	for _, text := range []string{
		strings.Repeat("[", maxFile),
		`{"model":` + strings.Repeat("[", maxFile/2-20) + strings.Repeat("]", maxFile/2-20) + "}",
	} {
		err := broken(Sources{Project: write(t, projectFile, text)})
		if err == nil || !strings.Contains(err.Error(), "more than 32 deep") {
			t.Errorf("deep: error %.200v", err)
		}
	}
	quoted := strings.Repeat("[", 50)
	text := `{/* ` + quoted + ` */ "model": "\"` + quoted + `" // ` + quoted + "\n}"
	if got, err := Load(Sources{Project: write(t, projectFile, text), Trusted: true}); err != nil || got.Model != `"`+quoted {
		t.Errorf("brackets that are none: %q, error %v", got.Model, err)
	}
}

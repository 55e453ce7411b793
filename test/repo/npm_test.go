package repo_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNPM makes npm packages of a program that is a script, installs them as npm does, and
// runs it by the name that npm gives it.
func TestNPM(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"node", "npm", "tar"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skipf("there is no %s", program)
		}
	}
	dir := t.TempDir()
	run := func(name string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "npm_config_cache="+filepath.Join(dir, "cache"), "npm_config_update_notifier=false")
		out, err := cmd.CombinedOutput()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return string(out), exit.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return string(out), 0
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	out, code := run("node", "-p", "process.platform + ' ' + process.arch")
	goos, arch, _ := strings.Cut(strings.TrimSpace(out), " ")
	goarch := map[string]string{"x64": "amd64", "arm64": "arm64"}[arch]
	if code != 0 || goarch == "" {
		t.Skipf("there are no packages for %s", out)
	}
	write("dist/metadata.json", `{"version": "1.2.3"}`)
	write("dist/artifacts.json", fmt.Sprintf(`[{"type": "Binary", "goos": %q, "goarch": %q, "path": "dist/here/terret"}, {"type": "Archive", "goos": "x", "goarch": "y", "path": "z"}]`, goos, goarch))
	write("dist/here/terret", "#!/bin/sh\necho \"I got $*\"\nexit 6\n")
	if out, code := run("node", "packaging/npm/build.mjs", filepath.Join(dir, "dist")); code != 0 {
		t.Fatal(out)
	}
	for _, name := range []string{"cli", "cli-" + goos + "-" + arch} {
		at := filepath.Join(dir, "node_modules", "@terret-dev", name)
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		packed := filepath.Join(dir, "dist", "npm", "terret-dev-"+name+"-1.2.3.tgz")
		if out, code := run("tar", "xzf", packed, "-C", at, "--strip-components=1"); code != 0 {
			t.Fatal(out)
		}
	}
	start := filepath.Join(dir, "node_modules", "@terret-dev", "cli", "bin", "terret.js")
	if out, code := run("node", start, "run", "a b"); code != 6 || out != "I got run a b\n" {
		t.Errorf("exit code %d: %s", code, out)
	}
	if err := os.RemoveAll(filepath.Join(dir, "node_modules", "@terret-dev", "cli-"+goos+"-"+arch)); err != nil {
		t.Fatal(err)
	}
	if out, code := run("node", start); code != 1 || !strings.Contains(out, "is not installed") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

package gitcmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// hostile makes a repository whose own configuration runs programs, each of which leaves
// a file behind.
func hostile(t *testing.T) (dir, traces string) {
	t.Helper()
	dir, traces = t.TempDir(), t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	write("a.txt", "one\n")
	run("add", ".")
	run("commit", "-qm", "one")
	write("a.txt", "two\n")
	write(".gitattributes", "*.txt filter=own diff=own\n")
	write("included", "[filter \"own\"]\n\tclean = touch "+traces+"/clean; cat\n\tsmudge = touch "+traces+"/smudge; cat\n\trequired = true\n")
	for key, value := range map[string]string{
		"core.fsmonitor": "touch " + traces + "/fsmonitor; false", "core.pager": "touch " + traces + "/pager; cat",
		"diff.own.textconv": "touch " + traces + "/textconv; cat", "diff.own.command": "touch " + traces + "/command; true",
		"diff.external": "touch " + traces + "/external; true", "core.hooksPath": "hooks", "include.path": "../included",
		"alias.st": "!touch " + traces + "/alias", "credential.helper": "!touch " + traces + "/helper",
		"hook.own.command": "touch " + traces + "/own", "hook.own.event": "post-index-change",
	} {
		run("config", key, value)
	}
	if err := os.Mkdir(filepath.Join(dir, "hooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("hooks/post-index-change", "#!/bin/sh\ntouch "+traces+"/hook\n")
	write("hooks/pre-commit", "#!/bin/sh\ntouch "+traces+"/hook\n")
	return dir, traces
}

// A shielded environment keeps git from running anything that a repository names; without
// it, it runs all of it, which shows that the repository is hostile indeed.
func TestShield(t *testing.T) {
	t.Parallel()
	for _, shield := range []bool{false, true} {
		dir, traces := hostile(t)
		env := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=2",
			"GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=a", "GIT_CONFIG_KEY_1=user.email", "GIT_CONFIG_VALUE_1=a@b")
		if shield {
			env = gitcmd.Shield(t.Context(), env, dir)
		}
		for _, args := range [][]string{{"status"}, {"diff"}, {"-p", "log"}, {"add", "."}, {"commit", "-qm", "two"}, {"checkout", "-q", "HEAD~1"}, {"st"}} {
			cmd := exec.CommandContext(t.Context(), "git", args...)
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil && args[0] != "st" && shield {
				t.Errorf("git %v: %v\n%s", args, err, out)
			}
		}
		left, err := os.ReadDir(traces)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range left {
			names = append(names, e.Name())
		}
		if shield && len(names) > 0 {
			t.Errorf("with the shield these ran: %v", names)
		}
		if !shield && len(names) < 5 {
			t.Errorf("without the shield only these ran: %v", names)
		}
	}
}

// What a repository's configuration would run is listed, includes and all.
func TestPrograms(t *testing.T) {
	t.Parallel()
	dir, _ := hostile(t)
	got := strings.Join(gitcmd.Programs(t.Context(), dir), "\n")
	for _, want := range []string{"core.fsmonitor=", "filter.own.clean=", "diff.own.textconv=", "core.hookspath=hooks", "alias.st=!", "hook.own.command="} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if strings.Contains(got, "repositoryformatversion") {
		t.Errorf("harmless settings are listed:\n%s", got)
	}
	if got := gitcmd.Programs(t.Context(), t.TempDir()); len(got) != 0 {
		t.Errorf("without a repository: %v", got)
	}
}

// A person's own settings stay what they are.
func TestShieldKeepsOwn(t *testing.T) {
	t.Parallel()
	dir, _ := hostile(t)
	global := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(global, []byte("[core]\n\tsshCommand = ssh -i mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "git", "config", "core.sshCommand")
	cmd.Dir, cmd.Env = dir, gitcmd.Shield(t.Context(), append(os.Environ(), "GIT_CONFIG_GLOBAL="+global), dir)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "ssh -i mine" {
		t.Errorf("%q, %v", out, err)
	}
}

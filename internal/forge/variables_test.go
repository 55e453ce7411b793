package forge_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hook has the repository note the environment of a hook, and returns what is noted.
func (p project) hook(name string) func() []string {
	p.in(`printf '#!/bin/sh\nenv > "` + p.bare + `/env"\n' > .git/hooks/` + name + `; chmod +x .git/hooks/` + name)
	return func() []string { return strings.Split(p.sh(p.bare, "cat env"), "\n") }
}

// with are the entries with that name.
func with(env []string, name string) (out []string) {
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			out = append(out, value)
		}
	}
	return out
}

// TestOwnVariables works on the folder, whatever the person's variables lead to, and ours win.
func TestOwnVariables(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	p.sh(p.bare, "git init -q ../other; cd ../other; git commit -q --allow-empty -m other")
	other := filepath.Join(filepath.Dir(p.bare), "other")
	env := p.hook("pre-commit")
	p.folder.Env = append(p.folder.Env, "GIT_DIR="+other+"/.git", "GIT_WORK_TREE="+other, "GIT_INDEX_FILE="+other+"/index", "GIT_LITERAL_PATHSPECS=1",
		"GIT_TERMINAL_PROMPT=1", "LC_ALL=de_DE.UTF-8", "SSH_ASKPASS=x", "GIT_SSH_COMMAND=my-ssh")
	p.in("echo two > b.txt")
	if _, err := p.folder.Commit(t.Context(), "two", []string{"b.txt"}); err != nil {
		t.Fatal(err)
	}
	if got := p.in("git log -1 --format=%s"); got != "two" {
		t.Errorf("the folder is at %q", got)
	}
	for name, want := range map[string]string{"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8", "SSH_ASKPASS": "", "GIT_SSH_COMMAND": "my-ssh"} {
		if got := with(env(), name); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestAsksNobody runs no program that would ask for a password, whatever the variables say.
func TestAsksNobody(t *testing.T) {
	t.Parallel()
	p := newProject(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", "Basic realm=shop")
			w.WriteHeader(http.StatusUnauthorized)
		})
	})
	p.in(change + `; printf '#!/bin/sh\ntouch "` + p.bare + `/asked"\n' > ../ask; chmod +x ../ask`)
	ask := filepath.Join(filepath.Dir(p.folder.Dir), "ask")
	p.folder.Env = append([]string{"GIT_ASKPASS=" + ask, "SSH_ASKPASS=" + ask}, p.folder.Env...)
	if _, err := p.folder.Push(t.Context(), false); !isRefused(err, "asks who you are") {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(p.bare, "asked")); err == nil {
		t.Error("a window would have opened")
	}
}

// TestOwnSSH leaves the person's own way to start ssh alone.
func TestOwnSSH(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	env := p.hook("pre-push")
	p.in(change)
	if _, err := p.folder.Push(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := with(env(), "GIT_SSH_COMMAND"); len(got) != 1 || !strings.Contains(got[0], "BatchMode=yes") {
		t.Errorf("%q", got)
	}
	p.in("git config core.sshCommand my-ssh; git commit -q --allow-empty -m three")
	if _, err := p.folder.Push(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := with(env(), "GIT_SSH_COMMAND"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// TestKeysOfHost gives the keys of a host to programs that reach that host, and of no other.
func TestKeysOfHost(t *testing.T) {
	t.Parallel()
	keys := []string{"GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITLAB_TOKEN", "GITEA_SERVER_TOKEN"}
	for host, want := range map[string]string{
		"":                                    "",
		"GH_HOST=127.0.0.1":                   "GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN",
		"GITLAB_HOST=https://127.0.0.1":       "GITLAB_TOKEN",
		"GITEA_SERVER_URL=https://127.0.0.1/": "GITEA_SERVER_TOKEN",
		"GH_HOST=127.0.0.1.example.org":       "",
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, nil)
			env := p.hook("pre-push")
			p.in(change)
			for _, k := range keys {
				p.folder.Env = append(p.folder.Env, k+"=nobodys")
			}
			if host != "" {
				p.folder.Env = append(p.folder.Env, host)
			}
			if _, err := p.folder.Push(t.Context(), false); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, k := range keys {
				if len(with(env(), k)) > 0 {
					got = append(got, k)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestProgramByHost takes no program for a host because of a word in its name, and a branch
// for what it is if there is a tag of the same name.
func TestProgramByHost(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	p.in("git tag fix; git remote set-url origin https://github.com.example.org/ada/shop.git")
	if s, err := p.folder.Status(t.Context()); err != nil || s.Program != "" || s.Host != "github.com.example.org" || s.Branch != "fix" {
		t.Errorf("%+v: %v", s, err)
	}
}

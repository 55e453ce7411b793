package assemble

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/trust"
)

// shell runs a script in a folder.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository is a folder with a commit.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := folder(t, files)
	shell(t, dir, "git init -q -b main . && echo x > x.txt && git add . && git commit -qm one")
	return dir
}

// says lets the demo model do something and returns how the turn ended.
func says(t *testing.T, h *Harness, session, prompt string) string {
	t.Helper()
	begun, err := h.Engine.Prompt(t.Context(), engine.PromptRequest{Session: session, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text(prompt)}}})
	if err != nil {
		t.Fatal(err)
	}
	for entry, err := range h.Engine.Events(t.Context(), engine.EventQuery{Session: session, Follow: true}) {
		if err != nil {
			t.Fatal(err)
		}
		ev, err := entry.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if end, ok := ev.Data.(terret.TurnComplete); ok && ev.Turn == begun.ID {
			return end.Text
		}
		if end, ok := ev.Data.(terret.TurnError); ok && ev.Turn == begun.ID {
			return end.Error.Message
		}
	}
	return ""
}

// A session with a worktree works there, and nowhere else in Terret's folder; the
// worktree goes with the session if nothing is lost.
func TestWorktree(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := repository(t, nil)
	h := start(t, Options{Home: home, Files: true, Drivers: []terret.Driver{native.New(native.Config{})}})
	sessions := h.Sessions(nil)
	create := func() terret.Session {
		t.Helper()
		s, err := sessions.Create(t.Context(), terret.Session{
			Agent: native.Name, Model: native.DemoModel, Cwd: dir, Policy: terret.PolicyAutoApprove, Options: terret.SessionOptions{Worktree: true},
		}, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := create()
	if s.Cwd == dir || !strings.Contains(s.Cwd, filepath.Join("worktrees", s.ID)) {
		t.Fatalf("it works in %s", s.Cwd)
	}
	if said := says(t, h, s.ID, "run: git branch --show-current"); !strings.Contains(said, "terret/"+s.ID) {
		t.Errorf("it says %q", said)
	}
	says(t, h, s.ID, "create made.txt containing 1")
	if _, err := os.Stat(filepath.Join(s.Cwd, "made.txt")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made.txt")); err == nil {
		t.Error("it has written into the folder that people work in")
	}
	for _, prompt := range []string{"run: cat " + home + "/terret.db", "run: echo x > ../origin"} {
		if said := says(t, h, s.ID, prompt); !strings.Contains(said, "holds the harness's own files") {
			t.Errorf("%s: it says %q", prompt, said)
		}
	}

	// What is not committed is kept.
	done, err := sessions.Delete(t.Context(), s.ID, false)
	if err != nil || done.Worktree != s.Cwd || !strings.Contains(done.Kept, "uncommitted") {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Stat(filepath.Join(s.Cwd, "made.txt")); err != nil {
		t.Error(err)
	}

	clean := create()
	says(t, h, clean.ID, "list files") // which leaves Terret's own files there
	done, err = sessions.Delete(t.Context(), clean.ID, false)
	if err != nil || done != (Deleted{}) {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Stat(filepath.Join(home, "worktrees", clean.ID)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
	if got := shell(t, dir, "git branch --list 'terret/*'; git status --porcelain"); !strings.Contains(got, "terret/"+s.ID) || strings.Contains(got, clean.ID) || strings.Contains(got, "??") {
		t.Errorf("the repository: %q", got)
	}

	// Another session that works there keeps it.
	first := create()
	second, err := sessions.Create(t.Context(), terret.Session{Agent: native.Name, Model: native.DemoModel, Cwd: first.Cwd}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if done, err = sessions.Delete(t.Context(), first.ID, false); err != nil || !strings.Contains(done.Kept, second.ID) {
		t.Errorf("%+v, %v", done, err)
	}
}

// TestWorktreeShared holds that a worktree stays as long as a session works anywhere in it.
func TestWorktreeShared(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"a/a.txt": "", "b/b.txt": ""})
	h := start(t, Options{Home: t.TempDir(), Drivers: follows()})
	sessions := h.Sessions(nil)
	create := func(cwd string, tree bool) terret.Session {
		t.Helper()
		s, err := sessions.Create(t.Context(), terret.Session{Agent: "mock", Cwd: cwd, Options: terret.SessionOptions{Worktree: tree}}, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, place := range []string{"..", "../b"} {
		first := create(filepath.Join(dir, "a"), true)
		second := create(filepath.Join(first.Cwd, place), false)
		done, err := sessions.Delete(t.Context(), first.ID, false)
		if _, gone := os.Stat(second.Cwd); gone != nil || err != nil || !strings.Contains(done.Kept, second.ID) {
			t.Errorf("%s: %+v, %v, %v", place, done, err, gone)
		}
	}
}

func TestBadWorktree(t *testing.T) {
	t.Parallel()
	home, dir, plain := t.TempDir(), repository(t, nil), t.TempDir()
	for name, c := range map[string]struct {
		home string
		s    terret.Session
		want string
	}{
		"no repository":     {home, terret.Session{Agent: "mock", Cwd: plain}, "worktree: " + plain + " is not in a git repository"},
		"no home":           {"", terret.Session{Agent: "mock", Cwd: dir}, "worktree: it needs a data folder"},
		"no such agent":     {home, terret.Session{Agent: "nobody", Cwd: dir}, "there is no agent"},
		"persona not there": {home, terret.Session{Agent: "mock", Cwd: dir, Persona: "X"}, "there is no persona"},
	} {
		h := start(t, Options{Home: c.home, Drivers: follows()})
		c.s.Options.Worktree = true
		_, err := h.Sessions(nil).Create(t.Context(), c.s, CreateOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if left, err := os.ReadDir(filepath.Join(home, "worktrees")); err == nil && len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if got := shell(t, dir, "git branch --list 'terret/*'"); got != "" {
		t.Errorf("branches are left: %s", got)
	}
}

// A worktree is trusted as its folder is, as long as it holds the same.
func TestWorktreeTrust(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"agents/AGENT_X.md": "---\nmodel: m\n---\n"})
	h := start(t, Options{Home: t.TempDir(), Drivers: follows()})
	create := func() terret.Session {
		t.Helper()
		s, err := h.Sessions(nil).Create(context.WithoutCancel(t.Context()), terret.Session{Agent: "mock", Persona: "X", Cwd: dir, Options: terret.SessionOptions{Worktree: true}}, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := create(); s.Model != "" || h.Trusts(s.Cwd) {
		t.Errorf("nobody trusts it: %+v", s)
	}
	state, err := trust.Inspect(dir)
	if err == nil {
		err = h.Trust.Decide(dir, state.Hash, true, "me")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := create()
	if s.Model != "m" || !h.Trusts(s.Cwd) {
		t.Errorf("it is trusted: %+v", s)
	}
	shell(t, s.Cwd, "echo '---\nmodel: evil\n---' > agents/AGENT_X.md")
	if h.Trusts(s.Cwd) || !h.Trusts(dir) {
		t.Error("what has changed is still trusted, or what has not is not")
	}
}

package assemble

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/internal/worktree"
)

// What every frontend gets: secrets of the environment are kept out of the log and of
// the project's files, and the prompt of a turn is written down.
func TestHarness(t *testing.T) {
	t.Parallel()
	const secret = "sk-not-a-real-secret-0123456789"
	dir := folder(t, map[string]string{"README.md": "about " + secret})
	for name, home := range map[string]string{"in memory": "", "kept": t.TempDir()} {
		h := start(t, Options{
			Home: home, Files: true, Env: []string{"MY_API_KEY=" + secret}, Product: "Acme",
			Drivers: follows([]mock.Step{{Text: "the key is " + secret}}),
		})
		s, err := h.Sessions(nil).Create(t.Context(), terret.Session{Agent: "mock", Cwd: dir, Mode: terret.ModePipeline}, CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		events := fmt.Sprintf("%+v", turn(t, h, s.ID))
		if strings.Contains(events, secret) || !strings.Contains(events, "the key is [redacted:MY_API_KEY]") {
			t.Errorf("%s: the log holds %s", name, events)
		}
		saved, err := os.ReadFile(filepath.Join(dir, ".terret", "prompts", s.ID+"-system.txt"))
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{secret: false, "about [redacted": true, "Pipeline execution mode": true, "operating within Acme": true} {
			if strings.Contains(string(saved), text) != want {
				t.Errorf("%s: %q in the saved prompt is %v:\n%s", name, text, !want, saved)
			}
		}
		if _, err := os.Stat(filepath.Join(home, "terret.db")); (home == "") != (err != nil) {
			t.Errorf("%s: the database: %v", name, err)
		}
	}
}

// Without files, nothing is written into the project's folder.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	dir := folder(t, nil)
	h := start(t, Options{Drivers: follows(nil)})
	s, err := h.Sessions(nil).Create(t.Context(), terret.Session{Agent: "mock", Cwd: dir, Mode: terret.ModePipeline}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn(t, h, s.ID)
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func TestTrusts(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), folder(t, map[string]string{"agents/AGENT_X.md": "---\nmodel: m\n---\n"})
	h, err := New(Options{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	none, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if h.Trusts(dir) || none.Trusts(dir) {
		t.Error("nobody has said so")
	}
	state, err := trust.Inspect(dir)
	if err == nil {
		err = h.Trust.Decide(dir, state.Hash, true, "me")
	}
	if err != nil || !h.Trusts(dir) || none.Trusts(dir) {
		t.Errorf("trusted %v, without a home %v, error %v", h.Trusts(dir), none.Trusts(dir), err)
	}
	found, err := h.Roles.List(dir)
	if err != nil || len(found.Personas) != 1 || !found.Personas[0].Trusted {
		t.Errorf("%+v, %v", found, err)
	}
}

// An agent that cannot be configured is not silently left alone.
func TestUnknownAgentInConfig(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"nobody", "native"} {
		_, err := New(Options{Config: config.Config{Agents: map[string]config.Agent{name: {Path: "x"}}}})
		if err == nil || terret.AsError(err).Field != "agents."+name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(Options{Config: config.Config{Agents: map[string]config.Agent{"claude": {Path: "x"}}}}); err != nil {
		t.Error(err)
	}
}

// TestMayRun lets a person's own git run where nothing else runs with it, and with hooks only
// as a person has trusted them.
func TestMayRun(t *testing.T) {
	t.Parallel()
	dir := repository(t, nil)
	h, err := New(Options{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := worktree.Add(t.Context(), h.Home, "one", dir, "task")
	if err != nil {
		t.Fatal(err)
	}
	const hook = "printf '#!/bin/sh\n' > .git/hooks/"
	for _, step := range []struct {
		script string
		trust  bool
		want   bool
	}{
		{hook + "pre-push.sample; chmod +x .git/hooks/pre-push.sample; " + hook + "pre-commit", false, true}, // nothing that runs
		{"chmod +x .git/hooks/pre-commit", false, false},
		{"true", true, true},
		{"echo more >> .git/hooks/pre-commit", false, false},
		{"true", true, true},
		{hook + "pre-push; chmod +x .git/hooks/pre-push", false, false},
		{"rm .git/hooks/*", false, true},
	} {
		shell(t, dir, step.script)
		if step.trust {
			_, state, err := h.Trust.Check(dir)
			if err == nil {
				err = h.Trust.Decide(dir, state.Hash, true, "me")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if here, there := h.mayRun(dir), h.mayRun(tree); here != step.want || there != step.want {
			t.Errorf("after %q it may run: %v, in its worktree %v", step.script, here, there)
		}
	}
}

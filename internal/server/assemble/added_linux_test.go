package assemble

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/config"
)

const introduces = "#!/bin/sh\nread -r line\n" +
	`echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"version":"1.0.0"}}}'` + "\ncat >/dev/null\n"

// addable makes a harness to which agents can be added, and a program to add.
func addable(t *testing.T, text string) (h *Harness, file, program string) {
	t.Helper()
	dir := folder(t, map[string]string{"config.jsonc": text, "agent": introduces})
	file, program = filepath.Join(dir, "config.jsonc"), filepath.Join(dir, "agent")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Sources{User: file})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, Options{UserFile: file, Config: loaded.Config, Env: os.Environ()}), file, program
}

func has(h *Harness, name string) bool {
	for _, d := range h.Agents.Drivers() {
		if d.Name() == name {
			return true
		}
	}
	return false
}

// TestAddAndRemove holds that an agent can be used as soon as it is added, and no longer
// when it is removed.
func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	h, file, program := addable(t, `{"agents": {"before": {"path": "sh", "acp": true}}}`)
	dir := folder(t, nil)
	create := func(agent string) error {
		_, err := h.Sessions(nil).Create(t.Context(), terret.Session{Agent: agent, Cwd: dir}, CreateOptions{})
		return err
	}
	if err := create("mine"); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Fatalf("before it is added: %v", err)
	}
	p, err := h.Agents.Add(t.Context(), NewAgent{Name: "mine", Argv: []string{program, "--acp"}})
	if err != nil || !p.Found || !p.Added || p.Version != "1.0.0" || !p.Usable() {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := create("mine"); err != nil {
		t.Error(err)
	}
	if err := create("before"); err != nil {
		t.Error(err)
	}

	// Another process adds one, and takes one away.
	if err := config.AddAgent(t.Context(), file, "theirs", config.Agent{Path: program, ACP: true}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := config.RemoveAgent(t.Context(), file, "before", nil); err != nil {
		t.Fatal(err)
	}
	if err := create("theirs"); err != nil {
		t.Error(err)
	}
	if err := create("before"); err == nil || has(h, "before") {
		t.Errorf("removed by another process: %v", err)
	}

	// A file that cannot be read changes nothing.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !has(h, "theirs") {
		t.Error("a broken file removed an agent")
	}
	if err := os.WriteFile(file, append(text, " \n"...), 0o600); err != nil {
		t.Fatal(err)
	}

	if err := h.Sessions(nil).RemoveAgent(t.Context(), "mine", "ann"); err != nil {
		t.Fatal(err)
	}
	if err := create("mine"); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Errorf("after it is removed: %v", err)
	}
}

// TestAddRefuses holds that what cannot be an agent is not added.
func TestAddRefuses(t *testing.T) {
	t.Parallel()
	h, file, program := addable(t, "{}")
	for name, c := range map[string]struct {
		n    NewAgent
		want error
		says string
	}{
		"built in":     {NewAgent{Name: "claude", Argv: []string{program}}, terret.ErrConflict, "claude is built in"},
		"an alias":     {NewAgent{Name: "claude-code", Argv: []string{program}}, terret.ErrConflict, "claude-code is built in"},
		"the mock":     {NewAgent{Name: "mock", Argv: []string{program}}, terret.ErrInvalid, "choose another name"},
		"no name":      {NewAgent{Argv: []string{program}}, terret.ErrInvalid, "name: must not be empty"},
		"a flag":       {NewAgent{Name: "-x", Argv: []string{program}}, terret.ErrInvalid, "name: "},
		"a long name":  {NewAgent{Name: strings.Repeat("x", 65), Argv: []string{program}}, terret.ErrInvalid, "at most 64"},
		"no program":   {NewAgent{Name: "mine"}, terret.ErrInvalid, "say which program"},
		"missing":      {NewAgent{Name: "mine", Argv: []string{"/there/is/none"}}, terret.ErrInvalid, "there is no program /there/is/none"},
		"not to start": {NewAgent{Name: "mine", Argv: []string{file}}, terret.ErrInvalid, "permission denied"},
		"no agent":     {NewAgent{Name: "mine", Argv: []string{"true"}}, terret.ErrInvalid, "does not answer as an agent that speaks ACP"},
		"relative":     {NewAgent{Name: "mine", Argv: []string{"./agent"}, Force: true}, terret.ErrInvalid, "relative path"},
		"a zero":       {NewAgent{Name: "mine", Argv: []string{program, "a\x00b"}}, terret.ErrInvalid, "cannot be passed"},
	} {
		if _, err := h.Agents.Add(t.Context(), c.n); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "{}" {
		t.Errorf("%q, %v", text, err)
	}
	for name, want := range map[string]error{"claude": terret.ErrConflict, "nobody": terret.ErrNotFound} {
		if err := h.Sessions(nil).RemoveAgent(t.Context(), name, "ann"); !errors.Is(err, want) {
			t.Errorf("remove %s: %v", name, err)
		}
	}
}

package assemble

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

// helper is another agent, which may be signed out.
type helper struct {
	terret.Driver
	auth string
}

func (helper) Name() string { return "helper" }

func (h helper) Probe(context.Context) (terret.Probe, error) {
	return terret.Probe{Agent: "helper", Found: true, Auth: h.auth, Fix: "sign in with `helper login`", Capabilities: terret.Capabilities{Oversight: terret.OversightAll}}, nil
}

func (helper) Describe() terret.Description {
	return terret.Description{Program: true, Modes: map[string]terret.Policy{"plan": terret.PolicyPlan}}
}

// TestHandOver holds that the next agent gets the same folder and no more rights, and
// nothing that only the old one understands.
func TestHandOver(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Home: t.TempDir(), Drivers: append(follows([]mock.Step{{Text: "half done"}}), helper{mock.New(mock.Script{}), "ok"})})
	m := h.Sessions(nil)
	dir := folder(t, nil)
	old, err := m.Create(t.Context(), terret.Session{
		Agent: "mock", Cwd: dir, Model: "m", Policy: terret.PolicyAsk, Title: "a title",
		Options: terret.SessionOptions{Deny: []string{"Bash(rm *)"}, MaxCostUSD: 5, MCP: []byte(`{}`), Effort: "high", SettingSources: []string{}, AddDirs: []string{dir}},
	}, CreateOptions{Unenforced: true})
	if err != nil {
		t.Fatal(err)
	}
	turn(t, h, old.ID)
	made, prompt, err := m.HandOver(t.Context(), HandOver{Session: old.ID, Agent: "helper", Prompt: "go on", By: "ann"}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := old.Options
	want.MCP, want.Effort = nil, ""
	if diff := cmp.Diff(want, made.Options); diff != "" || made.Agent != "helper" || made.Model != "" || made.Cwd != dir || made.Policy != terret.PolicyAsk ||
		made.Title != "a title" || made.ForkedFrom != old.ID {
		t.Errorf("%+v\n-want +got\n%s", made, diff)
	}
	if text := terret.TextOf(prompt.Blocks); !strings.Contains(text, "half done") || !strings.HasSuffix(text, "go on") {
		t.Errorf("the prompt is %s", text)
	}
	if old, err = h.Store.Session(t.Context(), old.ID); err != nil || old.HandedTo != made.ID {
		t.Errorf("the old session is handed to %q: %v", old.HandedTo, err)
	}
}

// TestHandOverMoved holds that the next agent learns what happened before the session was moved
// to this node, although nobody has prompted it here.
func TestHandOverMoved(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Home: t.TempDir(), Drivers: append(follows([]mock.Step{{Text: "half done"}}), helper{mock.New(mock.Script{}), "ok"})})
	m := h.Sessions(nil)
	old, err := m.Create(t.Context(), terret.Session{Agent: "mock", Cwd: folder(t, nil)}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn(t, h, old.ID)
	moved, err := m.Succeed(t.Context(), old, folder(t, nil), "", "", CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, prompt, err := m.HandOver(t.Context(), HandOver{Session: moved.ID, Agent: "helper"}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if text := terret.TextOf(prompt.Blocks); !strings.Contains(text, "half done") || !strings.Contains(text, "in the folder "+old.Cwd) || !strings.Contains(text, moved.Cwd) {
		t.Errorf("the prompt is %s", text)
	}
}

// TestHandOverRefused holds that nothing is made for an agent that is not ready.
func TestHandOverRefused(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Home: t.TempDir(), Drivers: append(follows(), helper{mock.New(mock.Script{}), "missing"})})
	m := h.Sessions(nil)
	old, err := m.Create(t.Context(), terret.Session{Agent: "mock", Cwd: folder(t, nil)}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log := terret.NewSessionID()
	if err := h.Engine.OpenLog(t.Context(), log, "team"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		session, agent, want string
		code                 terret.ErrorCode
	}{
		{old.ID, "helper", "helper is not ready: sign in with `helper login`", terret.CodeNotAuthenticated},
		{old.ID, "nobody", `there is no agent "nobody"`, terret.CodeAgentNotFound},
		{old.ID, "", "say which agent takes over", terret.CodeInvalidRequest},
		{log, "mock", "no agent works in session", terret.CodeInvalidRequest},
		{terret.NewSessionID(), "mock", "", terret.CodeSessionNotFound},
	} {
		_, _, err := m.HandOver(t.Context(), HandOver{Session: c.session, Agent: c.agent}, CreateOptions{})
		if err == nil || terret.AsError(err).Code != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.agent, err)
		}
	}
	all, err := h.Store.ListSessions(t.Context(), terret.SessionFilter{})
	if err != nil || len(all.Items) != 2 || all.Items[0].HandedTo+all.Items[1].HandedTo != "" {
		t.Errorf("%+v: %v", all.Items, err)
	}
}

// TestHandOverInWorktree holds that the next agent works in the same worktree, which goes
// with the last of them.
func TestHandOverInWorktree(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Home: t.TempDir(), Drivers: append(follows([]mock.Step{{Text: "half done"}}), helper{mock.New(mock.Script{}), "ok"})})
	m := h.Sessions(nil)
	old, err := m.Create(t.Context(), terret.Session{Agent: "mock", Cwd: repository(t, nil), Options: terret.SessionOptions{Worktree: true}}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made, _, err := m.HandOver(t.Context(), HandOver{Session: old.ID, Agent: "helper"}, CreateOptions{})
	if err != nil || made.Cwd != old.Cwd || !made.Options.Worktree {
		t.Fatalf("%+v: %v", made, err)
	}
	if kept, err := m.Delete(t.Context(), old.ID, false); err != nil || !strings.Contains(kept.Kept, made.ID) {
		t.Errorf("%+v: %v", kept, err)
	}
	if kept, err := m.Delete(t.Context(), made.ID, false); err != nil || kept != (Deleted{}) {
		t.Errorf("%+v: %v", kept, err)
	}
	if _, err := os.Stat(made.Cwd); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the worktree is still there: %v", err)
	}
}

// TestSucceed holds that a session of another node goes on under the same restrictions, without
// folders that are not here, and that it does not if its agent cannot be held to them here:
// the old node may have enforced them.
func TestSucceed(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Home: t.TempDir(), Drivers: append(follows(), helper{mock.New(mock.Script{}), "missing"}, loose{oversight: terret.OversightNone})})
	old := terret.Session{
		ID: terret.NewSessionID(), Agent: "loose", Cwd: "/elsewhere", Node: "far", NativeID: "x", Model: "m", Title: "a title", Policy: terret.PolicyPlan,
		Options: terret.SessionOptions{Deny: []string{"Bash(rm *)"}, AddDirs: []string{"/elsewhere/too"}, MaxCostUSD: 5},
	}
	dir := folder(t, nil)
	if _, err := h.Sessions(nil).Succeed(t.Context(), old, dir, "", "", CreateOptions{}); !errors.Is(err, terret.ErrUnsupported) || terret.AsError(err).Field != UnenforcedField {
		t.Errorf("restrictions that nobody enforces: %v", err)
	}
	var notes []string
	made, err := h.Sessions(nil).Succeed(t.Context(), old, dir, "", "", CreateOptions{Unenforced: true, Tell: func(n string) { notes = append(notes, n) }})
	if err != nil {
		t.Fatal(err)
	}
	want := old.Options
	want.AddDirs = nil
	if diff := cmp.Diff(want, made.Options); diff != "" || made.Agent != "loose" || made.Model != "m" || made.Cwd != dir || made.Policy != terret.PolicyPlan || made.ForkedFrom != old.ID || made.NativeID != "" {
		t.Errorf("%+v\n-want +got\n%s", made, diff)
	}
	if len(old.Options.AddDirs) != 1 || !strings.Contains(strings.Join(notes, "\n"), "additional folders were left out: they are on node far") {
		t.Errorf("%q", notes)
	}
	if _, err := h.Sessions(nil).Succeed(t.Context(), old, dir, "helper", "", CreateOptions{}); err == nil || terret.AsError(err).Code != terret.CodeNotAuthenticated {
		t.Errorf("%v", err)
	}
}

package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/internal/workfiles"
)

func TestRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"git status"}`), Ask: true}}))
	s := f.session()
	f.prompt(s.ID, "go")
	r := f.wait(s.ID, "permission.request").Expects.RequestID
	f.do("POST", "/v1/decisions/"+r, map[string]any{"behavior": "deny"}).want(200, nil)

	put := func(items ...any) []terret.Rule {
		t.Helper()
		var p terret.Page[terret.Rule]
		f.do("PUT", "/v1/rules", map[string]any{"items": items}).want(200, &p)
		return p.Items
	}
	rules := put(map[string]any{"effect": "allow", "pattern": "Bash(git *)"}, map[string]any{"effect": "deny", "pattern": "Bash(rm *)"})
	if len(rules) != 2 || rules[0].MadeBy != "admin" || rules[0].Scope != terret.ScopeAlways {
		t.Fatalf("rules %+v", rules)
	}
	kept := put(map[string]any{"id": rules[1].ID, "effect": "deny", "pattern": "Bash(rm *)"})
	if diff := cmp.Diff(rules[1:], kept); diff != "" {
		t.Error(diff)
	}
	f.do("PUT", "/v1/rules", map[string]any{"items": []any{map[string]any{"effect": "deny", "pattern": "Bash("}}}).problem(422, terret.CodeInvalidRequest, "items")
	f.do("PUT", "/v1/rules", map[string]any{"items": []any{map[string]any{"id": "rul_x", "effect": "deny", "pattern": "Bash"}}}).problem(422, terret.CodeInvalidRequest, "items")
	f.do("PUT", "/v1/rules", map[string]any{"items": []any{map[string]any{"effect": "maybe", "pattern": "Bash"}}}).problem(422, terret.CodeInvalidRequest, "items[0].effect")
	if now := put(map[string]any{"id": rules[1].ID, "effect": "deny", "pattern": "Bash(rm *)"}); len(now) != 1 {
		t.Errorf("what was refused changed something: %+v", now)
	}

	var dry httpapi.DryRuns
	f.do("POST", "/v1/rules/dry-run", map[string]any{"effect": "allow", "pattern": "Bash(git *)"}).want(200, &dry)
	if dry.Total != 1 || len(dry.Items) != 1 || dry.Items[0].Behavior != terret.BehaviorAllow || dry.Items[0].Request.Decision.Behavior != terret.BehaviorDeny {
		t.Errorf("dry run %+v", dry)
	}
	f.do("POST", "/v1/rules/dry-run", map[string]any{"effect": "deny", "pattern": "Write"}).want(200, &dry)
	if dry.Total != 1 || len(dry.Items) != 0 {
		t.Errorf("dry run %+v", dry)
	}
}

// TestExplainRules holds that a tool use is explained as it would be decided, in a session
// and in one that does not exist: with the rules in force, and with what is protected.
func TestExplainRules(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	explain := func(body map[string]any) engine.Explanation {
		t.Helper()
		var why engine.Explanation
		f.do("POST", "/v1/rules/explain", body).want(200, &why)
		return why
	}
	f.do("PUT", "/v1/rules", map[string]any{"items": []any{map[string]any{"effect": "allow", "pattern": "Bash(git *)"}}}).want(200, nil)
	id := f.session().ID
	if why := explain(map[string]any{"session": id, "command": "git status"}); why.Decision != terret.BehaviorAllow || why.Rule != "Bash(git *)" {
		t.Errorf("%+v", why)
	}
	why := explain(map[string]any{"cwd": f.root, "policy": "rules", "allow": []string{"Bash(make *)"}, "command": "make && rm x"})
	if want := []string{"No rule decides it, so the policy rules asks.", "make: rule Bash(make *) allows it.", "rm x: no rule allows it."}; why.Decision != terret.BehaviorAsk || !slices.Equal(why.Reasons, want) {
		t.Errorf("%+v", why)
	}
	guarded := map[string]any{"cwd": f.root, "policy": "accept-edits", "tool": "Write", "input": map[string]any{"file_path": ".git/config", "content": "x"}}
	if why := explain(guarded); why.Decision != terret.BehaviorAsk {
		t.Errorf("a file that programs take orders from: %+v", why)
	}
	odd := map[string]any{"cwd": f.root, "policy": "rules", "allow": []string{"Bash(ls *)"}, "tool": "developer__shell", "input": map[string]any{"command": "ls -l"}}
	if why := explain(odd); why.Decision != terret.BehaviorAsk {
		t.Errorf("a tool of which nothing is known: %+v", why)
	}
	odd["class"] = terret.ClassExecute
	if why := explain(odd); why.Decision != terret.BehaviorAllow {
		t.Errorf("a tool of which the agent says that it executes: %+v", why)
	}
	f.do("POST", "/v1/rules/explain", map[string]any{"session": id, "command": "ls", "policy": "rules"}).problem(422, terret.CodeInvalidRequest, "session")
	f.do("POST", "/v1/rules/explain", map[string]any{"cwd": f.root, "command": "ls", "policy": "nonsense"}).problem(422, terret.CodeInvalidRequest, "policy")
	f.do("POST", "/v1/rules/explain", map[string]any{"session": id}).problem(422, terret.CodeInvalidRequest, "command")
	f.do("POST", "/v1/rules/explain", map[string]any{"cwd": f.root, "command": "ls", "deny": []string{"Bash("}}).problem(422, terret.CodeInvalidRequest, "deny")
	f.do("POST", "/v1/rules/explain", map[string]any{"cwd": "/nowhere", "command": "ls"}).problem(403, terret.CodeForbidden, "cwd")
}

func TestAgents(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var p terret.Page[terret.Probe]
	f.do("GET", "/v1/agents", nil).want(200, &p)
	if len(p.Items) != 1 || p.Items[0].Agent != "mock" || !p.Items[0].Found || !p.Items[0].Capabilities.Has(terret.CanSteer) {
		t.Errorf("agents %+v", p.Items)
	}
	f.do("GET", "/v1/agents/nobody/models", nil).problem(404, terret.CodeNotFound, "")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Usage: &terret.UsageUpdate{Usage: terret.Usage{Input: 7, Output: 3}, CostUSD: terret.USD / 4}}, mock.Step{Text: "x"}))
	s := f.session()
	f.prompt(s.ID, "go")
	f.wait(s.ID, "turn.complete")
	for _, group := range []string{"", "?group=day", "?group=agent", "?group=model", "?group=cwd"} {
		var p terret.Page[terret.UsageRow]
		f.do("GET", "/v1/usage"+group, nil).want(200, &p)
		if len(p.Items) != 1 || p.Items[0].Turns != 1 || p.Items[0].Usage.Input != 7 || p.Items[0].CostUSD != terret.USD/4 {
			t.Errorf("%s: %+v", group, p.Items)
		}
	}
	var p terret.Page[terret.UsageRow]
	f.do("GET", "/v1/usage?until=2020-01-01", nil).want(200, &p)
	if len(p.Items) != 0 {
		t.Errorf("long ago: %+v", p.Items)
	}
	f.do("GET", "/v1/usage?group=person", nil).problem(422, terret.CodeInvalidRequest, "group")
	f.do("GET", "/v1/usage?since=yesterday", nil).problem(422, terret.CodeInvalidRequest, "since")
}

func TestFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, text := range map[string]string{"a.txt": "hello", "sub/b.txt": "deep", ".terret/logs/harness.log": "secret"} {
		path := filepath.Join(f.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(f.dir, "out")); err != nil {
		t.Fatal(err)
	}
	s := f.session()
	var list workfiles.Listing
	f.do("GET", "/v1/files?session="+s.ID, nil).want(200, &list)
	names := []string{}
	for _, e := range list.Items {
		names = append(names, e.Name)
	}
	if !strings.Contains(strings.Join(names, " "), "sub a.txt") {
		t.Errorf("files %v", names)
	}
	var c workfiles.Content
	f.do("GET", "/v1/files/content?session="+s.ID+"&path=sub/b.txt", nil).want(200, &c)
	if c.Text != "deep" {
		t.Errorf("content %+v", c)
	}
	for _, path := range []string{"../x", "/etc/passwd", "out", ".terret/logs/harness.log", "sub/../../x", "none", "", "a\x00b"} {
		if a := f.do("GET", "/v1/files/content?session="+s.ID+"&path="+url.QueryEscape(path), nil); a.status < 400 || a.status >= 500 {
			t.Errorf("%q: %d %s", path, a.status, a.body)
		}
	}
	var found workfiles.Matches
	f.do("GET", "/v1/files/find?session="+s.ID+"&q=btx", nil).want(200, &found)
	if len(found.Items) != 1 || found.Items[0].Path != "sub/b.txt" {
		t.Errorf("found %+v", found)
	}
	var dirs workfiles.Subfolders
	f.do("GET", "/v1/dirs?path="+url.QueryEscape(f.root), nil).want(200, &dirs)
	f.do("GET", "/v1/dirs?path=/", nil).problem(403, terret.CodeForbidden, "")
	f.do("GET", "/v1/dirs", nil).problem(422, terret.CodeInvalidRequest, "path")
	var roots terret.Page[workfiles.Root]
	f.do("GET", "/v1/roots", nil).want(200, &roots)
	if len(roots.Items) != 1 || roots.Items[0].Path != f.root {
		t.Errorf("roots %+v", roots)
	}
	f.do("GET", "/v1/sessions/"+s.ID+"/changes", nil).problem(501, terret.CodeUnsupported, "")
	f.do("GET", "/v1/sessions/"+s.ID+"/changes?turn=x", nil).problem(404, terret.CodeNotFound, "")
}

// TestUndoAndChanges takes back over HTTP what a turn changed.
func TestUndoAndChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *httpapi.Config, e *engine.Config) {
		e.Undo = engine.UndoLimits{}
	}, script(mock.Step{Do: writeFile}, mock.Step{Text: "made"}))
	s := f.session()
	turn := f.prompt(s.ID, "make")
	f.wait(s.ID, "turn.complete")
	at := "/v1/sessions/" + s.ID
	var c workfiles.Changes
	for _, query := range []string{"", "?turn=" + turn.ID} {
		f.do("GET", at+"/changes"+query, nil).want(200, &c)
		if len(c.Items) != 1 || c.Items[0].Path != "made.txt" || !strings.Contains(c.Items[0].Diff, "+by the turn") {
			t.Errorf("changes %q: %+v", query, c)
		}
	}
	var r engine.Rewound
	f.do("POST", at+"/undo", nil).want(200, &r)
	if r.Turn != turn.ID || !cmp.Equal(r.Files, []string{"made.txt"}) {
		t.Errorf("undone %+v", r)
	}
	if _, err := os.Stat(filepath.Join(f.dir, "made.txt")); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	made := filepath.Join(f.dir, "made.txt")
	f.do("POST", at+"/redo", nil).want(200, &r)
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(made, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.do("POST", at+"/undo", nil).problem(409, terret.CodeConflict, "")
	f.do("POST", at+"/undo", map[string]bool{"force": true}).want(200, &r)
	var copies terret.Page[engine.Copy]
	f.do("GET", at+"/copies", nil).want(200, &copies)
	if len(copies.Items) != 1 || copies.Items[0].ID != r.Copy || len(copies.Items[0].Files) != 1 {
		t.Fatalf("copies %+v, undone %+v", copies, r)
	}
	f.do("POST", at+"/copies/none/restore", nil).problem(404, terret.CodeNotFound, "")
	var back engine.Restored
	f.do("POST", at+"/copies/"+r.Copy+"/restore", nil).want(200, &back)
	if got, err := os.ReadFile(made); err != nil || string(got) != "mine" || !cmp.Equal(back.Files, []string{"made.txt"}) {
		t.Errorf("%q, %v: %+v", got, err, back)
	}
}

// TestTakeBack takes one file of a turn back over HTTP, and brings it back again. A file
// that somebody changed meanwhile is left alone.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	write := func(_ context.Context, dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "a.txt"), []byte("by the turn\n"), 0o600), os.WriteFile(filepath.Join(dir, "b.txt"), []byte("too\n"), 0o600))
	}
	f := newFixture(t, func(_ *httpapi.Config, e *engine.Config) { e.Undo = engine.UndoLimits{} }, script(mock.Step{Do: write}, mock.Step{Text: "made"}))
	a := filepath.Join(f.dir, "a.txt")
	if err := os.WriteFile(a, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := f.session()
	turn := f.prompt(s.ID, "make")
	f.wait(s.ID, "turn.complete")
	at := "/v1/sessions/" + s.ID
	var c workfiles.Changes
	f.do("GET", at+"/changes?turn="+turn.ID, nil).want(200, &c)
	if len(c.Items) != 2 || c.Items[0].Path != "a.txt" {
		t.Fatalf("changes %+v", c)
	}
	back := map[string]any{"path": "a.txt", "state": c.Items[0].State, "turn": turn.ID}
	holds := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(a); err != nil || string(got) != want {
			t.Errorf("it holds %q, %v; want %q", got, err, want)
		}
	}
	f.do("POST", at+"/changes/take-back", map[string]any{"path": "a.txt", "state": "other", "turn": turn.ID}).problem(409, terret.CodeConflict, "")
	f.do("POST", at+"/changes/take-back", map[string]any{"path": "a.txt", "state": "x", "turn": "trn_none"}).problem(404, terret.CodeNotFound, "")
	holds("by the turn\n")
	var r engine.Restored
	f.do("POST", at+"/changes/take-back", back).want(200, &r)
	holds("before\n")
	if !cmp.Equal(r.Files, []string{"a.txt"}) || r.Copy == "" {
		t.Fatalf("taken back %+v", r)
	}
	f.do("POST", at+"/copies/"+r.Copy+"/restore", nil).want(200, &r)
	holds("by the turn\n")
	if err := os.WriteFile(a, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.do("POST", at+"/changes/take-back", back).problem(409, terret.CodeConflict, "")
	holds("mine\n")
	delete(back, "turn")
	f.do("GET", at+"/changes", nil).want(200, &c)
	back["state"], back["hunks"] = c.Items[0].State, []int{0}
	f.do("POST", at+"/changes/take-back", back).want(200, &r)
	holds("before\n")
	f.do("POST", at+"/undo", nil).want(200, nil) // of the rest of the turn
	if _, err := os.Stat(filepath.Join(f.dir, "b.txt")); !os.IsNotExist(err) {
		t.Errorf("b.txt is still there: %v", err)
	}
	holds("before\n")
	var rewound []string
	for e, err := range f.engine.Events(t.Context(), engine.EventQuery{Session: s.ID}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, err := e.Decode(); err != nil {
			t.Fatal(err)
		} else if d, ok := ev.Data.(terret.CheckpointRewound); ok {
			rewound = append(rewound, fmt.Sprintf("%s %s +%d -%d", d.Direction, strings.Join(d.Files, ","), d.Insertions, d.Deletions))
		}
	}
	if want := []string{"undo a.txt +1 -1", "restore a.txt +0 -0", "undo a.txt +1 -1", "undo b.txt +0 -1"}; !cmp.Equal(rewound, want) {
		t.Errorf("the log says %q, want %q", rewound, want)
	}
}

func TestPersonasAndTrust(t *testing.T) {
	t.Parallel()
	var agent told
	f := newFixture(t, listen(&agent), func(c *httpapi.Config, _ *engine.Config) { c.Trust = trust.Open(c.Home) })
	path := filepath.Join(f.dir, "agents", "AGENT_REVIEW.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("---\ntools: [Read]\nauto_approve_tools: [Read]\n---\nLook.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cwd := "?cwd=" + url.QueryEscape(f.dir)
	var p httpapi.Personas
	f.do("GET", "/v1/personas"+cwd, nil).want(200, &p)
	if len(p.Items) != 1 || p.Items[0].ID != "REVIEW" || p.Items[0].Trusted {
		t.Errorf("personas %+v", p)
	}
	var prompt httpapi.SystemPrompt
	f.do("GET", "/v1/personas/REVIEW/prompt"+cwd+"&mode=pipeline", nil).want(200, &prompt)
	if !strings.Contains(prompt.Text, "Look.") || !strings.Contains(prompt.Text, "Pipeline execution mode") || prompt.Tokens == 0 {
		t.Errorf("prompt %+v", prompt)
	}
	f.do("GET", "/v1/personas/NOBODY/prompt"+cwd, nil).problem(404, terret.CodeNotFound, "persona")
	f.do("GET", "/v1/personas?cwd=/", nil).problem(403, terret.CodeForbidden, "cwd")
	f.do("GET", "/v1/personas", nil).problem(422, terret.CodeInvalidRequest, "cwd")

	made := f.session(func(b map[string]any) { b["persona"] = "REVIEW" })
	if diff := cmp.Diff(terret.SessionOptions{}, made.Options); diff != "" { // they are a person's
		t.Error(diff)
	}
	f.prompt(made.ID, "look")
	f.wait(made.ID, "turn.complete")
	if in := agent.last(t, made.ID); len(in.ApprovedTools) != 0 || !cmp.Equal(in.Tools, []string{"Read"}) || in.MaxTurns != 25 {
		t.Errorf("settings %+v", in)
	}
	// A mode that somebody asked for has its text, also without a persona.
	bench := f.session(func(b map[string]any) { b["mode"] = "workbench" })
	f.prompt(bench.ID, "hi")
	f.wait(bench.ID, "turn.complete")
	if in := agent.last(t, bench.ID); !strings.Contains(in.SystemAppend, "Interactive workbench mode") || in.Tools != nil {
		t.Errorf("settings %+v", in)
	}
	// And so has a session that asks for it in no other way.
	base := f.session(func(b map[string]any) { b["base_prompt"] = true })
	f.prompt(base.ID, "hi")
	f.wait(base.ID, "turn.complete")
	if in := agent.last(t, base.ID); !strings.Contains(in.SystemAppend, "Direct terminal mode") {
		t.Errorf("settings %+v", in)
	}
	var state httpapi.FolderTrust
	f.do("GET", "/v1/trust"+cwd, nil).want(200, &state)
	if state.Decision != trust.Unknown || len(state.Files) != 1 || state.Hash == "" {
		t.Errorf("trust %+v", state)
	}
	f.do("POST", "/v1/trust", map[string]any{"cwd": f.dir, "hash": "x", "trusted": true}).problem(409, terret.CodeConflict, "")
	f.do("POST", "/v1/trust", map[string]any{"cwd": f.dir, "hash": state.Hash, "trusted": true}).want(200, &state)
	if state.Decision != trust.Trusted {
		t.Errorf("trust %+v", state)
	}
	// What it grants counts from turn to turn, for as long as it is trusted.
	turn := f.prompt(made.ID, "look again")
	f.ended(made.ID, turn.ID)
	if in := agent.last(t, made.ID); !cmp.Equal(in.ApprovedTools, []string{"Read"}) || !strings.Contains(in.SystemAppend, "Look.") {
		t.Errorf("settings %+v", in)
	}
	var folders terret.Page[trust.Decided]
	f.do("GET", "/v1/trust/folders", nil).want(200, &folders)
	if len(folders.Items) != 1 || folders.Items[0].Folder != state.Folder || folders.Items[0].Decision != trust.Trusted || folders.Items[0].By != "admin" {
		t.Errorf("decisions %+v", folders.Items)
	}
	one := "/v1/trust?folder=" + url.QueryEscape(state.Folder)
	f.do("DELETE", one, nil).want(204, nil)
	f.do("DELETE", one, nil).problem(404, terret.CodeNotFound, "")
	f.do("GET", "/v1/trust"+cwd, nil).want(200, &state)
	if state.Decision != trust.Unknown {
		t.Errorf("forgotten, but %+v", state)
	}
	turn = f.prompt(made.ID, "and again")
	f.ended(made.ID, turn.ID)
	if in := agent.last(t, made.ID); len(in.ApprovedTools) != 0 {
		t.Errorf("a folder that was forgotten still grants: %+v", in)
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, chatter)
	s, _ := talk(t, f)
	a := f.do("GET", "/v1/sessions/"+s.ID+"/export", nil).want(200, nil)
	if got := a.header.Get("Content-Disposition"); !strings.Contains(got, s.ID) {
		t.Errorf("disposition %q", got)
	}
	var made terret.Session
	f.do("POST", "/v1/sessions/import", string(a.body), "Content-Type", "application/x-ndjson").want(201, &made)
	if made.ID == s.ID || made.Cwd != f.dir || made.State != terret.SessionIdle {
		t.Errorf("session %+v", made)
	}
	var before, after terret.Page[terret.Message]
	f.do("GET", "/v1/sessions/"+s.ID+"/messages", nil).want(200, &before)
	f.do("GET", "/v1/sessions/"+made.ID+"/messages", nil).want(200, &after)
	if len(before.Items) != len(after.Items) || len(after.Items) == 0 {
		t.Errorf("%d messages became %d", len(before.Items), len(after.Items))
	}
	// It can be gone on with.
	f.prompt(made.ID, "and now")
	f.wait(made.ID, "turn.complete")

	elsewhere := bytes.ReplaceAll(a.body, []byte(f.dir), []byte("/nowhere"))
	f.do("POST", "/v1/sessions/import", string(elsewhere)).problem(403, terret.CodeForbidden, "cwd")
	f.do("POST", "/v1/sessions/import?cwd="+url.QueryEscape(f.dir), string(elsewhere)).want(201, nil)
	f.do("POST", "/v1/sessions/import", "{}").problem(422, terret.CodeInvalidRequest, "body")
	small := newFixture(t, limits(httpapi.Limits{Import: 1000}))
	small.do("POST", "/v1/sessions/import?cwd="+url.QueryEscape(small.dir), string(a.body)).problem(413, terret.CodeInvalidRequest, "")
}

package httpapi_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/sse"
)

// claude makes the agent that these routes want follow a script. It ends its
// process with each turn, as one that is started for each does.
func claude(all ...[]mock.Step) option {
	return func(_ *httpapi.Config, e *engine.Config) {
		e.Drivers = []terret.Driver{mock.NewFunc("claude", func(terret.Session) mock.Script { return mock.Script{Turns: all} })}
	}
}

// exits is a process that ends by itself after the turn.
func exits(code string) mock.Step {
	return mock.Step{Background: []mock.Step{{Event: &mock.RawEvent{Kind: "process.exit", Data: terret.JSON(`{"code":` + code + `,"signal":null}`)}}}}
}

type harnessSession struct {
	Session struct {
		ID, CreatedAt, UpdatedAt, ProjectRoot, Mode string
		Persona, ClaudeSessionID                    *string
	}
	Notes []string
}

func (f *fixture) harnessSession(persona any) harnessSession {
	f.t.Helper()
	var s harnessSession
	f.do("POST", "/api/harness/session/create", map[string]any{"projectRoot": f.dir, "persona": persona, "mode": "workbench"}).want(201, &s)
	return s
}

type uiEvent struct {
	Type, SessionID, Text, Error, Name, Content, Model string
	Code                                               *int
	IsError                                            bool
}

// turn holds a turn and returns its messages.
func (f *fixture) harnessTurn(id string, more ...func(map[string]any)) []uiEvent {
	f.t.Helper()
	body := map[string]any{"sessionId": id, "message": "What is 2+2?"}
	for _, m := range more {
		m(body)
	}
	res, err := f.client.Do(f.request(f.t.Context(), "POST", "/api/harness/turn", body))
	if err != nil {
		f.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		f.t.Fatalf("status %d", res.StatusCode)
	}
	var out []uiEvent
	for ev, err := range sse.Read(res.Body, 1<<20) {
		if err != nil {
			f.t.Fatal(err)
		}
		if ev.ID != "" || ev.Name != "" {
			f.t.Errorf("more than data: %+v", ev)
		}
		var u uiEvent
		if err := json.Unmarshal(ev.Data, &u); err != nil {
			f.t.Fatal(err)
		}
		if u.SessionID != id {
			f.t.Errorf("of session %q", u.SessionID)
		}
		out = append(out, u)
	}
	return out
}

func types(events []uiEvent) []string {
	var out []string
	for _, u := range events {
		if len(out) == 0 || out[len(out)-1] != u.Type {
			out = append(out, u.Type)
		}
	}
	return out
}

func TestHarness(t *testing.T) {
	t.Parallel()
	f := newFixture(t, claude(
		[]mock.Step{{Text: "It is four."}, {Tool: &mock.Tool{Name: "Read", Input: terret.JSON(`{"file_path":"a"}`), Result: "x"}}, {Text: "Four."}, exits("0")},
		[]mock.Step{{Fail: &terret.Error{Code: terret.CodeMaxTurns, Message: "too many turns"}}, exits("1")},
		[]mock.Step{{Text: "hm"}, {Crash: true}},
	))
	s := f.harnessSession(nil).Session
	if s.ProjectRoot != f.dir || s.Persona != nil || s.Mode != "workbench" || s.ClaudeSessionID != nil || !terret.ValidID("", s.ID) {
		t.Errorf("session %+v", s)
	}
	record, err := f.store.Session(t.Context(), s.ID)
	if err != nil || record.Agent != "claude" || !record.OneShot || record.Policy != terret.PolicyDenyUnlessAllowed {
		t.Errorf("session %+v %v", record, err)
	}
	events := f.harnessTurn(s.ID)
	want := []string{"session:init", "chat:delta", "tool:start", "tool:result", "chat:delta", "chat:complete", "session:complete", "process:exit"}
	if diff := cmp.Diff(want, types(events)); diff != "" {
		t.Error(diff)
	}
	if last := events[len(events)-1]; last.Code == nil || *last.Code != 0 {
		t.Errorf("the last is %+v", last)
	}
	var got harnessSession
	f.do("GET", "/api/harness/session/"+s.ID, nil).want(200, &got)
	if got.Session.ClaudeSessionID == nil || *got.Session.ClaudeSessionID != "mock-"+s.ID {
		t.Errorf("session %+v", got.Session)
	}
	// Without a result there is an error before the exit.
	events = f.harnessTurn(s.ID)
	if diff := cmp.Diff([]string{"session:init", "session:error", "process:exit"}, types(events)); diff != "" {
		t.Error(diff)
	}
	events = f.harnessTurn(s.ID)
	if diff := cmp.Diff([]string{"session:init", "chat:delta", "session:error", "process:exit"}, types(events)); diff != "" {
		t.Error(diff)
	}
	if e := events[len(events)-2]; !strings.Contains(e.Error, "1") {
		t.Errorf("the error does not name the exit code: %+v", e)
	}
	other := f.harnessSession(nil).Session
	elsewhere := filepath.Join(f.dir, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	f.do("POST", "/api/harness/session/create", map[string]any{"projectRoot": elsewhere, "mode": "direct"}).want(201, nil)
	var list []struct{ ID, ProjectRoot, UpdatedAt string }
	f.do("GET", "/api/harness/session/list?projectRoot="+f.dir, nil).want(200, &list)
	if len(list) != 2 || list[0].ID != other.ID || list[1].ID != s.ID || list[0].UpdatedAt < list[1].UpdatedAt {
		t.Errorf("list %+v", list)
	}
	f.harnessTurn(s.ID) // the older one is the last that anything happened in
	f.do("GET", "/api/harness/session/list?projectRoot="+f.dir, nil).want(200, &list)
	if len(list) != 2 || list[0].ID != s.ID || list[1].ID != other.ID {
		t.Errorf("list %+v", list)
	}
	var summaries []map[string]any
	f.do("GET", "/api/harness/session/list?projectRoot="+f.dir, nil).want(200, &summaries)
	if diff := cmp.Diff([]string{"createdAt", "id", "mode", "persona", "projectRoot", "updatedAt"}, slices.Sorted(maps.Keys(summaries[0]))); diff != "" {
		t.Errorf("the fields of a summary (-want +got):\n%s", diff)
	}
	f.do("DELETE", "/api/harness/session/"+s.ID, nil).want(204, nil)
	f.do("GET", "/api/harness/session/"+s.ID, nil).problem(404, terret.CodeSessionNotFound, "")
	f.do("DELETE", "/api/harness/session/"+s.ID, nil).problem(404, terret.CodeSessionNotFound, "")
}

func TestHarnessStops(t *testing.T) {
	t.Parallel()
	f := newFixture(t, claude([]mock.Step{{Text: "hm"}, {Hang: true}}), limits(httpapi.Limits{Exit: time.Millisecond}))
	s := f.harnessSession(nil).Session
	interrupt := map[string]any{"sessionId": s.ID}
	f.do("POST", "/api/harness/interrupt", interrupt).problem(404, terret.CodeNotFound, "")
	f.do("POST", "/api/harness/interrupt", map[string]any{"sessionId": terret.NewSessionID()}).problem(404, terret.CodeSessionNotFound, "")
	done := make(chan []uiEvent, 1)
	read := func(res *http.Response) {
		var out []uiEvent
		for ev := range sse.Read(res.Body, 1<<20) {
			var u uiEvent
			_ = json.Unmarshal(ev.Data, &u)
			out = append(out, u)
		}
		done <- out
	}
	ctx, leave := context.WithCancel(t.Context())
	res, err := f.client.Do(f.request(ctx, "POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": "hang"}))
	if err != nil {
		t.Fatal(err)
	}
	f.wait(s.ID, "message.complete")
	f.do("POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": "again"}).problem(409, terret.CodeSessionBusy, "")
	go read(res)
	f.do("POST", "/api/harness/interrupt", interrupt).want(200, nil)
	got := types(<-done)
	leave()
	res.Body.Close()
	if len(got) < 3 || got[len(got)-2] != "session:error" || got[len(got)-1] != "process:exit" {
		t.Errorf("messages %v", got)
	}
	// Deleting kills what runs.
	res, err = f.client.Do(f.request(t.Context(), "POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": "hang"}))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	go read(res)
	f.do("DELETE", "/api/harness/session/"+s.ID+"?force=perhaps", nil).problem(400, terret.CodeInvalidRequest, "force")
	f.do("DELETE", "/api/harness/session/"+s.ID+"?force=false", nil).problem(409, terret.CodeSessionBusy, "")
	f.do("DELETE", "/api/harness/session/"+s.ID, nil).want(204, nil)
	if got = types(<-done); len(got) < 2 || got[len(got)-2] != "session:error" || got[len(got)-1] != "process:exit" {
		t.Errorf("messages of a turn that was deleted: %v", got)
	}
	f.do("GET", "/api/harness/session/"+s.ID, nil).problem(404, terret.CodeSessionNotFound, "")
}

// TestHarnessAsksNobody holds that whatever is asked is refused at once, also when
// nobody watches.
func TestHarnessAsksNobody(t *testing.T) {
	t.Parallel()
	f := newFixture(t, claude([]mock.Step{
		{Question: &terret.Question{ID: "q", Text: "Which?"}},
		{Plan: "1. Do it."},
		{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"rm -rf x"}`), Ask: true}},
		{Text: "fine"},
	}))
	s := f.harnessSession(nil).Session
	ctx, leave := context.WithCancel(t.Context())
	res, err := f.client.Do(f.request(ctx, "POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": "ask"}))
	if err != nil {
		t.Fatal(err)
	}
	leave()
	res.Body.Close()
	if end, ok := f.wait(s.ID, "turn.complete").Data.(terret.TurnComplete); !ok || end.Text != "fine" {
		t.Errorf("end %+v", end)
	}
	var p terret.Page[terret.Request]
	f.do("GET", "/v1/decisions?state=all&session="+s.ID, nil).want(200, &p)
	var got []string
	for _, r := range p.Items {
		got = append(got, string(r.Gate)+" "+string(r.Decision.Behavior)+" "+string(r.Decision.Source))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"permission deny policy", "plan revise policy", "question reject policy"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestHarnessPersona holds that a persona's restrictions and text reach the turn.
func TestHarnessPersona(t *testing.T) {
	t.Parallel()
	var agent told
	f := newFixture(t, claude([]mock.Step{{Text: "ok"}, exits("0")}), listen(&agent))
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(f.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("README.md", "about the project")
	write("agents/AGENT_DECOMP.md", "---\ntools: [Read, Grep]\nmax_turns: 10\nauto_approve_tools: [Bash]\n---\nYou take things apart.\n")
	made := f.harnessSession("DECOMP")
	if want := []string{"persona DECOMP: auto_approve_tools is ignored until you trust this folder (see `terret trust`)"}; !cmp.Equal(made.Notes, want) {
		t.Errorf("notes %q, want %q", made.Notes, want)
	}
	s := made.Session
	if s.Persona == nil || *s.Persona != "DECOMP" {
		t.Errorf("session %+v", s)
	}
	var list []struct{ ID, Persona, Mode, ProjectRoot, CreatedAt, UpdatedAt string }
	f.do("GET", "/api/harness/session/list", nil).want(200, &list)
	if len(list) != 1 || list[0].ID != s.ID || list[0].Persona != "DECOMP" || list[0].Mode != "workbench" || list[0].ProjectRoot != f.dir || list[0].CreatedAt == "" || list[0].UpdatedAt < list[0].CreatedAt {
		t.Errorf("list %+v", list)
	}
	var record terret.Session
	f.do("GET", "/v1/sessions/"+s.ID, nil).want(200, &record)
	if record.PermissionMode != "dontAsk" || record.Policy != terret.PolicyDenyUnlessAllowed || !record.OneShot || record.Agent != "claude" {
		t.Errorf("session %+v", record)
	}
	f.harnessTurn(s.ID, func(b map[string]any) {
		b["opts"] = map[string]any{
			"systemPromptAppend": "be brief", "tools": "default", "disallowedTools": []string{"Write"}, "maxTurns": 5, "verbose": true, "includePartialMessages": true,
		}
	})
	in := agent.last(t, s.ID)
	if !cmp.Equal(in.Tools, []string{"Read", "Grep"}) || !cmp.Equal(in.RemovedTools, []string{"Write"}) || in.MaxTurns != 5 {
		t.Errorf("settings %+v", in)
	}
	if len(in.ApprovedTools) != 0 {
		t.Errorf("a folder that nobody trusts grants %v", in.ApprovedTools)
	}
	for _, want := range []string{"about the project", "You take things apart.", "Interactive workbench mode", "be brief", f.dir} {
		if !strings.Contains(in.SystemAppend, want) {
			t.Errorf("no %q in the prompt", want)
		}
	}
	write("README.md", "changed")
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(f.dir, "README.md"), later, later); err != nil {
		t.Fatal(err)
	}
	f.harnessTurn(s.ID)
	if got := agent.last(t, s.ID).SystemAppend; !strings.Contains(got, "changed") || strings.Contains(got, "be brief") {
		t.Errorf("prompt %q", got)
	}
	// A session without a persona has the base prompt and the limit on steps, too.
	plain := f.harnessSession(nil).Session
	f.harnessTurn(plain.ID)
	if in := agent.last(t, plain.ID); in.MaxTurns != 25 || !strings.Contains(in.SystemAppend, "changed") || in.Tools != nil {
		t.Errorf("settings %+v", in)
	}
	// Without its persona the session goes no further.
	if err := os.Remove(filepath.Join(f.dir, "agents", "AGENT_DECOMP.md")); err != nil {
		t.Fatal(err)
	}
	f.do("POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": "x"}).problem(409, terret.CodeConflict, "persona")
	f.do("POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "x"}).problem(409, terret.CodeConflict, "persona")
	if page := (terret.Page[terret.Turn]{}); f.do("GET", "/v1/sessions/"+s.ID+"/turns", nil).want(200, &page).status == 200 && len(page.Items) != 2 {
		t.Errorf("%d turns have begun, want 2", len(page.Items))
	}
}

// TestHarnessOptions holds that each option of a turn reaches the agent under its own
// name, and that the overrides beat the persona's lists, also with an empty one.
func TestHarnessOptions(t *testing.T) {
	t.Parallel()
	var agent told
	f := newFixture(t, claude([]mock.Step{{Text: "ok"}, exits("0")}), listen(&agent))
	if err := os.Mkdir(filepath.Join(f.dir, "agents"), 0o700); err != nil {
		t.Fatal(err)
	}
	persona := "---\ntools: [Read, Grep]\ndisallowed_tools: [Edit]\n---\nYou look.\n"
	if err := os.WriteFile(filepath.Join(f.dir, "agents", "AGENT_LOOK.md"), []byte(persona), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		persona                  any
		opts                     map[string]any
		tools, removed, approved []string
		whole                    bool
	}{
		{nil, map[string]any{
			"tools": "Read, Bash", "disallowedTools": []string{"Write"}, "autoApproveTools": []string{"Bash(git *)"}, "includePartialMessages": false,
		}, []string{"Read", "Bash"}, []string{"Write"}, []string{"Bash(git *)"}, true},
		{"LOOK", nil, []string{"Read", "Grep"}, []string{"Edit"}, nil, false},
		{"LOOK", map[string]any{
			"toolsOverride": []string{"Glob"}, "disallowedToolsOverride": []string{"Bash"}, "autoApproveToolsOverride": "Read",
		}, []string{"Glob"}, []string{"Bash"}, []string{"Read"}, false},
		{"LOOK", map[string]any{"disallowedToolsOverride": []string{}}, []string{"Read", "Grep"}, []string{}, nil, false},
	} {
		s := f.harnessSession(c.persona).Session
		f.harnessTurn(s.ID, func(b map[string]any) { b["opts"] = c.opts })
		in := agent.last(t, s.ID)
		got := [][]string{in.Tools, in.RemovedTools, in.ApprovedTools}
		if diff := cmp.Diff([][]string{c.tools, c.removed, c.approved}, got); diff != "" || in.WholeMessages != c.whole {
			t.Errorf("%v: whole messages %v\n%s", c.opts, in.WholeMessages, diff)
		}
	}
}

// TestHarnessModes holds that a session of every mode never asks, and that a turn can
// be given each of the agent's own permission modes, except the one that skips them.
func TestHarnessModes(t *testing.T) {
	t.Parallel()
	var agent told
	f := newFixture(t, claude([]mock.Step{{Text: "ok"}, exits("0")}), listen(&agent))
	var last harnessSession
	for _, mode := range []terret.Mode{terret.ModeWorkbench, terret.ModePipeline, terret.ModeDirect} {
		f.do("POST", "/api/harness/session/create", map[string]any{"projectRoot": f.dir, "persona": nil, "mode": mode}).want(201, &last)
		var record terret.Session
		f.do("GET", "/v1/sessions/"+last.Session.ID, nil).want(200, &record)
		if record.Mode != mode || record.PermissionMode != "dontAsk" || record.Policy != terret.PolicyDenyUnlessAllowed || !record.OneShot {
			t.Errorf("%s: %+v", mode, record)
		}
		f.harnessTurn(last.Session.ID)
		if in := agent.last(t, last.Session.ID); in.PermissionMode != "" { // so that of the session counts
			t.Errorf("%s: its turn has mode %q", mode, in.PermissionMode)
		}
	}
	for _, mode := range []string{"default", "acceptEdits", "dontAsk", "plan", "auto"} {
		f.harnessTurn(last.Session.ID, func(b map[string]any) { b["opts"] = map[string]any{"permissionMode": mode} })
		if in := agent.last(t, last.Session.ID); in.PermissionMode != mode {
			t.Errorf("a turn in mode %s has mode %q", mode, in.PermissionMode)
		}
	}
}

func TestBadHarness(t *testing.T) {
	t.Parallel()
	f := newFixture(t, claude())
	s := f.harnessSession(nil).Session
	for _, c := range []struct {
		name, path string
		body       any
		status     int
		kind       terret.ErrorCode
		field      string
	}{
		{"mode", "session/create", map[string]any{"projectRoot": f.dir, "persona": nil, "mode": "yolo"}, 400, terret.CodeInvalidRequest, "mode"},
		{"no mode", "session/create", map[string]any{"projectRoot": f.dir}, 400, terret.CodeInvalidRequest, "mode"},
		{"persona", "session/create", map[string]any{"projectRoot": f.dir, "persona": "NOBODY", "mode": "direct"}, 400, terret.CodeInvalidRequest, "persona"},
		{"no folder", "session/create", map[string]any{"mode": "direct"}, 400, terret.CodeInvalidRequest, "projectRoot"},
		{"missing folder", "session/create", map[string]any{"projectRoot": f.dir + "/none", "mode": "direct"}, 400, terret.CodeInvalidRequest, "projectRoot"},
		{"outside", "session/create", map[string]any{"projectRoot": "/", "mode": "direct"}, 403, terret.CodeForbidden, "projectRoot"},
		{"field", "session/create", map[string]any{"projectRoot": f.dir, "mode": "direct", "policy": "auto-approve"}, 400, terret.CodeInvalidRequest, "policy"},
		{"type", "session/create", map[string]any{"projectRoot": 7, "mode": "direct"}, 400, terret.CodeInvalidRequest, "projectRoot"},
		{"not JSON", "session/create", "{", 400, terret.CodeInvalidRequest, "body"},
		{"two values", "session/create", `{"mode":"direct"} {}`, 400, terret.CodeInvalidRequest, "body"},
		{"no session", "turn", map[string]any{"message": "x"}, 404, terret.CodeSessionNotFound, ""},
		{"unknown session", "turn", map[string]any{"sessionId": terret.NewSessionID(), "message": "x"}, 404, terret.CodeSessionNotFound, ""},
		{"no message", "turn", map[string]any{"sessionId": s.ID}, 400, terret.CodeInvalidRequest, "message"},
		{"bypass", "turn", map[string]any{"sessionId": s.ID, "message": "x", "opts": map[string]any{"permissionMode": "bypassPermissions"}}, 400, terret.CodeInvalidRequest, "opts.permissionMode"},
		{"option", "turn", map[string]any{"sessionId": s.ID, "message": "x", "opts": map[string]any{"yolo": true}}, 400, terret.CodeInvalidRequest, "yolo"},
		{"flag", "turn", map[string]any{"sessionId": s.ID, "message": "x", "opts": map[string]any{"tools": "--x"}}, 400, terret.CodeInvalidRequest, "opts.tools"},
		{"list", "session/list?projectRoot=/", nil, 405, terret.CodeInvalidRequest, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := f.do("POST", "/api/harness/"+c.path, c.body)
			a.t = t
			a.problem(c.status, c.kind, c.field)
		})
	}
	f.do("GET", "/api/harness/session/list?projectRoot=/", nil).problem(403, terret.CodeForbidden, "projectRoot")
}

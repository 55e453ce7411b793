package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// TestOptionsOfTheServer holds that OPTIONS * is checked as everything else is.
func TestOptionsOfTheServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(ctx, l) }()
	for host, want := range map[string]int{"evil.example": http.StatusForbidden, l.Addr().String(): http.StatusNotFound} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "OPTIONS * HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != want || res.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("to %s: %s %v", host, res.Status, res.Header)
		}
		res.Body.Close()
		conn.Close()
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestRulesOfOneSession holds that a token for one session sees no rules but those of
// that session.
func TestRulesOfOneSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, other := f.session().ID, f.session().ID
	f.do("PUT", "/v1/rules", map[string]any{"items": []any{map[string]any{"effect": "deny", "pattern": "Read(/home/ann/secret/**)"}}}).want(200, nil)
	for session, pattern := range map[string]string{mine: "Bash(ls *)", other: "Bash(rm *)"} {
		r := terret.Rule{ID: terret.NewID(terret.PrefixRule), Effect: terret.EffectAllow, Pattern: pattern, Scope: terret.ScopeSession, Session: session, MadeAt: terret.Now()}
		if err := f.store.PutRule(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	header, value := f.as("link", access.View, mine)
	for _, path := range []string{"/v1/rules", "/v1/rules?session=" + mine} {
		var p terret.Page[terret.Rule]
		f.do("GET", path, nil, header, value).want(200, &p)
		if len(p.Items) != 1 || p.Items[0].Pattern != "Bash(ls *)" {
			t.Errorf("GET %s: %+v", path, p.Items)
		}
	}
	var p terret.Page[terret.Rule]
	if f.do("GET", "/v1/rules?session="+mine, nil).want(200, &p); len(p.Items) != 2 {
		t.Errorf("a token for all sessions sees %+v", p.Items)
	}
}

// TestKeyOfAnotherVerb holds that a key that was used to prompt does not stand for
// something else.
func TestKeyOfAnotherVerb(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(_ *httpapi.Config, e *engine.Config) {
		e.Drivers = []terret.Driver{mock.New(mock.Script{Compacts: true, Commands: []terret.Command{{Name: "hi"}}})}
	})
	s := f.session()
	at := "/v1/sessions/" + s.ID
	seen := map[string]bool{}
	for _, c := range []struct {
		path string
		body any
	}{
		{"/turns", map[string]any{"prompt": "x"}},
		{"/compact", map[string]any{}},
		{"/commands", map[string]any{"name": "hi"}},
	} {
		var turn, again terret.Turn
		f.do("POST", at+c.path, c.body, "Idempotency-Key", "k").want(202, &turn)
		f.do("POST", at+c.path, c.body, "Idempotency-Key", "k").want(202, &again)
		if seen[turn.ID] || again.ID != turn.ID {
			t.Errorf("%s: turn %s, then %s", c.path, turn.ID, again.ID)
		}
		seen[turn.ID] = true
		if err := f.engine.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEditedOptions holds that new words do not change how a prompt that waits is to
// be run, and cannot make use of what somebody else has allowed.
func TestEditedOptions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Text: "hm"}, mock.Step{Hang: true}))
	s := f.session()
	f.prompt(s.ID, "hang")
	at := "/v1/sessions/" + s.ID
	queue := func(options any) string {
		var turn terret.Turn
		f.do("POST", at+"/turns", map[string]any{"prompt": "old", "when": "queue", "options": options}).want(202, &turn)
		return at + "/queue/" + turn.ID
	}
	plan := queue(map[string]any{"permission_mode": "plan", "disallowed_tools": []string{"Bash"}})
	free := queue(map[string]any{"auto_approve_tools": []string{"Bash"}})
	header, value := f.as("prompter", access.Prompt, "")
	f.do("PATCH", plan, map[string]any{"prompt": "new"}, header, value).want(200, nil)
	f.do("PATCH", free, map[string]any{"prompt": "new"}, header, value).problem(403, terret.CodeForbidden, "")
	f.do("PATCH", free, map[string]any{"options": map[string]any{"model": "m"}}, header, value).want(200, nil)
	f.do("PATCH", free, map[string]any{"options": map[string]any{"auto_approve_tools": []string{"Bash"}}}, header, value).problem(403, terret.CodeForbidden, "")
	items, err := f.store.Pending(t.Context(), s.ID)
	if err != nil || len(items) != 2 {
		t.Fatalf("%+v %v", items, err)
	}
	var got []terret.Prompt
	for _, item := range items {
		var p terret.Prompt
		if err := json.Unmarshal(item.Body, &p); err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if terret.TextOf(got[0].Blocks) != "new" || got[0].Options.PermissionMode != "plan" || len(got[0].Options.DisallowedTools) != 1 {
		t.Errorf("new words: %+v", got[0])
	}
	if terret.TextOf(got[1].Blocks) != "old" || got[1].Options.Model != "m" || got[1].Options.AutoApproveTools != nil {
		t.Errorf("new options: %+v", got[1])
	}
}

// TestHarnessNames holds that the older routes say what is wrong by their own names,
// and with the status that fits.
func TestHarnessNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t, claude(), limits(httpapi.Limits{Prompt: 100}))
	s := f.harnessSession(nil).Session
	turn := func(message string, opts map[string]any) answer {
		return f.do("POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": message, "opts": opts})
	}
	for _, c := range []struct {
		got    answer
		status int
		field  string
	}{
		{turn(strings.Repeat("x", 101), nil), 413, "message"},
		{turn("", nil), 400, "message"},
		{turn("x", map[string]any{"maxTurns": -1}), 400, "opts.maxTurns"},
		{turn("x", map[string]any{"disallowedToolsOverride": []string{""}}), 400, "opts.disallowedToolsOverride"},
		{f.do("POST", "/api/harness/session/create", map[string]any{"projectRoot": "here", "mode": "direct"}), 400, "projectRoot"},
	} {
		if p := c.got.problem(c.status, terret.CodeInvalidRequest, c.field); !strings.HasPrefix(p.Detail, c.field+": ") || strings.Count(p.Detail, ": ") != 1 {
			t.Errorf("detail %q", p.Detail)
		}
	}
}

// TestAnswersToNothing holds that an answer is to a question that was asked.
func TestAnswersToNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Question: &terret.Question{ID: "q", Text: "Which?"}}, mock.Step{Text: "ok"}))
	s := f.session()
	f.prompt(s.ID, "ask")
	at := "/v1/decisions/" + f.wait(s.ID, "question.request").Expects.RequestID
	for _, answers := range []map[string]any{{"other": "A"}, {"q": "A", "other": "B"}} {
		f.do("POST", at, map[string]any{"behavior": "answer", "answers": answers}).problem(422, terret.CodeInvalidRequest, "answers")
	}
	f.do("POST", at, map[string]any{"behavior": "answer", "answers": map[string]any{"q": "A"}}).want(200, nil)
}

// TestFilters holds that a filter that cannot match anything is no empty list.
func TestFilters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, claude())
	s := f.session(func(b map[string]any) { b["agent"] = "claude-code" })
	if s.Agent != "claude" {
		t.Errorf("agent %q", s.Agent)
	}
	for _, query := range []string{"?cwd=" + url.QueryEscape(f.dir+"/"), "?cwd=" + url.QueryEscape(f.dir+"/x/.."), "?agent=claude-code"} {
		var p terret.Page[terret.Session]
		if f.do("GET", "/v1/sessions"+query, nil).want(200, &p); len(p.Items) != 1 {
			t.Errorf("%s: %d sessions", query, len(p.Items))
		}
	}
	for query, field := range map[string]string{
		"/v1/sessions?state=idle,lazy":         "state",
		"/v1/sessions?agent=%zz":               "query", // the standard library would leave it out
		"/v1/sessions?agent=a;limit=1":         "query",
		"/v1/sessions?agent=a&agent=b":         "agent",
		"/v1/sessions?q=%00":                   "q", // SQLite would find everything
		"/v1/sessions?q=%ff":                   "q",
		"/v1/events?sessions=%zz":              "query",
		"/v1/decisions?cursor=x":               "cursor",
		"/v1/decisions?cursor=0":               "cursor",
		"/v1/decisions?view=hive&state=all":    "state",
		"/v1/decisions?view=hive&session=&x=1": "x",
	} {
		f.do("GET", query, nil, "Accept", "application/x-ndjson").problem(422, terret.CodeInvalidRequest, field)
	}
	p := f.do("POST", "/v1/rules/dry-run", map[string]any{"effect": "deny", "pattern": "("}).problem(422, terret.CodeInvalidRequest, "pattern")
	if strings.Count(p.Detail, "pattern:") != 1 {
		t.Errorf("detail %q", p.Detail)
	}
}

// TestLargeImport holds that a session that was exported can be imported, however
// long it is.
func TestLargeImport(t *testing.T) {
	t.Parallel()
	f := newFixture(t, chatter, limits(httpapi.Limits{Body: 2000}))
	s, _ := talk(t, f)
	file := f.do("GET", "/v1/sessions/"+s.ID+"/export", nil).want(200, nil).body
	if len(file) < 2000 {
		t.Fatalf("the export has only %d bytes", len(file))
	}
	var made terret.Session
	f.do("POST", "/v1/sessions/import", string(file)).want(201, &made)
	again := f.do("GET", "/v1/sessions/"+made.ID+"/export", nil).want(200, nil).body
	title := made.Title
	if f.do("POST", "/v1/sessions/import", string(again)).want(201, &made); made.Title != title {
		t.Errorf("title %q became %q", title, made.Title)
	}
}

// TestPathsWithDots holds that a path leads nowhere else: DELETE of an item that is called
// .. would delete what it is in.
func TestPathsWithDots(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session()
	for _, at := range []string{"/queue/..", "/queue/%2e%2e", "/./turns", "//turns", "/queue/x%00", "/queue/%ff"} {
		for _, method := range []string{"GET", "DELETE"} {
			f.send(method+" /v1/sessions/"+s.ID+at+" HTTP/1.1\r\nContent-Length: 0", "").problem(422, terret.CodeInvalidRequest, "url")
		}
	}
	f.do("GET", "/v1/sessions/"+s.ID, nil).want(200, nil)
}

// TestEmptyBlocks holds that blocks can be as empty as a prompt.
func TestEmptyBlocks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	at := "/v1/sessions/" + f.session().ID + "/turns"
	f.do("POST", at, `{"blocks":[{"type":"text"},{"type":"text","text":" \n"}]}`).problem(422, terret.CodeInvalidRequest, "prompt")
	f.do("POST", at, `{"blocks":[{"type":"text"},{"type":"text","text":"hi"}]}`).want(202, nil)
}

// TestNullIsNothing holds that null means the same as a field that is missing.
func TestNullIsNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}))
	prompter := f.holding("prompter", access.Prompt, "")
	var s terret.Session
	prompter.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "mcp": nil, "agents": nil, "output_schema": nil}).want(201, &s)
	f.prompt(s.ID, "list")
	var r terret.Request
	f.do("POST", "/v1/decisions/"+f.wait(s.ID, terret.KindPermissionRequest).Expects.RequestID, `{"behavior":"allow","updated_input":null}`).want(200, &r)
	if r.Decision == nil || r.Decision.UpdatedInput != nil {
		t.Errorf("decision %+v", r.Decision)
	}
}

package httpapi_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session(func(b map[string]any) {
		b["title"], b["mode"], b["model"], b["policy"] = "first", "workbench", "m1", "rules"
		b["tools"], b["max_cost_usd"], b["deny"], b["mcp"] = []string{}, 1.5, []string{"Bash(rm *)"}, map[string]any{"x": 1}
		b["on_stale"], b["keep_raw"], b["one_shot"] = "error", true, true
		b["gates"], b["timeouts"] = []string{"stop"}, map[string]int{"stop": 30, "permission": 0}
	})
	want := terret.SessionOptions{
		Tools: []string{}, Deny: []string{"Bash(rm *)"}, MCP: terret.JSON(`{"x":1}`), MaxCostUSD: terret.CostOf(1.5), KeepRaw: true, OnStale: terret.OnStaleError,
		Gates: []terret.Gate{terret.GateStop}, Timeouts: map[terret.Gate]int{terret.GateStop: 30, terret.GatePermission: 0},
	}
	if diff := cmp.Diff(want, s.Options); diff != "" {
		t.Error(diff)
	}
	if s.Title != "first" || s.Agent != "mock" || s.Cwd != f.dir || s.Policy != terret.PolicyRules || !s.OneShot || s.State != terret.SessionPending {
		t.Errorf("session %+v", s)
	}
	var got terret.Session
	f.do("GET", "/v1/sessions/"+s.ID, nil).want(200, &got)
	if diff := cmp.Diff(s, got); diff != "" {
		t.Error(diff)
	}
	f.do("PATCH", "/v1/sessions/"+s.ID, map[string]any{"title": "second", "policy": "ask"}).want(200, &got)
	if got.Title != "second" || got.Policy != terret.PolicyAsk {
		t.Errorf("after the change: %+v", got)
	}
	f.do("DELETE", "/v1/sessions/"+s.ID, nil).want(204, nil)
	f.do("GET", "/v1/sessions/"+s.ID, nil).problem(404, terret.CodeSessionNotFound, "")
	f.do("DELETE", "/v1/sessions/"+s.ID, nil).problem(404, terret.CodeSessionNotFound, "")
}

// TestOversight holds that what an agent cannot be held to is not promised.
func TestOversight(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	drivers := []terret.Driver{mock.New(mock.Script{})} // which asks when it likes to
	loose, err := httpapi.New(httpapi.Config{Engine: f.engine, Store: f.store, Tokens: f.tokens, Roots: []string{f.root}, Drivers: drivers})
	if err != nil {
		t.Fatal(err)
	}
	defer loose.Close()
	f.serve(loose)
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "agent": "mock", "disallowed_tools": []string{"Bash"}}).problem(501, terret.CodeUnsupported, "unenforced")
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "agent": "mock", "deny": []string{"Read(**/.env)"}}).problem(501, terret.CodeUnsupported, "unenforced")
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "agent": "mock", "policy": "deny-unless-allowed"}).problem(501, terret.CodeUnsupported, "unenforced")
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "agent": "mock", "deny": []string{"Bash(rm *)"}, "policy": "ask"}).want(201, nil)
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, "agent": "mock"}).want(201, nil)

	// Whoever may decide can say otherwise, and is told what that means.
	anyway := map[string]any{"cwd": f.dir, "agent": "mock", "disallowed_tools": []string{"Bash"}, "unenforced": true}
	var made httpapi.MadeSession
	f.do("POST", "/v1/sessions", anyway).want(201, &made)
	if made.ID == "" || len(made.Notes) != 1 || !strings.Contains(made.Notes[0], "cannot be held to disallowed_tools") {
		t.Errorf("%+v", made)
	}
	header, secret := f.as("program", access.Prompt, "")
	f.do("POST", "/v1/sessions", anyway, header, secret).problem(403, terret.CodeForbidden, "")
}

func TestListSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sub := filepath.Join(f.root, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	var all []string
	for i := range 5 {
		s := f.session(func(b map[string]any) {
			b["title"] = fmt.Sprintf("zebra%d", i)
			if i == 3 {
				b["cwd"] = sub
			}
		})
		all = append([]string{s.ID}, all...)
	}
	list := func(query string) ([]string, string) {
		var p terret.Page[terret.Session]
		f.do("GET", "/v1/sessions"+query, nil).want(200, &p)
		ids := []string{}
		for _, s := range p.Items {
			ids = append(ids, s.ID)
		}
		return ids, p.Next
	}
	var paged []string
	for cursor := ""; ; {
		ids, next := list("?limit=2&cursor=" + url.QueryEscape(cursor))
		if len(ids) > 2 {
			t.Fatalf("%d sessions on a page of 2", len(ids))
		}
		paged = append(paged, ids...)
		if cursor = next; cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(all, paged); diff != "" {
		t.Errorf("newest first, by pages: %s", diff)
	}
	for query, want := range map[string][]string{
		"?cwd=" + url.QueryEscape(sub): {all[1]},
		"?q=ZEBRA2":                    {all[2]},
		"?agent=mock&state=pending":    all,
		"?state=busy,waiting":          {},
		"?agent=claude":                {},
		"?sort=title":                  {all[4], all[3], all[2], all[1], all[0]},
	} {
		if got, _ := list(query); !cmp.Equal(want, got) {
			t.Errorf("%s: %s", query, cmp.Diff(want, got))
		}
	}
}

func TestDeleteBusy(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Text: "hm"}, mock.Step{Hang: true}))
	s := f.session()
	f.prompt(s.ID, "hang")
	f.wait(s.ID, "message.complete")
	f.do("DELETE", "/v1/sessions/"+s.ID, nil).problem(409, terret.CodeSessionBusy, "")
	f.do("DELETE", "/v1/sessions/"+s.ID+"?force=false", nil).problem(409, terret.CodeSessionBusy, "")
	f.do("DELETE", "/v1/sessions/"+s.ID+"?force=true", nil).want(204, nil)
	f.do("GET", "/v1/sessions/"+s.ID, nil).problem(404, terret.CodeSessionNotFound, "")
}

// TestBadSessions holds that bad input is refused with the name of what is wrong.
func TestBadSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	file := filepath.Join(f.root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", filepath.Join(f.root, "out")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		body   any
		status int
		kind   terret.ErrorCode
		field  string
	}{
		{"no cwd", map[string]any{}, 422, terret.CodeInvalidRequest, "cwd"},
		{"empty cwd", map[string]any{"cwd": ""}, 422, terret.CodeInvalidRequest, "cwd"},
		{"relative", map[string]any{"cwd": "sub"}, 422, terret.CodeInvalidRequest, "cwd"},
		{"missing folder", map[string]any{"cwd": f.root + "/nothing"}, 422, terret.CodeInvalidRequest, "cwd"},
		{"a file", map[string]any{"cwd": file}, 422, terret.CodeInvalidRequest, "cwd"},
		{"outside", map[string]any{"cwd": "/"}, 403, terret.CodeForbidden, "cwd"},
		{"outside by dots", map[string]any{"cwd": f.root + "/.."}, 403, terret.CodeForbidden, "cwd"},
		{"outside by a link", map[string]any{"cwd": f.root + "/out"}, 403, terret.CodeForbidden, "cwd"},
		{"beside the root", map[string]any{"cwd": f.root + "2"}, 403, terret.CodeForbidden, "cwd"},
		{"terret's own", map[string]any{"cwd": f.home}, 403, terret.CodeForbidden, "cwd"},
		{"add_dirs outside", map[string]any{"cwd": f.root, "add_dirs": []string{"/etc"}}, 403, terret.CodeForbidden, "add_dirs"},
		{"unknown field", map[string]any{"cwd": f.root, "source": "user"}, 422, terret.CodeInvalidRequest, "source"},
		{"policy", map[string]any{"cwd": f.root, "policy": "yolo"}, 422, terret.CodeInvalidRequest, "policy"},
		{"mode", map[string]any{"cwd": f.root, "mode": "x"}, 422, terret.CodeInvalidRequest, "mode"},
		{"model is a flag", map[string]any{"cwd": f.root, "model": "--dangerous"}, 422, terret.CodeInvalidRequest, "model"},
		{"native id is a flag", map[string]any{"cwd": f.root, "native_id": "-r"}, 422, terret.CodeInvalidRequest, "native_id"},
		{"newline in effort", map[string]any{"cwd": f.root, "effort": "a\nb"}, 422, terret.CodeInvalidRequest, "effort"},
		{"tool is a flag", map[string]any{"cwd": f.root, "tools": []string{"Read", "--x"}}, 422, terret.CodeInvalidRequest, "tools"},
		{"tools is text", map[string]any{"cwd": f.root, "tools": "Read"}, 422, terret.CodeInvalidRequest, "tools"},
		{"rule", map[string]any{"cwd": f.root, "allow": []string{"Bash("}}, 422, terret.CodeInvalidRequest, "allow"},
		{"less than no turns", map[string]any{"cwd": f.root, "max_turns": -1}, 422, terret.CodeInvalidRequest, "max_turns"},
		{"turns as text", map[string]any{"cwd": f.root, "max_turns": "3"}, 422, terret.CodeInvalidRequest, "max_turns"},
		{"agent", map[string]any{"cwd": f.root, "agent": "nobody"}, 503, terret.CodeAgentNotFound, ""},
		{"persona", map[string]any{"cwd": f.root, "persona": "NOBODY"}, 422, terret.CodeInvalidRequest, "persona"},
		{"persona elsewhere", map[string]any{"cwd": f.root, "persona": "../../etc/passwd"}, 422, terret.CodeInvalidRequest, "persona"},
		{"unknown gate", map[string]any{"cwd": f.root, "gates": []string{"stop", "stopp"}}, 422, terret.CodeInvalidRequest, "gates"},
		{"a gate that always waits", map[string]any{"cwd": f.root, "gates": []string{"permission"}}, 422, terret.CodeInvalidRequest, "gates"},
		{"time limit of an unknown gate", map[string]any{"cwd": f.root, "timeouts": map[string]int{"stopp": 1}}, 422, terret.CodeInvalidRequest, "timeouts"},
		{"negative time limit", map[string]any{"cwd": f.root, "timeouts": map[string]int{"stop": -1}}, 422, terret.CodeInvalidRequest, "timeouts"},
		{"not JSON", "{", 400, terret.CodeInvalidRequest, ""},
		{"a list", "[]", 422, terret.CodeInvalidRequest, ""},
		{"nothing", "", 400, terret.CodeInvalidRequest, ""},
		{"null", "null", 422, terret.CodeInvalidRequest, ""},
		{"too long a name", map[string]any{"cwd": f.root, "model": strings.Repeat("x", 10_000)}, 413, terret.CodeInvalidRequest, "model"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := f.do("POST", "/v1/sessions", c.body)
			a.t = t
			a.problem(c.status, c.kind, c.field)
		})
	}
	var p terret.Page[terret.Session]
	if f.do("GET", "/v1/sessions", nil).want(200, &p); len(p.Items) != 0 {
		t.Errorf("sessions were made: %+v", p.Items)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limits(httpapi.Limits{Body: 4096, Prompt: 100, Attachment: 50, Sessions: 3, Working: 1, Streams: 2}),
		script(mock.Step{Text: "hm"}, mock.Step{Hang: true}))
	s, other := f.session(), f.session()
	turns := "/v1/sessions/" + s.ID + "/turns"
	f.do("POST", turns, map[string]any{"prompt": strings.Repeat("x", 5000)}).problem(413, terret.CodeInvalidRequest, "")
	f.do("POST", turns, map[string]any{"prompt": strings.Repeat("x", 101)}).problem(413, terret.CodeInvalidRequest, "prompt")
	image := map[string]any{"type": "image", "media_type": "image/png", "bytes": make([]byte, 51)}
	f.do("POST", turns, map[string]any{"blocks": []any{image}}).problem(413, terret.CodeInvalidRequest, "blocks")

	f.session()
	if p := f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir}).problem(429, terret.CodeRateLimited, ""); !p.Retryable {
		t.Error("it does not say that it can be tried again")
	}
	f.prompt(s.ID, "hang")
	f.do("POST", "/v1/sessions/"+other.ID+"/turns", map[string]any{"prompt": "hang"}).problem(429, terret.CodeRateLimited, "")

	open := 0
	for range f.events("/v1/sessions/" + s.ID + "/events") {
		open++
		for range f.events("/v1/events") {
			open++
			f.do("GET", "/v1/events", nil).problem(429, terret.CodeRateLimited, "")
			break
		}
		break
	}
	if open != 2 {
		t.Errorf("%d streams were open", open)
	}
	// A turn that could not be watched is not started.
	none := newFixture(t, limits(httpapi.Limits{Streams: -1}), claude())
	s = none.session(func(b map[string]any) { b["agent"] = "claude" })
	none.do("POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "x"}, "Accept", "text/event-stream").problem(429, terret.CodeRateLimited, "")
	none.do("POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": "x"}).problem(429, terret.CodeRateLimited, "")
	none.do("GET", "/v1/sessions/"+s.ID+"/export", nil).problem(429, terret.CodeRateLimited, "")
	var p terret.Page[terret.Turn]
	if none.do("GET", "/v1/sessions/"+s.ID+"/turns", nil).want(200, &p); len(p.Items) != 0 {
		t.Errorf("turns %+v", p.Items)
	}
}

package httpapi_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

func (f *fixture) holding(name string, scope access.Scope, session string) *fixture {
	f.t.Helper()
	secret, _, err := f.tokens.Create(f.t.Context(), access.Spec{Name: name, Scope: scope, Session: session})
	if err != nil {
		f.t.Fatal(err)
	}
	other := *f
	other.token = secret
	return &other
}

// TestScopes holds that each scope permits what it says and no more.
func TestScopes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, script(mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true}}))
	view, prompt, decide := f.holding("view", access.View, ""), f.holding("prompt", access.Prompt, ""), f.holding("decide", access.Decide, "")
	plain := map[string]any{"cwd": f.dir}
	view.do("POST", "/v1/sessions", plain).problem(403, terret.CodeForbidden, "")
	var s terret.Session
	prompt.do("POST", "/v1/sessions", plain).want(201, &s)

	// Whoever may only prompt cannot decide by making the session less careful.
	for name, v := range map[string]any{
		"policy": "auto-approve", "permission_mode": "bypassPermissions", "auto_approve_tools": []string{"Bash"}, "allow": []string{"Bash"}, "timeouts": map[string]int{"stop": 1},
		"mcp": map[string]any{"x": map[string]any{"command": "evil"}}, "agents": map[string]any{"x": 1},
	} {
		prompt.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, name: v}).problem(403, terret.CodeForbidden, "")
		decide.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, name: v}).want(201, nil)
	}
	at := "/v1/sessions/" + s.ID
	for _, options := range []map[string]any{{"auto_approve_tools": []string{"Bash"}}, {"auto_approve_tools_override": []string{"Bash"}}, {"permission_mode": "acceptEdits"}, {"tools_override": []string{"default"}}, {"disallowed_tools_override": []string{}}} {
		prompt.do("POST", at+"/turns", map[string]any{"prompt": "x", "options": options}).problem(403, terret.CodeForbidden, "")
	}
	prompt.do("PATCH", at, map[string]any{"policy": "auto-approve"}).problem(403, terret.CodeForbidden, "")
	prompt.do("PATCH", at, map[string]any{"permission_mode": "bypassPermissions"}).problem(403, terret.CodeForbidden, "")
	prompt.do("PATCH", at, map[string]any{"title": "mine"}).want(200, nil)

	prompt.prompt(s.ID, "go")
	start := view.wait(s.ID, "turn.start")
	if start.By != "prompt" {
		t.Errorf("prompted by %q", start.By)
	}
	r := view.wait(s.ID, "permission.request").Expects.RequestID
	allow := map[string]any{"behavior": "allow"}
	view.do("POST", "/v1/decisions/"+r, allow).problem(403, terret.CodeForbidden, "")
	prompt.do("POST", "/v1/decisions/"+r, allow).problem(403, terret.CodeForbidden, "")
	var got terret.Request
	decide.do("POST", "/v1/decisions/"+r, allow).want(200, &got)
	if got.Decision.By != "decide" {
		t.Errorf("decided by %q", got.Decision.By)
	}
	for _, c := range [][2]string{{"GET", "/v1/tokens"}, {"DELETE", "/v1/tokens/view"}, {"DELETE", "/v1/tokens?name=view"}, {"GET", "/v1/trust/folders"}, {"GET", "/v1/notify"}, {"DELETE", "/v1/trust?folder=x"}} {
		decide.do(c[0], c[1], nil).problem(403, terret.CodeForbidden, "")
	}
	decide.do("PUT", "/v1/rules", map[string]any{"items": []any{}}).problem(403, terret.CodeForbidden, "")
	decide.do("PUT", "/v1/notify", map[string]any{"channels": []any{}}).problem(403, terret.CodeForbidden, "")
	decide.do("POST", "/v1/notify/test", map[string]any{"id": "x"}).problem(403, terret.CodeForbidden, "")
	decide.do("POST", "/v1/tokens", map[string]any{"name": "x", "scope": "admin"}).problem(403, terret.CodeForbidden, "")
	decide.do("POST", "/v1/signin/links", map[string]any{"origin": "https://terret.example"}).problem(403, terret.CodeForbidden, "")
}

// TestOneSession holds that a token for one session sees nothing of others.
func TestOneSession(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.session(), f.session()
	f.prompt(theirs.ID, "secret")
	f.wait(theirs.ID, "turn.complete")
	f.prompt(mine.ID, "open")
	f.wait(mine.ID, "turn.complete")
	g := f.holding("guest", access.Decide, mine.ID)
	var p terret.Page[terret.Session]
	g.do("GET", "/v1/sessions", nil).want(200, &p)
	if len(p.Items) != 1 || p.Items[0].ID != mine.ID {
		t.Errorf("sessions %+v", p.Items)
	}
	lines := g.do("GET", "/v1/events", nil, "Accept", "application/x-ndjson").want(200, nil).body
	if strings.Contains(string(lines), theirs.ID) || !strings.Contains(string(lines), mine.ID) {
		t.Errorf("events %s", lines)
	}
	for _, path := range []string{
		"/v1/sessions/" + theirs.ID, "/v1/sessions/" + theirs.ID + "/events", "/v1/sessions/" + theirs.ID + "/export", "/v1/events?sessions=" + theirs.ID,
		"/v1/files?session=" + theirs.ID, "/v1/decisions?session=" + theirs.ID, "/v1/roots", "/v1/usage", "/metrics", "/v1/personas?cwd=" + f.dir, "/v1/trust?cwd=" + f.dir,
		"/v1/dirs?path=" + f.dir, "/api/harness/session/" + theirs.ID,
	} {
		g.do("GET", path, nil).problem(403, terret.CodeForbidden, "")
	}
	g.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir}).problem(403, terret.CodeForbidden, "")
	g.do("POST", "/api/harness/session/create", map[string]any{"projectRoot": f.dir, "mode": "direct"}).problem(403, terret.CodeForbidden, "")
	g.do("POST", "/v1/sessions/"+theirs.ID+"/turns", map[string]any{"prompt": "x"}).problem(403, terret.CodeForbidden, "")
	g.do("POST", "/api/harness/turn", map[string]any{"sessionId": theirs.ID, "message": "x"}).problem(403, terret.CodeForbidden, "")
	g.prompt(mine.ID, "fine")
}

// TestElsewhere holds that sessions of other programs, in folders that this server
// may not work in, can be seen but neither worked in nor looked into.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s, err := f.engine.Create(t.Context(), terret.Session{Agent: "mock", Cwd: t.TempDir(), Mode: terret.ModeDirect})
	if err != nil {
		t.Fatal(err)
	}
	at := "/v1/sessions/" + s.ID
	f.do("GET", at, nil).want(200, nil)
	f.do("GET", at+"/turns", nil).want(200, nil)
	for _, c := range []struct {
		method, path string
		body         any
	}{
		{"POST", at + "/turns", map[string]any{"prompt": "x"}},
		{"POST", at + "/commands", map[string]any{"name": "x"}},
		{"POST", at + "/compact", nil},
		{"POST", at + "/undo", nil},
		{"POST", at + "/changes/take-back", map[string]any{"path": "a", "state": "x"}},
		{"POST", at + "/commit", map[string]any{"message": "x", "files": []any{map[string]any{"path": "a", "state": "x"}}}},
		{"GET", at + "/branch", nil},
		{"POST", at + "/push", nil},
		{"GET", at + "/pull-request", nil},
		{"POST", at + "/pull-request", map[string]any{"title": "x"}},
		{"POST", at + "/worktree/merge", nil},
		{"POST", at + "/worktree/discard", nil},
		{"POST", at + "/fork", nil},
		{"POST", at + "/handoff", map[string]any{"agent": "mock"}},
		{"PATCH", at + "/queue/trn_x", map[string]any{"before": "end"}},
		{"POST", at + "/queue/send", map[string]any{}},
		{"GET", at + "/changes", nil},
		{"GET", "/v1/files?session=" + s.ID, nil},
	} {
		f.do(c.method, c.path, c.body).problem(403, terret.CodeForbidden, "cwd")
	}
	f.do("POST", "/api/harness/turn", map[string]any{"sessionId": s.ID, "message": "x"}).problem(403, terret.CodeForbidden, "projectRoot")
	f.do("DELETE", at, nil).want(204, nil)
}

// TestHiddenOptions holds that what may hold secrets is not for viewers.
func TestHiddenOptions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	s := f.session(func(b map[string]any) {
		b["mcp"] = map[string]any{"x": map[string]any{"env": map[string]any{"KEY": "canary"}}}
	})
	if len(s.Options.MCP) == 0 {
		t.Error("whoever made it does not see it")
	}
	view := f.holding("view", access.View, "")
	for _, path := range []string{"/v1/sessions", "/v1/sessions/" + s.ID, "/v1/sessions/" + s.ID + "/export", "/v1/events"} {
		if a := view.do("GET", path, nil, "Accept", "application/x-ndjson").want(200, nil); strings.Contains(string(a.body), "canary") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code := f.tokens.NewCode()
	var made struct {
		Token, Name, Scope string
		Device             bool
	}
	f.do("POST", "/v1/signin", map[string]any{"code": code, "device": "phone"}, "Authorization", "").want(201, &made)
	if made.Name != "phone" || made.Scope != "admin" || !made.Device || made.Token == "" {
		t.Errorf("made %+v", made)
	}
	f.do("POST", "/v1/signin", map[string]any{"code": code}, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
	phone := *f
	phone.token = made.Token
	var me access.Identity
	phone.do("GET", "/v1/me", nil).want(200, &me)
	if me.Name != "phone" || me.Scope != access.Admin {
		t.Errorf("me %+v", me)
	}
	var list terret.Page[access.Token]
	f.do("GET", "/v1/tokens", nil).want(200, &list)
	if len(list.Items) != 1 || list.Items[0].Name != "phone" {
		t.Errorf("tokens %+v", list.Items)
	}
	var guest struct{ Token string }
	f.do("POST", "/v1/tokens", map[string]any{"name": "guest", "scope": "view", "seconds": 60}).want(201, &guest)
	f.do("POST", "/v1/tokens", map[string]any{"name": "guest", "scope": "view"}).problem(409, terret.CodeConflict, "")
	f.do("POST", "/v1/tokens", map[string]any{"name": "x", "scope": "root"}).problem(422, terret.CodeInvalidRequest, "scope")
	f.do("POST", "/v1/tokens", map[string]any{"name": "admin", "scope": "view"}).problem(422, terret.CodeInvalidRequest, "name")
	f.do("DELETE", "/v1/tokens/guest", nil).want(204, nil)
	f.do("DELETE", "/v1/tokens?name=guest", nil).problem(404, terret.CodeNotFound, "")
	phone.token = guest.Token
	phone.do("GET", "/v1/me", nil).problem(401, terret.CodeUnauthorized, "")
	for range 20 {
		if a := f.do("GET", "/v1/me", nil, "Authorization", "Bearer wrong"); a.status == 429 {
			if a.header.Get("Retry-After") == "" {
				t.Error("it does not say when to try again")
			}
			return
		}
	}
	t.Error("wrong tokens can be tried for ever")
}

func TestPlainRoutes(t *testing.T) {
	t.Parallel()
	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/panic" {
			panic("a mistake")
		}
		_, _ = w.Write([]byte("page " + r.URL.Path))
	})
	f := newFixture(t, func(c *httpapi.Config, _ *engine.Config) { c.Web = web })
	for _, path := range []string{"/healthz", "/readyz"} {
		f.do("GET", path, nil, "Authorization", "").want(200, nil)
		f.do("GET", path, nil, "Host", "evil.example").problem(403, terret.CodeForbidden, "")
		f.do("POST", path, nil, "Authorization", "").problem(405, terret.CodeInvalidRequest, "")
	}
	if got := f.do("GET", "/some/page", nil, "Authorization", "").want(200, nil); string(got.body) != "page /some/page" {
		t.Errorf("web %s", got.body)
	}
	f.do("GET", "/panic", nil, "Authorization", "").problem(500, terret.CodeInternal, "")
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1/sessions/x/y/z", "/api", "/api/harness/nothing"} {
		f.do("GET", path, nil, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
		f.do("GET", path, nil).problem(404, terret.CodeNotFound, "")
	}
	a := f.do("PUT", "/v1/sessions", nil)
	a.problem(405, terret.CodeInvalidRequest, "")
	if got := a.header.Get("Allow"); got != "GET, POST" {
		t.Errorf("allow %q", got)
	}
	f.do("GET", "/metrics", nil, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
	metrics := string(f.do("GET", "/metrics", nil).want(200, nil).body)
	for _, want := range []string{
		`terret_http_requests_total{method="GET",route="/healthz",code="200"} 1`, "# TYPE terret_streams gauge", "terret_open_requests 0",
		`terret_http_requests_total{method="",route="other",code=`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
	if strings.Contains(metrics, "nothing") {
		t.Error("a path that anybody can make up became a label")
	}
	for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "X-Frame-Options"} {
		if a.header.Get(name) == "" {
			t.Errorf("no header %s", name)
		}
	}
}

// TestStop holds that a server that is told to stop lets turns end, takes no new
// ones, interrupts what does not end, and tells its readers how it went.
func TestStop(t *testing.T) {
	t.Parallel()
	g := make(gate)
	f := newFixture(t, limits(httpapi.Limits{Drain: 1}), func(_ *httpapi.Config, e *engine.Config) {
		e.Drivers = []terret.Driver{mock.NewFunc("mock", func(s terret.Session) mock.Script {
			if s.Title == "hang" {
				return mock.Script{Turns: [][]mock.Step{{{Text: "hm"}, {Hang: true}}}}
			}
			return mock.Script{Turns: [][]mock.Step{{{Text: "hm"}, g.step()}}}
		})}
	})
	s := f.session(func(b map[string]any) { b["title"] = "hang" })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(ctx, l) }()
	f2 := *f
	f2.url, f2.client = "http://"+l.Addr().String(), &http.Client{Transport: &http.Transport{}}
	defer f2.client.CloseIdleConnections()
	f2.prompt(s.ID, "hang")
	end := ""
	for ev, err := range f2.events("/v1/sessions/" + s.ID + "/events") {
		if err != nil {
			break
		}
		if ev.Name == "message.complete" {
			stop()
		}
		if ev.Name == "turn.error" {
			var e terret.Event
			if err := json.Unmarshal(ev.Data, &e); err != nil {
				t.Fatal(err)
			}
			end = string(e.Data.(terret.TurnError).Error.Code)
		}
	}
	if end != string(terret.CodeInterrupted) {
		t.Errorf("the reader saw the turn end with %q", end)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	// The handler of the other server, which shares the engine.
	f.do("GET", "/readyz", nil).problem(503, terret.CodeStartupRefused, "")
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir}).problem(503, terret.CodeStartupRefused, "")
	f.do("POST", "/v1/sessions/"+s.ID+"/turns", map[string]any{"prompt": "x"}).problem(503, terret.CodeStartupRefused, "")
	f.do("GET", "/healthz", nil).want(200, nil)
}

func TestSignInLink(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var link httpapi.SignInLink
	for _, bad := range []string{"", "terret.example", "ftp://x", "https://ann@x", "https://x/", "https://x?y", "https://x#y", "https://" + strings.Repeat("x", 600)} {
		if a := f.do("POST", "/v1/signin/links", map[string]any{"origin": bad}); a.status != 422 {
			t.Errorf("%q: %d %s", bad, a.status, a.body)
		}
	}
	f.do("POST", "/v1/signin/links", map[string]any{"origin": "https://terret.example:8443", "scope": "decide"}).want(201, &link)
	code, ok := strings.CutPrefix(link.URL, "https://terret.example:8443/#code=")
	if left := time.Until(link.ExpiresAt.Time); !ok || left <= 0 || left > 10*time.Minute {
		t.Errorf("%s, for %s", link.URL, left)
	}
	if n := len(link.QR); n < 21 || len(link.QR[n-1]) != n || !strings.HasPrefix(link.QR[0], "11111110") || strings.Trim(strings.Join(link.QR, ""), "01") != "" {
		t.Errorf("no QR code: %q", link.QR)
	}
	var made access.Token
	f.do("POST", "/v1/signin", map[string]any{"code": code, "device": "phone"}, "Authorization", "").want(201, &made)
	if made.Scope != access.Decide || !made.Device {
		t.Errorf("made %+v", made)
	}
	f.do("POST", "/v1/signin", map[string]any{"code": code}, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
}

package httpapi_test

// The lines of the security checklist that need the whole server.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/access"
	"github.com/terret-dev/terret/internal/guard"
	"github.com/terret-dev/terret/internal/httpapi"
)

// as returns the header of a new token.
func (f *fixture) as(name string, scope access.Scope, session string) (header, value string) {
	f.t.Helper()
	secret, _, err := f.tokens.Create(f.t.Context(), access.Spec{Name: name, Scope: scope, Session: session})
	if err != nil {
		f.t.Fatal(err)
	}
	return "Authorization", "Bearer " + secret
}

// place is a route with something in its path.
type place struct {
	method, path string
	scope        access.Scope // empty: it needs no token
	stream       bool         // what it answers does not end
}

// places are all routes, those of the description and those beside it, for a
// session.
func (f *fixture) places(session string) []place {
	f.t.Helper()
	var spec struct {
		Paths map[string]map[string]struct {
			Scope     access.Scope `json:"x-scope"`
			Responses map[string]struct{ Content map[string]any }
		}
	}
	text, err := httpapi.Describe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		f.t.Fatal(err)
	}
	fill := strings.NewReplacer("{id}", session, "{request}", terret.NewID(terret.PrefixRequest), "{turn}", terret.NewID(terret.PrefixTurn), "{agent}", "mock", "{name}", "x")
	list := []place{
		{method: "GET", path: "/healthz"},
		{method: "GET", path: "/readyz"},
		{method: "GET", path: "/"},
		{method: "GET", path: "/assets/app.js"},
		{method: "GET", path: "/openapi.json", scope: access.View},
		{method: "GET", path: "/metrics", scope: access.View},
		{method: "POST", path: "/api/harness/session/create", scope: access.Prompt},
		{method: "GET", path: "/api/harness/session/list", scope: access.View},
		{method: "GET", path: "/api/harness/session/" + session, scope: access.View},
		{method: "DELETE", path: "/api/harness/session/" + session, scope: access.Prompt},
		{method: "POST", path: "/api/harness/turn", scope: access.Prompt},
		{method: "POST", path: "/api/harness/interrupt", scope: access.Prompt},
		{method: "GET", path: "/v1", scope: access.View},
		{method: "GET", path: "/v1/nowhere", scope: access.View},
		{method: "GET", path: "/api/", scope: access.View},
	}
	for path, methods := range spec.Paths {
		for method, op := range methods {
			_, stream := op.Responses["200"].Content["text/event-stream"]
			list = append(list, place{strings.ToUpper(method), fill.Replace(path), op.Scope, stream})
		}
	}
	if len(list) < 50 {
		f.t.Fatalf("only %d routes", len(list))
	}
	slices.SortFunc(list, func(a, b place) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return list
}

func (p place) body() any {
	if p.method == "GET" || p.method == "DELETE" {
		return nil
	}
	return "{}"
}

// status sends a request to a place and returns what it is answered with.
func (f *fixture) status(p place, header ...string) int {
	f.t.Helper()
	return f.do(p.method, p.path, p.body(), header...).status
}

func TestSecurityEveryRouteChecksTheHost(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, p := range f.places(f.session().ID) {
		for _, host := range []string{"evil.example", "localhost.evil.example:7433", "0.0.0.0:7433"} {
			if got := f.status(p, "Host", host); got != http.StatusForbidden {
				t.Errorf("%s %s of %s: %d", p.method, p.path, host, got)
			}
		}
	}
}

func TestSecurityEveryRouteChecksTheOrigin(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, p := range f.places(f.session().ID) {
		for _, header := range [][]string{
			{"Origin", "http://evil.example"},
			{"Origin", "null"},
			{"Origin", "http://127.0.0.1:1"},
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
			{"Origin", "http://evil.example", "Upgrade", "websocket", "Connection", "Upgrade"},
		} {
			answer := f.do(p.method, p.path, p.body(), header...)
			if answer.status != http.StatusForbidden {
				t.Errorf("%s %s with %q: %d", p.method, p.path, header, answer.status)
			}
			if answer.header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s %s allows an origin", p.method, p.path)
			}
		}
		if got := f.do("OPTIONS", p.path, nil, "Origin", "http://evil.example", "Access-Control-Request-Method", p.method).status; got != http.StatusForbidden {
			t.Errorf("OPTIONS %s: %d", p.path, got)
		}
	}
}

func TestSecurityEveryRouteNeedsAToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, p := range f.places(f.session().ID) {
		if p.scope == "" {
			continue
		}
		if got := f.status(p, "Authorization", ""); got != http.StatusUnauthorized {
			t.Errorf("%s %s without a token: %d", p.method, p.path, got)
		}
		if got := f.status(p, "Authorization", "", "Cookie", "token="+f.token); got != http.StatusUnauthorized {
			t.Errorf("%s %s with a cookie: %d", p.method, p.path, got)
		}
		p.path += "?token=" + f.token + "&access_token=" + f.token
		if got := f.status(p, "Authorization", ""); got != http.StatusUnauthorized {
			t.Errorf("%s %s with a token in the URL: %d", p.method, p.path, got)
		}
	}
	limited := false
	for range 20 {
		answer := f.do("GET", "/v1/sessions", nil, "Authorization", "Bearer wrong")
		if answer.status == http.StatusTooManyRequests {
			limited = true
			if answer.header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
		} else if answer.status != http.StatusUnauthorized {
			t.Errorf("a wrong token: %d", answer.status)
		}
	}
	if !limited {
		t.Error("wrong tokens are not limited")
	}
	f.do("GET", "/v1/sessions", nil).want(http.StatusOK, nil)
}

func TestSecurityOnlyJSONBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, p := range f.places(f.session().ID) {
		if p.body() == nil || p.path == "/v1/sessions/import" {
			continue
		}
		for _, media := range []string{"text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"} {
			if got := f.status(p, "Content-Type", media); got != http.StatusUnsupportedMediaType {
				t.Errorf("%s %s of %s: %d", p.method, p.path, media, got)
			}
		}
	}
}

// Every route asks for its scope, and refuses before it looks at what it is given.
func TestSecurityEveryRouteChecksItsScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	session := f.session().ID
	scopes := []access.Scope{access.View, access.Prompt, access.Decide}
	for i, scope := range scopes {
		name, value := f.as(string(scope), scope, "")
		for _, p := range f.places(session) {
			if p.scope == "" || slices.Contains(scopes[:i+1], p.scope) || p.path == "/v1" || p.path == "/api/" {
				continue
			}
			// Input that is no good is refused before the scope is looked at, with
			// 422; nothing is done either way.
			if got := f.status(p, name, value); got != http.StatusForbidden && got != http.StatusUnprocessableEntity {
				t.Errorf("%s %s with %s: %d", p.method, p.path, scope, got)
			}
		}
	}
	f.do("GET", "/v1/sessions/"+session, nil).want(http.StatusOK, nil)
}

// asking is a session with an open request.
func asking(t *testing.T, options ...option) (f *fixture, session, request string) {
	t.Helper()
	f = newFixture(t, append([]option{script(
		mock.Step{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`), Ask: true, Result: "a.go"}},
		mock.Step{Text: "Done."},
	)}, options...)...)
	session = f.session().ID
	f.prompt(session, "go on")
	f.wait(session, "permission.request")
	var open terret.Page[terret.Request]
	f.do("GET", "/v1/decisions", nil).want(http.StatusOK, &open)
	if len(open.Items) != 1 {
		t.Fatalf("%d open requests", len(open.Items))
	}
	return f, session, "/v1/decisions/" + open.Items[0].RequestID
}

func TestSecurityWhoMayAnswer(t *testing.T) {
	t.Parallel()
	f, session, request := asking(t)
	other := f.session().ID
	allow := map[string]any{"behavior": "allow"}
	for name, c := range map[string]struct {
		scope   access.Scope
		session string
		want    int
	}{
		"viewer":                   {access.View, "", 403},
		"prompter":                 {access.Prompt, "", 403},
		"viewer of it":             {access.View, session, 403},
		"prompter of it":           {access.Prompt, session, 403},
		"decider of another":       {access.Decide, other, 404},
		"decider of it, for ever":  {access.Decide, session, 403},
		"decider of a third, ever": {access.Decide, other, 404},
		"decider of all, for ever": {access.Decide, "", 403},
	} {
		header, value := f.as(name, c.scope, c.session)
		body := map[string]any{"behavior": "allow"}
		if strings.Contains(name, "ever") {
			body["scope"] = "always"
		}
		if got := f.do("POST", request, body, header, value).status; got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	header, value := f.as("phone", access.Decide, session)
	var decided terret.Request
	f.do("POST", request, allow, header, value).want(http.StatusOK, &decided)
	if decided.Decision == nil || decided.Decision.By != "phone" {
		t.Errorf("decided by %+v", decided.Decision)
	}
}

// Whoever may only prompt cannot make a session that asks nobody.
func TestSecurityPromptCannotWiden(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	header, value := f.as("ci", access.Prompt, "")
	var own terret.Session
	f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir}, header, value).want(http.StatusCreated, &own)
	for field, v := range map[string]any{
		"policy": "auto-approve", "permission_mode": "bypassPermissions", "allow": []string{"Bash"}, "auto_approve_tools": []string{"Bash"},
		"mcp": map[string]any{"x": map[string]any{"command": "sh"}},
	} {
		if got := f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, field: v}, header, value).status; got != http.StatusForbidden {
			t.Errorf("a session with %s %v: %d", field, v, got)
		}
	}
	for field, v := range map[string]any{"policy": "auto-approve", "permission_mode": "bypassPermissions"} {
		if got := f.do("PATCH", "/v1/sessions/"+own.ID, map[string]any{field: v}, header, value).status; got != http.StatusForbidden {
			t.Errorf("change %s to %v: %d", field, v, got)
		}
	}
	for field, v := range map[string]any{"permission_mode": "bypassPermissions", "auto_approve_tools": []string{"Bash"}, "auto_approve_tools_override": []string{"Bash"}} {
		if got := f.do("POST", "/v1/sessions/"+own.ID+"/turns", map[string]any{"prompt": "x", "options": map[string]any{field: v}}, header, value).status; got != http.StatusForbidden {
			t.Errorf("a turn with %s %v: %d", field, v, got)
		}
	}
}

// A token of one session sees nothing of another, by any route.
func TestSecurityOneSessionOnly(t *testing.T) {
	t.Parallel()
	f := newFixture(t, turns([]mock.Step{{Text: "one"}}))
	const canary = "canary-of-the-other"
	mine := f.session().ID
	theirs := f.session(func(b map[string]any) { b["title"] = canary }).ID
	for _, id := range []string{mine, theirs} {
		f.prompt(id, "x")
		f.wait(id, "turn.complete")
	}
	header, value := f.as("link", access.View, mine)
	for _, p := range f.places(theirs) {
		if p.scope == "" || !strings.Contains(p.path, theirs) {
			continue
		}
		if got := f.status(p, header, value); got != http.StatusForbidden && got != http.StatusNotFound && got != http.StatusUnprocessableEntity {
			t.Errorf("%s %s: %d", p.method, p.path, got)
		}
	}
	for _, path := range []string{
		"/v1/files?session=" + theirs, "/v1/files/content?path=x&session=" + theirs, "/v1/files/find?q=x&session=" + theirs,
		"/v1/decisions?session=" + theirs, "/v1/rules?session=" + theirs, "/v1/events?sessions=" + theirs, "/v1/events?sessions=" + mine + "," + theirs,
		"/metrics", "/v1/roots", "/v1/dirs?path=" + f.root, "/v1/usage", "/v1/tokens", "/v1/personas?cwd=" + f.dir, "/v1/trust?cwd=" + f.dir,
	} {
		answer := f.do("GET", path, nil, header, value)
		if answer.status < 400 || answer.status >= 500 || strings.Contains(string(answer.body), canary) {
			t.Errorf("GET %s: %d %s", path, answer.status, answer.body)
		}
	}
	for _, path := range []string{"/v1/sessions", "/v1/sessions?q=canary", "/v1/decisions?state=all", "/api/harness/session/list", "/v1/sessions?limit=1000", "/v1/me"} {
		answer := f.do("GET", path, nil, header, value)
		answer.want(http.StatusOK, nil)
		if body := string(answer.body); strings.Contains(body, theirs) || strings.Contains(body, canary) {
			t.Errorf("GET %s shows the other session: %s", path, body)
		}
	}
	answer := f.do("GET", "/v1/events", nil, header, value, "Accept", "application/x-ndjson")
	if body := string(answer.want(http.StatusOK, nil).body); strings.Contains(body, theirs) || !strings.Contains(body, mine) {
		t.Errorf("the stream of all sessions: %s", body)
	}
	f.do("GET", "/v1/sessions/"+mine, nil, header, value).want(http.StatusOK, nil)
}

// A cursor of another session, or of another server, is an error and never events.
func TestSecurityForeignCursors(t *testing.T) {
	t.Parallel()
	f := newFixture(t, turns([]mock.Step{{Text: "one"}}))
	long, short := f.session().ID, f.session().ID
	f.prompt(long, "x")
	last := f.wait(long, "turn.complete").Seq
	for _, header := range [][]string{{"Last-Event-ID", fmt.Sprint(last)}, {"Last-Event-ID", "x"}, {"Last-Event-ID", "-1"}, {"Last-Event-ID", "99999999999999999999"}} {
		answer := f.do("GET", "/v1/sessions/"+short+"/events", nil, append(header, "Accept", "application/x-ndjson")...)
		if answer.status != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d %s", header, answer.status, answer.body)
		}
	}
	for _, cursor := range []string{"x", "MTAwMA", fmt.Sprint(last), "..", "cG9zOi0x", "cG9zOjk5OTk5OTk5OQ"} {
		if got := f.do("GET", "/v1/events?cursor="+cursor, nil, "Accept", "application/x-ndjson").status; got != http.StatusUnprocessableEntity {
			t.Errorf("cursor %q: %d", cursor, got)
		}
	}
}

func TestSecurityPaths(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	outside := t.TempDir()
	for path, content := range map[string]string{filepath.Join(outside, "secret"): "canary", filepath.Join(f.dir, "fine"): "fine"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"out": outside, "home": f.home, "up": ".."} {
		if err := os.Symlink(target, filepath.Join(f.dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, cwd := range []string{outside, filepath.Join(f.dir, "out"), filepath.Join(f.dir, "home"), filepath.Join(f.dir, "up"), f.dir + "/../" + filepath.Base(outside), "/", "/proc/self/cwd", ".", "", "~", f.dir + "\x00", f.home} {
		for _, body := range []map[string]any{{"cwd": cwd}, {"cwd": f.dir, "add_dirs": []string{cwd}}} {
			if answer := f.do("POST", "/v1/sessions", body); answer.status != http.StatusForbidden && answer.status != http.StatusUnprocessableEntity {
				t.Errorf("a session with %q: %d %s", body, answer.status, answer.body)
			}
		}
		if answer := f.do("GET", "/v1/dirs?path="+escape(cwd), nil); answer.status < 400 || answer.status >= 500 {
			t.Errorf("dirs of %q: %d %s", cwd, answer.status, answer.body)
		}
	}
	id := f.session().ID
	for _, path := range []string{"../" + filepath.Base(outside) + "/secret", outside + "/secret", "out/secret", "home/token", "up/x", "fine\x00", "/etc/passwd", "/proc/self/environ"} {
		for _, route := range []string{"/v1/files/content", "/v1/files"} {
			answer := f.do("GET", route+"?session="+id+"&path="+escape(path), nil)
			if answer.status < 400 || answer.status >= 500 || strings.Contains(string(answer.body), "canary") || strings.Contains(string(answer.body), f.token) {
				t.Errorf("%s of %q: %d %s", route, path, answer.status, answer.body)
			}
		}
	}
	f.do("GET", "/v1/files/content?session="+id+"&path=fine", nil).want(http.StatusOK, nil)
}

func escape(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

// Names that could be taken for a flag, or hold control characters, go nowhere.
func TestSecurityNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.session().ID
	for _, bad := range []string{"-x", "--dangerously-skip-permissions", "a\nb", "a\x00b", "\x1b[31m"} {
		for _, field := range []string{"agent", "model", "persona", "permission_mode", "effort", "native_id", "fallback_model"} {
			if got := f.do("POST", "/v1/sessions", map[string]any{"cwd": f.dir, field: bad}).status; got != http.StatusUnprocessableEntity {
				t.Errorf("a session with %s %q: %d", field, bad, got)
			}
		}
		for _, body := range []map[string]any{{"model": bad}, {"permission_mode": bad}} {
			if got := f.do("PATCH", "/v1/sessions/"+id, body).status; got != http.StatusUnprocessableEntity {
				t.Errorf("change to %q: %d", body, got)
			}
		}
		for _, body := range []map[string]any{{"prompt": "x", "message_id": bad}, {"prompt": "x", "options": map[string]any{"model": bad}}, {"prompt": "x", "options": map[string]any{"tools": []string{bad}}}} {
			if got := f.do("POST", "/v1/sessions/"+id+"/turns", body).status; got != http.StatusUnprocessableEntity {
				t.Errorf("a turn of %q: %d", body, got)
			}
		}
	}
	for _, bad := range []string{"-x", "..", "%2e%2e", "x", "%00", "*", strings.Repeat("0", 5000)} {
		if answer := f.do("GET", "/v1/sessions/"+bad, nil); answer.status < 400 || answer.status >= 500 {
			t.Errorf("session %.20q: %d", bad, answer.status)
		}
	}
}

func TestSecurityOneAnswerWins(t *testing.T) {
	t.Parallel()
	f, _, request := asking(t)
	var won, late atomic.Int32
	var wait sync.WaitGroup
	for i := range 8 {
		behavior := []string{"allow", "deny"}[i%2]
		wait.Go(func() {
			switch f.do("POST", request, map[string]any{"behavior": behavior}).status {
			case http.StatusOK:
				won.Add(1)
			case http.StatusConflict:
				late.Add(1)
			}
		})
	}
	wait.Wait()
	if won.Load() != 1 || late.Load() != 7 {
		t.Errorf("%d answers won, %d came late", won.Load(), late.Load())
	}
}

// A decision for another input than the one that was seen is none.
func TestSecurityDecisionsAreBoundToTheInput(t *testing.T) {
	t.Parallel()
	f, _, request := asking(t)
	if got := f.do("POST", request, map[string]any{"behavior": "allow", "input_hash": "0000"}).status; got < 400 || got >= 500 {
		t.Errorf("another input: %d", got)
	}
	f.do("POST", request, map[string]any{"behavior": "deny"}).want(http.StatusOK, nil)
}

// A token that was revoked, by whichever process, is refused at once.
func TestSecurityRevocation(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var made struct{ Name, Token string }
	f.do("POST", "/v1/tokens", map[string]any{"name": "x", "scope": "decide"}).want(http.StatusCreated, &made)
	header := []string{"Authorization", "Bearer " + made.Token}
	f.do("GET", "/v1/sessions", nil, header...).want(http.StatusOK, nil)
	list := f.do("GET", "/v1/tokens", nil).want(http.StatusOK, nil)
	if body := string(list.body); strings.Contains(body, made.Token) || strings.Contains(body, "sha256") || !strings.Contains(body, `"last_used_at"`) {
		t.Errorf("the list of tokens: %s", body)
	}
	elsewhere, err := access.Open(f.home)
	if err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Revoke(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	f.do("GET", "/v1/sessions", nil, header...).problem(http.StatusUnauthorized, terret.CodeUnauthorized, "")
}

func TestSecuritySignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	code := f.tokens.NewCode()
	body := map[string]any{"code": code, "device": "phone"}
	var made struct{ Token string }
	f.do("POST", "/v1/signin", body, "Authorization", "").want(http.StatusCreated, &made)
	f.do("GET", "/v1/sessions", nil, "Authorization", "Bearer "+made.Token).want(http.StatusOK, nil)
	f.do("POST", "/v1/signin", body, "Authorization", "").problem(http.StatusUnauthorized, terret.CodeUnauthorized, "")
	last := answer{}
	for range 20 {
		last = f.do("POST", "/v1/signin", body, "Authorization", "")
	}
	last.problem(http.StatusTooManyRequests, terret.CodeRateLimited, "")
	if last.header.Get("Retry-After") == "" {
		t.Error("429 without Retry-After")
	}
	if got := f.do("GET", "/v1/signin?code="+code, nil, "Authorization", "").status; got != http.StatusMethodNotAllowed {
		t.Errorf("a code in the URL: %d", got)
	}
}

// Whoever has no token can make the server hold a few KB, and wrong codes lock nobody
// out.
func TestSecurityWithoutToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	large := map[string]any{"code": strings.Repeat("x", 8<<10)}
	if got := f.do("POST", "/v1/signin", large, "Authorization", "").status; got != http.StatusRequestEntityTooLarge {
		t.Errorf("a large sign-in: %d", got)
	}
	code := f.tokens.NewCode()
	for range 50 {
		f.do("POST", "/v1/signin", map[string]any{"code": "wrong"}, "Authorization", "")
	}
	f.do("POST", "/v1/signin", map[string]any{"code": code}, "Authorization", "").want(http.StatusCreated, nil)
}

func TestSecurityHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *httpapi.Config, _ *engine.Config) {
		c.Web = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	})
	for _, path := range []string{"/", "/index.html", "/healthz", "/v1/sessions", "/v1/nowhere"} {
		h := f.do("GET", path, nil).header
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe-inline'; script") || strings.Contains(csp, "unsafe-eval") {
			t.Errorf("%s: policy %q", path, csp)
		}
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
		if h.Get("Set-Cookie") != "" {
			t.Errorf("%s sets a cookie", path)
		}
	}
}

func TestSecurityBodyLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limits(httpapi.Limits{Body: 2000}))
	id := f.session().ID
	f.do("POST", "/v1/sessions/"+id+"/turns", map[string]any{"prompt": strings.Repeat("x", 3000)}).problem(http.StatusRequestEntityTooLarge, terret.CodeInvalidRequest, "")
	// The same when nobody says how long it is.
	req := f.request(t.Context(), "POST", "/v1/sessions/"+id+"/turns", nil, "Content-Type", "application/json")
	req.Body = io.NopCloser(strings.NewReader(`{"prompt":"` + strings.Repeat("x", 3000) + `"}`))
	req.ContentLength = -1
	res, err := f.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode < 400 || res.StatusCode >= 500 {
		t.Errorf("a body of unknown length: %d", res.StatusCode)
	}
}

// helperEnv makes this test binary a program that asks the server: URL, token.
const helperEnv = "HTTPAPI_SECURITY_CALL"

func TestSecurityHelper(t *testing.T) {
	call := strings.Fields(os.Getenv(helperEnv))
	if len(call) != 2 {
		t.Skip("runs only as another test's child")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, call[0], strings.NewReader(`{"behavior":"allow"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+call[1])
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	fmt.Printf("status=%d\n", res.StatusCode)
}

// An agent cannot answer its own request, raise its rights or make tokens, also
// with the admin token.
func TestSecurityAgentCannotAnswerItself(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("callers are known on Linux only")
	}
	f, _, request := asking(t)
	call := func(path string, env ...string) string {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecurityHelper$")
		cmd.Env = append([]string{helperEnv + "=" + f.url + path + " " + f.token}, env...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		_, rest, _ := strings.Cut(string(out), "status=")
		status, _, _ := strings.Cut(rest, "\n")
		return status
	}
	mark := guard.OwnerEnv + "=somebody"
	for _, path := range []string{request, "/v1/tokens", "/v1/trust"} {
		if got := call(path, mark); got != "403" && got != "422" {
			t.Errorf("an agent asks %s: %s", path, got)
		}
	}
	if got := call(request, mark); got != "403" {
		t.Errorf("an agent answers: %s", got)
	}
	if got := call(request); got != "200" {
		t.Errorf("a person's program answers: %s", got)
	}
}

package httpapi_test

// The lines of the security checklist that need the whole server.

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
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

// TestSecurityRestOfABody holds that what was not read of a body does not become the next
// request of the connection: behind a proxy, somebody else would get its response.
func TestSecurityRestOfABody(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	address := strings.TrimPrefix(f.url, "http://")
	next := "GET /healthz HTTP/1.1\r\nHost: " + address + "\r\n\r\n"
	for _, read := range []int{256 << 10, 4<<10 + 256<<10, 4<<10 + 256<<10 + 1} { // as much as the server reads or more
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		body := strings.Repeat(" ", read) + next
		_, _ = fmt.Fprintf(conn, "POST /v1/signin HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s", address, len(body), body)
		_ = conn.(*net.TCPConn).CloseWrite()
		got, _ := io.ReadAll(conn) // the server may reset it
		conn.Close()
		if n := strings.Count(string(got), "HTTP/1.1 "); n > 1 {
			t.Errorf("%d bytes: %d responses to one request:\n%s", read, n, got)
		}
	}
}

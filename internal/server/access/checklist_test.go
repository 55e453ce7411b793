package access

// The lines of the security checklist that this package alone can show, each as a
// test over a real connection. Those that need routes are with the routes.

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// site is a small server behind a gate: pages, health, a stream, and routes that
// need each of the scopes.
type site struct {
	t      *testing.T
	tokens *Tokens
	url    string
	client *http.Client
}

func newSite(t *testing.T) *site {
	t.Helper()
	tokens := newTokens(t)
	mux := http.NewServeMux()
	gate, err := NewGate(Options{Tokens: tokens, MaxBody: 1000, Public: func(r *http.Request) bool {
		return !strings.HasPrefix(r.URL.Path, "/v1/") || r.URL.Path == "/v1/signin"
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, public := range []string{"GET /{$}", "GET /app.js", "GET /healthz", "GET /readyz"} {
		mux.HandleFunc(public, func(http.ResponseWriter, *http.Request) {})
	}
	for _, scope := range []Scope{View, Prompt, Decide, Admin} {
		mux.HandleFunc("/v1/"+string(scope)+"/", func(w http.ResponseWriter, r *http.Request) {
			session := strings.TrimPrefix(r.URL.Path, "/v1/"+string(scope)+"/")
			if err := From(r.Context()).May(scope, session); err != nil {
				gate.refuse(w, r, err)
			}
		})
	}
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
	})
	mux.HandleFunc("POST /v1/signin", func(w http.ResponseWriter, r *http.Request) {
		secret, _, err := gate.SignIn(r.Context(), r.Header.Get("X-Code"), "phone")
		if err != nil {
			gate.refuse(w, r, err)
			return
		}
		fmt.Fprint(w, secret)
	})
	server := httptest.NewServer(gate.handler(mux))
	t.Cleanup(server.Close)
	return &site{t, tokens, server.URL, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// do sends a request: "Name: value" lines are headers.
func (s *site) do(method, path, body string, headers ...string) (status int, answer string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header.Add(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Error(err)
	}
	return resp.StatusCode, string(out)
}

func (s *site) want(status int, method, path string, headers ...string) {
	s.t.Helper()
	if got, answer := s.do(method, path, "", headers...); got != status {
		s.t.Errorf("%s %s with %q: %d, want %d: %s", method, path, headers, got, status, answer)
	}
}

func (s *site) bearer(spec Spec) string {
	s.t.Helper()
	return "Authorization: Bearer " + create(s.t, s.tokens, spec)
}

func (s *site) admin() string { return "Authorization: Bearer " + adminToken(s.t, s.tokens) }

// everywhere are routes of all kinds.
var everywhere = []string{"/", "/app.js", "/healthz", "/readyz", "/v1/view/", "/v1/events", "/v1/decide/", "/nowhere"}

// A token exists from the first start (generated, mode 0600), also on loopback.
func TestChecklistTokenFromTheFirstStart(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	tokens := openTokens(t, home)
	info, err := os.Stat(filepath.Join(home, "token"))
	if err != nil || private && info.Mode() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	if secret := adminToken(t, tokens); len(secret) != 43 {
		t.Errorf("a token of %d characters", len(secret))
	}
	s := newSite(t)
	s.want(http.StatusUnauthorized, "GET", "/v1/view/")
	s.want(http.StatusOK, "GET", "/v1/view/", s.admin())
	if _, err := NewGate(Options{}); err == nil {
		t.Error("a server without tokens")
	}
}

// A non-loopback bind without authentication refuses to start; 0.0.0.0, ::, an
// empty host and a wildcard are all non-loopback.
func TestChecklistNonLoopbackBind(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	for _, addr := range []string{"0.0.0.0:1", "[::]:1", ":1", "*:1", "192.0.2.1:1", "example.com:1"} {
		wantKind(t, addr, CheckBind(t.Context(), addr, false, tokens), terret.CodeStartupRefused)
		wantKind(t, addr, CheckBind(t.Context(), addr, true, nil), terret.CodeStartupRefused)
	}
}

// Host header allow-list on every route.
func TestChecklistHostOnEveryRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range everywhere {
		for _, host := range []string{"evil.example", "evil.example:7433", "localhost.evil.example", "0.0.0.0", "192.0.2.1"} {
			s.want(http.StatusForbidden, "GET", path, "Host: "+host, s.admin())
		}
		if got, _ := s.do("GET", path, "", s.admin()); got == http.StatusForbidden {
			t.Errorf("%s of the right host: %d", path, got)
		}
	}
}

// An unknown Origin is refused on every route and every upgrade; no *.
func TestChecklistOriginOnEveryRoute(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, path := range everywhere {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			for _, origin := range []string{"http://evil.example", "null", "http://localhost:1", "https://" + strings.TrimPrefix(s.url, "http://")} {
				s.want(http.StatusForbidden, method, path, "Origin: "+origin, s.admin())
				s.want(http.StatusForbidden, method, path, "Origin: "+origin, s.admin(), "Connection: Upgrade", "Upgrade: websocket")
			}
		}
	}
	s.want(http.StatusOK, "POST", "/v1/decide/", "Origin: "+s.url, s.admin())
}

// No credentials in URLs, none in cookies.
func TestChecklistNoCredentialsInURLs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	secret := adminToken(t, s.tokens)
	for _, query := range []string{"token", "access_token", "authorization", "bearer", "code", "key"} {
		s.want(http.StatusUnauthorized, "GET", "/v1/view/?"+query+"="+secret)
		s.want(http.StatusUnauthorized, "GET", "/v1/view/", "Cookie: "+query+"="+secret)
	}
}

// Simple requests of forms are refused; only application/json and a token.
func TestChecklistCrossSiteForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, media := range []string{"text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"} {
		for _, path := range []string{"/v1/decide/", "/v1/signin", "/healthz"} {
			if got, _ := s.do("POST", path, "{}", "Content-Type: "+media, s.admin()); got != http.StatusUnsupportedMediaType {
				t.Errorf("%s to %s: %d", media, path, got)
			}
		}
	}
	if got, _ := s.do("POST", "/v1/decide/", "{}", "Content-Type: application/json"); got != http.StatusUnauthorized {
		t.Errorf("without a token: %d", got)
	}
	if got, _ := s.do("POST", "/v1/decide/", "{}", "Content-Type: application/json", s.admin()); got != http.StatusOK {
		t.Errorf("JSON with a token: %d", got)
	}
}

// Scopes; a viewer cannot answer; a token of one session sees no other.
func TestChecklistScopes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	scopes := []Scope{View, Prompt, Decide, Admin}
	const other = "0190b3a0-0000-7000-8000-000000000002"
	for has, scope := range scopes {
		all := s.bearer(Spec{Name: "all " + string(scope), Scope: scope})
		for needs, of := range scopes {
			status := http.StatusOK
			if has < needs {
				status = http.StatusForbidden
			}
			s.want(status, "POST", "/v1/"+string(of)+"/", all)
			s.want(status, "POST", "/v1/"+string(of)+"/"+someSession, all)
		}
		if scope == Admin {
			continue
		}
		one := s.bearer(Spec{Name: "one " + string(scope), Scope: scope, Session: someSession})
		s.want(http.StatusOK, "GET", "/v1/"+string(scope)+"/"+someSession, one)
		s.want(http.StatusForbidden, "GET", "/v1/"+string(scope)+"/"+other, one)
		s.want(http.StatusForbidden, "GET", "/v1/"+string(scope)+"/", one)
	}
}

// Tokens per device, revocable, last use shown.
func TestChecklistDevices(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	status, secret := s.do("POST", "/v1/signin", "", "X-Code: "+s.tokens.NewCode())
	if status != http.StatusOK {
		t.Fatal(status, secret)
	}
	s.want(http.StatusOK, "POST", "/v1/decide/", "Authorization: Bearer "+secret)
	list, err := s.tokens.List()
	if err != nil || len(list) != 1 || !list[0].Device || list[0].LastUsedAt.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
	if err := openTokens(t, s.tokens.dir).Revoke(t.Context(), list[0].Name); err != nil {
		t.Fatal(err)
	}
	s.want(http.StatusUnauthorized, "POST", "/v1/decide/", "Authorization: Bearer "+secret)
}

// Pairing codes are one-use, also when many use one at once, and rate limited.
func TestChecklistOneUseCodes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	code := s.tokens.NewCode()
	var won atomic.Int32
	var wait sync.WaitGroup
	for range 8 { // fewer than the limit of failures
		wait.Go(func() {
			if status, _ := s.do("POST", "/v1/signin", "", "X-Code: "+code); status == http.StatusOK {
				won.Add(1)
			}
		})
	}
	wait.Wait()
	list, err := s.tokens.List()
	if won.Load() != 1 || err != nil || len(list) != 1 {
		t.Errorf("%d sign-ins with one code, %d tokens (%v)", won.Load(), len(list), err)
	}
	last := 0
	for range 20 {
		last, _ = s.do("POST", "/v1/signin", "", "X-Code: x")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after many failures: %d", last)
	}
}

func TestChecklistCodesExpire(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	synctest.Test(t, func(t *testing.T) {
		tokens := openTokens(t, home)
		early, late := tokens.NewCode(), tokens.NewCode()
		time.Sleep(codeLife - time.Second)
		if _, _, err := tokens.exchange(context.Background(), early, "x"); err != nil {
			t.Errorf("in time: %v", err)
		}
		time.Sleep(time.Second)
		_, _, err := tokens.exchange(context.Background(), late, "x")
		wantKind(t, "too late", err, terret.CodeUnauthorized)
	})
}

// Limits: the body.
func TestChecklistBodyLimit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if got, _ := s.do("POST", "/v1/decide/", strings.Repeat(" ", 1001), "Content-Type: application/json", s.admin()); got != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", got)
	}
}

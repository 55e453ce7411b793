package access

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// door is a gate in front of a handler that says who came in.
type door struct {
	t       *testing.T
	tokens  *Tokens
	gate    *Gate
	handler http.Handler
	admin   string
}

func newDoor(t *testing.T, change func(*Options)) *door {
	t.Helper()
	tokens := newTokens(t)
	o := Options{Tokens: tokens, Public: func(r *http.Request) bool {
		return r.URL.Path == "/" || r.URL.Path == "/healthz" || r.URL.Path == "/signin"
	}}
	if change != nil {
		change(&o)
	}
	gate, err := NewGate(o)
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, tokens: tokens, gate: gate, admin: adminToken(t, tokens)}
	d.handler = gate.handler(http.HandlerFunc(d.serve))
	return d
}

func (d *door) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/signin" {
		secret, made, err := d.gate.SignIn(r.Context(), r.Header.Get("X-Code"), "phone")
		if err != nil {
			w.WriteHeader(terret.AsError(err).Code.Class().HTTP)
			return
		}
		fmt.Fprintf(w, "%s %s", secret, made.Name)
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusTeapot)
		return
	}
	fmt.Fprintf(w, "hello %q", From(r.Context()).Name)
}

// request is one for the door: "Name: value" lines are headers.
func (d *door) request(method, path, body string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(d.t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost:7433"
	r.RemoteAddr = "127.0.0.1:50000"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

func (d *door) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	return w
}

func (d *door) auth() string { return "Authorization: Bearer " + d.admin }

func (d *door) want(status int, r *http.Request) *httptest.ResponseRecorder {
	d.t.Helper()
	w := d.do(r)
	if w.Code != status {
		d.t.Errorf("%s %s of %q with %v: %d, want %d: %s", r.Method, r.URL, r.Host, r.Header, w.Code, status, w.Body)
	}
	return w
}

func TestHosts(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(o *Options) {
		o.Hosts = []string{"Terret.Example", "other.example:8443", "[2001:db8::1]", "[2001:db8::2]:8443"}
	})
	for host, ok := range map[string]bool{
		"localhost": true, "localhost:7433": true, "LOCALHOST:1": true, "127.0.0.1": true, "127.0.0.1:7433": true, "127.9.9.9:1": true,
		"[::1]": true, "[::1]:7433": true, "[::ffff:127.0.0.1]:7433": true,
		"terret.example": true, "terret.example:99": true, "other.example:8443": true, "[2001:db8::1]:80": true, "[2001:db8::2]:8443": true, "[2001:db8::2]:80": false,
		"evil.example": false, "evil.example:7433": false, "localhost.evil.example": false, "evil-localhost": false,
		"localhost.": false, "a.localhost": false, "127.0.0.1.evil.example": false, "127.0.0.1@evil.example": false,
		"other.example": false, "other.example:8444": false, "x.terret.example": false,
		"0.0.0.0": false, "0.0.0.0:7433": false, "[::]:7433": false, "[::]": false, "192.168.1.5:7433": false,
		"": false, ":7433": false, "localhost:": false, "localhost:x": false, "localhost:7433:80": false, "[::1": false, "::1": false,
		"local host": false, "localhost,evil.example": false, "localhost/": false, "localhost\x00": false, "localhost%00": false,
		"2130706433": false, "0x7f.1": false, "127.1": false, "lоcalhost": false, // with a Cyrillic letter
	} {
		status := http.StatusForbidden
		if ok {
			status = http.StatusOK
		}
		// The host is checked where no token is needed, too.
		for _, path := range []string{"/healthz", "/", "/v1/x"} {
			d.want(status, d.request("GET", path, "", "Host: "+host, d.auth()))
		}
	}
}

// The address that a connection was made to is the server's; another is not.
func TestHostOfConnection(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for _, c := range []struct {
		local, host string
		ok          bool
	}{
		{"192.168.1.5:7433", "192.168.1.5:7433", true},
		{"192.168.1.5:7433", "192.168.1.5:9000", true},
		{"[::ffff:192.168.1.5]:7433", "192.168.1.5:7433", true},
		{"[2001:db8::7]:7433", "[2001:db8::7]:7433", true},
		{"192.168.1.5:7433", "192.168.1.6:7433", false},
		{"0.0.0.0:7433", "0.0.0.0:7433", false},
		{"192.168.1.5:7433", "192.168.1.5.evil.example", false},
	} {
		r := d.request("GET", "/healthz", "", "Host: "+c.host)
		ctx := r.Context()
		local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.local))
		r = r.WithContext(contextWithLocal(ctx, local))
		status := http.StatusForbidden
		if c.ok {
			status = http.StatusOK
		}
		d.want(status, r)
	}
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(o *Options) {
		o.Hosts, o.Origins = []string{"terret.example"}, []string{"https://terret.example"}
	})
	for _, c := range []struct {
		headers []string
		ok      bool
	}{
		{nil, true},
		{[]string{"Origin: http://localhost:7433"}, true},
		{[]string{"Origin: http://localhost"}, false},
		{[]string{"Origin: http://localhost:3000"}, false}, // what an agent serves
		{[]string{"Origin: https://localhost:7433"}, false},
		{[]string{"Origin: http://127.0.0.1:7433"}, false},
		{[]string{"Origin: null"}, false},
		{[]string{"Origin: "}, false},
		{[]string{"Origin: *"}, false},
		{[]string{"Origin: http://evil.example"}, false},
		{[]string{"Origin: http://localhost:7433.evil.example"}, false},
		{[]string{"Origin: http://localhost:7433", "Origin: http://evil.example"}, false},
		{[]string{"Origin: http://localhost:7433/"}, false},
		{[]string{"Origin: chrome-extension://x"}, false},
		{[]string{"Origin: https://terret.example"}, true},
		{[]string{"Origin: http://terret.example"}, false},
		{[]string{"Host: terret.example", "Origin: https://terret.example"}, true},
		{[]string{"Host: localhost", "Origin: http://localhost"}, true},
		{[]string{"Host: localhost:80", "Origin: http://localhost"}, true},
		{[]string{"Host: LocalHost:7433", "Origin: http://localhost:7433"}, true},
		{[]string{"Sec-Fetch-Site: same-origin"}, true},
		{[]string{"Sec-Fetch-Site: none"}, true},
		{[]string{"Sec-Fetch-Site: same-site"}, false}, // another port of localhost
		{[]string{"Sec-Fetch-Site: cross-site"}, false},
		{[]string{"Sec-Fetch-Site: what-ever"}, false},
		{[]string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"}, false},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, false},
		{[]string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, false},
	} {
		status := http.StatusForbidden
		if c.ok {
			status = http.StatusOK
		}
		for _, path := range []string{"/", "/healthz", "/v1/sessions", "/v1/events"} {
			for _, method := range []string{"GET", "POST", "OPTIONS", "DELETE"} {
				w := d.want(status, d.request(method, path, "", append(c.headers, d.auth())...))
				for name := range w.Header() {
					if strings.HasPrefix(name, "Access-Control-") {
						t.Errorf("%v: the answer has %s", c.headers, name)
					}
				}
			}
		}
	}
	link := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", d.auth()}
	d.want(http.StatusOK, d.request("GET", "/", "", link...))
	d.want(http.StatusForbidden, d.request("POST", "/", "", link...))
	d.want(http.StatusForbidden, d.request("GET", "/v1/sessions", "", link...))
}

func TestOriginOverTLS(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for origin, ok := range map[string]bool{"https://localhost:7433": true, "http://localhost:7433": false} {
		r := d.request("GET", "/v1/x", "", "Origin: "+origin, d.auth())
		r.TLS = &tls.ConnectionState{}
		status := http.StatusForbidden
		if ok {
			status = http.StatusOK
		}
		d.want(status, r)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	d := newDoor(t, func(o *Options) {
		o.MaxBody = 100
		o.OtherBody = func(r *http.Request) bool { return r.URL.Path == "/v1/sessions/import" }
		o.BodyLimit = func(r *http.Request) int64 {
			if r.URL.Path == "/v1/sessions/import" {
				return 1000
			}
			return 0
		}
	})
	for _, c := range []struct {
		path, body string
		types      []string
		want       int
	}{
		{"/v1/x", "{}", []string{"application/json"}, http.StatusOK},
		{"/v1/x", "{}", []string{"application/json; charset=utf-8"}, http.StatusOK},
		{"/v1/x", "{}", []string{"Application/JSON; charset=UTF-8"}, http.StatusOK},
		{"/v1/x", "", nil, http.StatusOK}, // such as interrupt
		{"/v1/x", "", []string{"application/json"}, http.StatusOK},
		{"/v1/x", "{}", nil, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{""}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"text/plain"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"text/plain; application/json"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"multipart/form-data; boundary=application/json"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "", []string{"text/plain"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/json; charset=utf-16"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/jsonp"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/json", "text/plain"}, http.StatusUnsupportedMediaType},
		{"/v1/x", "{}", []string{"application/json, text/plain"}, http.StatusUnsupportedMediaType},
		{"/signin", "{}", []string{"text/plain"}, http.StatusUnsupportedMediaType}, // public ones, too
		{"/v1/x", strings.Repeat(" ", 101), []string{"application/json"}, http.StatusRequestEntityTooLarge},
		{"/v1/sessions/import", strings.Repeat(" ", 101), []string{"application/x-ndjson"}, http.StatusOK},
		{"/v1/sessions/import", strings.Repeat(" ", 1001), []string{"application/x-ndjson"}, http.StatusRequestEntityTooLarge},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			r := d.request(method, c.path, c.body, d.auth())
			r.Header["Content-Type"] = c.types
			if c.types == nil {
				r.Header.Del("Content-Type")
			}
			d.want(c.want, r)
		}
	}
	// A body whose length nobody said is cut as well.
	r := d.request("POST", "/v1/x", strings.Repeat(" ", 101), d.auth(), "Content-Type: application/json")
	r.ContentLength = -1
	d.want(http.StatusTeapot, r)
	d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth(), "Content-Type: text/plain"))
	d.want(http.StatusUnsupportedMediaType, d.request("GET", "/v1/x", "x", d.auth(), "Content-Type: text/plain"))
	r = d.request("POST", "/v1/x", "{}", d.auth())
	r.ContentLength = -1
	d.want(http.StatusUnsupportedMediaType, r)
}

func TestMethods(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for _, m := range []string{http.MethodTrace, http.MethodConnect} {
		d.want(http.StatusMethodNotAllowed, d.request(m, "/v1/x", "", d.auth()))
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for _, r := range []*http.Request{
		d.request("GET", "/", ""), d.request("GET", "/v1/x", ""), d.request("GET", "/v1/x", "", d.auth()),
		d.request("GET", "/", "", "Host: evil.example"), d.request("POST", "/v1/x", "x", d.auth()),
	} {
		h := d.do(r).Header()
		for name, want := range headers {
			if got := h.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("%s %s: %s is %q", r.Method, r.URL, name, got)
			}
		}
	}
	for _, bad := range []string{"unsafe-inline", "unsafe-eval", "*", "http:", "https:"} {
		if strings.Contains(policy, bad) {
			t.Errorf("the policy has %s", bad)
		}
	}
	for _, must := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "script-src 'self';"} {
		if !strings.Contains(policy, must) {
			t.Errorf("the policy has no %s", must)
		}
	}
}

func TestBearer(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for _, c := range []struct {
		headers []string
		want    int
	}{
		{[]string{d.auth()}, http.StatusOK},
		{[]string{"Authorization: bearer " + d.admin}, http.StatusOK},
		{[]string{"Authorization: Bearer  " + d.admin}, http.StatusOK},
		{nil, http.StatusUnauthorized},
		{[]string{"Authorization: "}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer"}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer "}, http.StatusUnauthorized},
		{[]string{"Authorization: " + d.admin}, http.StatusUnauthorized},
		{[]string{"Authorization: Basic " + d.admin}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer " + d.admin + " x"}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer " + d.admin + ",x"}, http.StatusUnauthorized},
		{[]string{d.auth(), d.auth()}, http.StatusUnauthorized},
		{[]string{"Cookie: token=" + d.admin}, http.StatusUnauthorized},
		{[]string{"X-Api-Key: " + d.admin}, http.StatusUnauthorized},
		{[]string{"Proxy-Authorization: Bearer " + d.admin}, http.StatusUnauthorized},
		{[]string{"Authorization: Bearer " + strings.Repeat("x", 1<<16)}, http.StatusUnauthorized},
	} {
		w := d.want(c.want, d.request("GET", "/v1/x", "", c.headers...))
		if c.want != http.StatusUnauthorized {
			continue
		}
		if w.Header().Get("WWW-Authenticate") == "" {
			t.Error("401 without WWW-Authenticate")
		}
		var problem struct {
			Type, Detail string
			Status       int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &problem); err != nil || problem.Type != "unauthorized" || problem.Status != 401 || problem.Detail == "" {
			t.Errorf("problem %s: %v", w.Body, err)
		}
	}
}

func TestPublic(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	for _, headers := range [][]string{nil, {d.auth()}, {"Authorization: Bearer wrong"}} {
		if w := d.want(http.StatusOK, d.request("GET", "/healthz", "", headers...)); w.Body.String() != `hello ""` {
			t.Errorf("somebody is known where nobody was looked at: %s", w.Body)
		}
	}
	if w := d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth())); w.Body.String() != `hello "admin"` {
		t.Errorf("%s", w.Body)
	}
}

func TestFailuresAreLimited(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	synctest.Test(t, func(t *testing.T) {
		d := *d
		d.t = t
		d.gate.limit = newLimiter() // with the bubble's clock
		wrong := func(from string) *httptest.ResponseRecorder {
			r := d.request("GET", "/v1/x", "", "Authorization: Bearer wrong")
			r.RemoteAddr = from
			return d.do(r)
		}
		const here = "127.0.0.1:1"
		for i := range int(addressRate.burst) {
			if w := wrong(here); w.Code != http.StatusUnauthorized {
				t.Fatalf("failure %d: %d", i, w.Code)
			}
		}
		w := wrong("127.0.0.1:2") // another port is the same address
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "6" {
			t.Errorf("one too many: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
		if w := wrong("10.0.0.1:1"); w.Code != http.StatusUnauthorized {
			t.Errorf("another address: %d", w.Code)
		}
		// Nobody is locked out, and what has no token is no failure.
		d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth()))
		for range 100 {
			d.want(http.StatusUnauthorized, d.request("GET", "/v1/x", ""))
		}
		time.Sleep(6 * time.Second)
		if w := wrong(here); w.Code != http.StatusUnauthorized {
			t.Errorf("after waiting: %d", w.Code)
		}
		if w := wrong(here); w.Code != http.StatusTooManyRequests {
			t.Errorf("and again: %d", w.Code)
		}
	})
}

func TestFailuresOfAllAreLimited(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	last := 0
	for i := range int(globalRate.burst) + 50 {
		r := d.request("GET", "/v1/x", "", "Authorization: Bearer wrong")
		r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i/250, i%250+1)
		last = d.do(r).Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("many addresses: %d", last)
	}
	d.want(http.StatusOK, d.request("GET", "/v1/x", "", d.auth()))
}

func TestLimiterIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
		for i := range 2 * maxAddresses {
			l.fail(at(i))
		}
		if len(l.address) > maxAddresses {
			t.Errorf("%d addresses are remembered", len(l.address))
		}
		time.Sleep(time.Hour)
		l.fail(at(9 * maxAddresses))
		if len(l.address) != 1 {
			t.Errorf("%d addresses are remembered after an hour", len(l.address))
		}
		// A network of IPv6 is one source, as is an address in its other form.
		for i := range 12 {
			l.fail(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}))
		}
		if l.fail(netip.MustParseAddr("2001::ffff")) == 0 || l.fail(netip.MustParseAddr("2001:0:0:1::1")) > 0 {
			t.Error("networks are not told apart")
		}
		for range 12 {
			l.fail(netip.MustParseAddr("::ffff:10.9.9.9"))
		}
		if l.fail(netip.MustParseAddr("10.9.9.9")) == 0 {
			t.Error("an address in two forms is two")
		}
		l.fail(netip.Addr{}) // not known: counted as one
	})
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	code := d.tokens.NewCode()
	w := d.want(http.StatusOK, d.request("POST", "/signin", "", "X-Code: "+code))
	secret, _, _ := strings.Cut(w.Body.String(), " ")
	if w := d.want(http.StatusOK, d.request("GET", "/v1/x", "", "Authorization: Bearer "+secret)); w.Body.String() != `hello "phone"` {
		t.Errorf("%s", w.Body)
	}
	// Wrong codes lock nobody out who has a right one.
	waiting := d.tokens.NewCode()
	for range int(addressRate.burst) {
		d.want(http.StatusUnauthorized, d.request("POST", "/signin", "", "X-Code: "+code))
	}
	w = d.want(http.StatusTooManyRequests, d.request("POST", "/signin", "", "X-Code: "+code))
	if w.Header().Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	d.want(http.StatusOK, d.request("POST", "/signin", "", "X-Code: "+waiting))
}

func TestNewGateRefuses(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	for _, o := range []Options{
		{},
		{Tokens: tokens, Hosts: []string{"*"}},
		{Tokens: tokens, Hosts: []string{""}},
		{Tokens: tokens, Hosts: []string{"*.example"}},
		{Tokens: tokens, Hosts: []string{"0.0.0.0"}},
		{Tokens: tokens, Hosts: []string{"[::]:80"}},
		{Tokens: tokens, Hosts: []string{"https://x"}},
		{Tokens: tokens, Origins: []string{"*"}},
		{Tokens: tokens, Origins: []string{"null"}},
		{Tokens: tokens, Origins: []string{"https://*"}},
		{Tokens: tokens, Origins: []string{"x.example"}},
		{Tokens: tokens, Origins: []string{"https://x.example/"}},
		{Tokens: tokens, Origins: []string{"https://X.example"}},
		{Tokens: tokens, Origins: []string{"file://x"}},
	} {
		if _, err := NewGate(o); err == nil {
			t.Errorf("hosts %q, origins %q: no error", o.Hosts, o.Origins)
		}
	}
}

func TestRefusalsAreWrittenAsAsked(t *testing.T) {
	t.Parallel()
	var got []int
	d := newDoor(t, func(o *Options) {
		o.Problem = func(w http.ResponseWriter, _ *http.Request, status int, err *terret.Error) {
			got = append(got, status)
			http.Error(w, string(err.Code), status)
		}
	})
	d.want(http.StatusUnsupportedMediaType, d.request("POST", "/v1/x", "x", d.auth()))
	d.want(http.StatusUnauthorized, d.request("GET", "/v1/x", ""))
	d.want(http.StatusForbidden, d.request("GET", "/v1/x", "", "Host: x"))
	if fmt.Sprint(got) != "[415 401 403]" {
		t.Errorf("%v", got)
	}
}

// No answer and no log line holds a token or a code, also a wrong one.
func TestNothingTellsSecrets(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := newDoor(t, func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	const guess = "canary-canary-canary-canary"
	for _, r := range []*http.Request{
		d.request("GET", "/v1/x", "", "Authorization: Bearer "+guess),
		d.request("GET", "/v1/x?token="+guess, "", "Authorization: Basic "+guess),
		d.request("POST", "/signin", "", "X-Code: "+guess),
	} {
		if w := d.do(r); w.Code < 400 || strings.Contains(w.Body.String(), guess) || strings.Contains(fmt.Sprint(w.Header()), guess) {
			t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
		}
	}
	if !strings.Contains(log.String(), "sign-in failed") || strings.Contains(log.String(), guess) {
		t.Errorf("log: %s", log.String())
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	if s, ok := RetryAfter(fmt.Errorf("x: %w", tooMany(1500*time.Millisecond))); s != 2 || !ok {
		t.Errorf("%d, %v", s, ok)
	}
	if _, ok := RetryAfter(errors.New("x")); ok {
		t.Error("any error is about too many failures")
	}
	if e := tooMany(time.Nanosecond); !e.Retryable || e.Code != terret.CodeRateLimited {
		t.Errorf("%+v", e)
	}
}

// Over a real connection, with headers that net/http would not write.
func TestRawRequests(t *testing.T) {
	t.Parallel()
	d := newDoor(t, nil)
	server := httptest.NewUnstartedServer(d.handler)
	server.Config.DisableGeneralOptionsHandler = true // which would answer by itself
	server.Start()
	t.Cleanup(server.Close)
	for raw, want := range map[string]int{
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                                                   200,
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                                403,
		"GET /healthz HTTP/1.0\r\n\r\n":                                                                                                      403,
		"GET /healthz HTTP/1.1\r\n\r\n":                                                                                                      400,
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n":                                                             400,
		"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n":                                                                403,
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-Host: evil.example\r\n\r\n":                                                 200,
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n\r\n":                                                 403,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nOrigin: http://evil.example\r\n\r\n":          403,
		"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                  415,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + d.admin + "\r\n\r\n":                                             200,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + d.admin + "\r\nAuthorization: Bearer x\r\n\r\n":                  401,
		"GET /v1/x?access_token=" + d.admin + "&token=" + d.admin + " HTTP/1.1\r\nHost: localhost\r\n\r\n":                                   401,
		"POST /v1/x?authorization=Bearer%20" + d.admin + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n":                         401,
		"GET /v1/x HTTP/1.1\r\nHost: localhost\r\nCookie: terret=" + d.admin + "\r\n\r\n":                                                    401,
		"OPTIONS /v1/x HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Headers: authorization\r\n\r\n":  403,
		"OPTIONS /v1/x HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost:3000\r\nAccess-Control-Request-Private-Network: true\r\n\r\n": 403,
		"OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n":                                                                                   403,
	} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, raw); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%q: %v", raw, err)
		}
		resp.Body.Close()
		conn.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", raw, resp.StatusCode, want)
		}
	}
}

// handler checks every request as a server does: Guard, and then, unless the request
// is public, Authenticate. Next finds the sender by From.
func (g *Gate) handler(next http.Handler) http.Handler {
	return g.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.public(r) {
			id, err := g.Authenticate(r)
			if err != nil {
				g.refuse(w, r, err)
				return
			}
			r = r.WithContext(With(r.Context(), id))
		}
		next.ServeHTTP(w, r)
	}))
}

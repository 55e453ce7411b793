package access

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

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

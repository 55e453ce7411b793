package mcphost

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/keys"
)

// TestHeaders is that only the server gets the headers of its configuration, and not whoever
// it redirects to.
func TestHeaders(t *testing.T) {
	t.Parallel()
	var got []string
	note := func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("X-Key")) }
	other := httptest.NewServer(http.HandlerFunc(note))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/on", http.StatusTemporaryRedirect)
		case "/on":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := withHeaders(server.URL, map[string]string{"X-Key": "secret"}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(got) != 3 || got[0] != "secret" || got[1] != "secret" || got[2] != "" {
		t.Errorf("%q", got)
	}
}

// TestAuthorityElsewhere is that a server elsewhere cannot have us ask what listens on this
// machine, while one of this machine can.
func TestAuthorityElsewhere(t *testing.T) {
	t.Parallel()
	here := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(here.Close)
	ask := func(server, authority string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, authority, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		s, err := New(terret.JSON(`{"mcpServers": {"x": {"url": "`+server+`"}}}`), Options{Tokens: keys.OpenMCP(t.TempDir()).With(nil)})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.all["x"].door.client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return err
	}
	if err := ask("http://localhost:1/mcp", here.URL); err != nil {
		t.Error(err)
	}
	_, port, _ := strings.Cut(strings.TrimPrefix(here.URL, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST.", "x.localhost", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		if err := ask("https://mcp.example.com/mcp", "http://"+host+":"+port); err == nil || !strings.Contains(err.Error(), "which is this machine") {
			t.Errorf("%s: %v", host, err)
		}
	}
	// A name that leads here is found out when it is connected to.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, here.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := elsewhere().RoundTrip(req); err == nil || !strings.Contains(err.Error(), "which only this machine reaches") {
		t.Errorf("%v, %v", resp, err)
	}
	for address, ok := range map[string]bool{"169.254.169.254": false, "fe80::1": false, "::": false, "::ffff:127.0.0.1": false, "10.0.0.7": true, "93.184.215.14": true} {
		if err := notLocal(netip.MustParseAddr(address)); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

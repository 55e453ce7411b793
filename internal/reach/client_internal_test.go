package reach

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestDirect holds that the address counts that a name leads to, not the name.
func TestDirect(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	c, err := newOutward().direct.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err == nil {
		_ = c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "not an address of the public internet") {
		t.Errorf("a connection to this machine: %v", err)
	}
}

// TestInner holds that inner addresses may be meant, but neither what is on the machine's
// link nor what a cloud tells it of itself.
func TestInner(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"127.0.0.1", "::1", "10.1.2.3", "192.168.1.1", "fd12::1", "100.64.0.1", "1.1.1.1"} {
		if err := inner(netip.MustParseAddr(a)); err != nil {
			t.Error(a, err)
		}
	}
	for _, a := range []string{"169.254.169.254", "fe80::1", "100.100.100.200", "fd00:ec2::254", "0.0.0.0"} {
		if inner(netip.MustParseAddr(a)) == nil {
			t.Errorf("%s is reached", a)
		}
	}
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	t.Cleanup(server.Close)
	client := NewInnerClient()
	t.Cleanup(client.CloseIdleConnections)
	res, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusFound {
		t.Errorf("a redirect: %d, %v", res.StatusCode, err)
	}
}

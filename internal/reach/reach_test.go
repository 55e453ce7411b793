package reach_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/reach"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for _, a := range []string{
		"127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255", "240.0.0.1",
		"192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9", "::", "::1", "::ffff:10.0.0.1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1",
		"64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::", "2001::1", "2001:db8::1", "::127.0.0.1", "fec0::1", "100::1",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254",
	} {
		if reach.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s counts as public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::200e", "::ffff:1.1.1.1"} {
		if !reach.Public(netip.MustParseAddr(a)) {
			t.Errorf("%s does not count as public", a)
		}
	}
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"localhost", "LOCALHOST.", "x.localhost", "127.0.0.7", "::ffff:127.0.0.1", "::1", "0.0.0.0", "::", "169.254.169.254", "fe80::1%eth0", "100.100.100.200", "::ffff:100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254"} {
		if !reach.IsLocal(host) {
			t.Errorf("%s does not count as local", host)
		}
	}
	for _, host := range []string{"example.com", "localhost.example.com", "10.0.0.1", "100.64.0.1", "fd12::1", "fd00:ec2::253", "1.1.1.1", ""} {
		if reach.IsLocal(host) {
			t.Errorf("%s counts as local", host)
		}
	}
}

// TestDialer holds that the address counts that a name leads to, without its disguises.
func TestDialer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	refused := errors.New("refused")
	for _, host := range []string{"localhost", "127.0.0.1", "::ffff:127.0.0.1"} {
		var asked netip.Addr
		c, err := reach.Dialer(func(a netip.Addr) error { asked = a; return refused }).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if !errors.Is(err, refused) || !asked.IsLoopback() || asked.Is4In6() {
			t.Errorf("%s, which is %s: %v, %v", host, asked, c, err)
		}
	}
	c, err := reach.Dialer(func(netip.Addr) error { return nil }).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

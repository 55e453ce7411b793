package access

import (
	"testing"

	"github.com/terret-dev/terret"
)

func TestCheckBind(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	for _, c := range []struct {
		addr     string
		loopback bool
	}{
		{"127.0.0.1:7433", true},
		{"127.0.0.1:0", true},
		{"127.8.8.8:1", true},
		{"127.0.0.1:65535", true},
		{"127.0.0.1:", true},
		{"[::1]:7433", true},
		{"[::ffff:127.0.0.1]:7433", true},
		{"localhost:7433", true},
		{"LOCALHOST:7433", true},
		{"0.0.0.0:7433", false},
		{":7433", false},
		{"[::]:7433", false},
		{"[::ffff:0.0.0.0]:7433", false},
		{"*:7433", false},
		{"0:7433", false},
		{"192.168.1.5:7433", false},
		{"10.0.0.1:7433", false},
		{"[fe80::1%eth0]:7433", false},
		{"terret.example:7433", false},
		{"localhost.evil.example:7433", false},
		{"127.0.0.1.evil.example:7433", false},
		{"127.1:7433", false},
		{"0x7f000001:7433", false},
		{"2130706433:7433", false},
		{"localhost.:7433", false},
		{"ip6-localhost:7433", false},
		{" localhost:7433", false},
	} {
		want := terret.CodeStartupRefused
		if c.loopback {
			want = ""
		}
		wantKind(t, c.addr, CheckBind(t.Context(), c.addr, false, tokens), want)
		wantKind(t, c.addr+" with TLS", CheckBind(t.Context(), c.addr, true, tokens), "")
		wantKind(t, c.addr+" without tokens", CheckBind(t.Context(), c.addr, true, nil), terret.CodeStartupRefused)
	}
	for _, addr := range []string{"", "7433", "localhost", "::1", "::1:7433", "127.0.0.1:65536", "127.0.0.1:-1", "0.0.0.0:99999", "127.0.0.1:no-such-service"} {
		wantKind(t, addr, CheckBind(t.Context(), addr, false, tokens), terret.CodeInvalidRequest)
	}
}

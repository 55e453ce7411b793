package access

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/terret-dev/terret"
)

// CheckBind checks whether a server may listen on an address. There must be tokens,
// even on loopback; anything else also needs TLS. Loopback is an address in
// 127.0.0.0/8, ::1, or the name localhost; every other name, an empty host and the
// wildcards 0.0.0.0 and :: are not.
func CheckBind(ctx context.Context, addr string, tls bool, tokens *Tokens) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return terret.Invalid("addr", "%q is not HOST:PORT (%w); use 127.0.0.1:7433", addr, err)
	}
	if _, err := net.DefaultResolver.LookupPort(ctx, "tcp", port); err != nil {
		return terret.Invalid("addr", "there is no port %q; use a number up to 65535", port)
	}
	if tokens == nil {
		return terret.Errorf(terret.CodeStartupRefused, "there are no tokens, so anybody could use the server on %s", addr)
	}
	if isLoopback(host) || tls {
		return nil
	}
	return terret.Errorf(terret.CodeStartupRefused, "%s can be reached from other machines, and tokens would cross the network in the clear; listen on 127.0.0.1, or use --tls-cert and --tls-key", addr)
}

// isLoopback reports whether a host, without a port, is reachable only from this
// machine.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Package reach bounds where connections lead that others have us make: servers that an
// agent, an MCP server or a browser names.
package reach

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// reserved are ranges that look public and are not.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // shared between a provider's customers
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("2001::/23"), // Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),
	netip.MustParsePrefix("2002::/16"), // an IPv4 address is inside
	netip.MustParsePrefix("3fff::/20"),
}

// metadata are the addresses at which clouds tell a machine about itself, its credentials
// among it, and that are not on its link. Those that are need no list.
var metadata = []netip.Addr{
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // Amazon
	netip.MustParseAddr("fd20:ce::254"),    // Google
}

// unicast6 is where public IPv6 addresses are. Those that hold an IPv4 address for a
// gateway are elsewhere.
var unicast6 = netip.MustParsePrefix("2000::/3")

// Public reports whether an address is one of the public internet.
func Public(a netip.Addr) bool {
	a = plain(a)
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !unicast6.Contains(a) {
		return false
	}
	return !slices.Contains(metadata, a) && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Local reports whether only this machine reaches what is at an address: itself, what is on
// its link, and a cloud's metadata. Addresses of private networks are not local, nor are
// those of 100.64.0.0/10, which overlay networks of companies use.
func Local(a netip.Addr) bool {
	a = plain(a)
	return a.IsLoopback() || a.IsUnspecified() || a.IsLinkLocalUnicast() || slices.Contains(metadata, a)
}

// IsLocal reports whether a host, by its name or as an address, is local.
func IsLocal(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return Local(ip)
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Dialer makes connections only to addresses for which may returns nil. It is asked when
// names are resolved, so that no name and no redirect leads around it.
func Dialer(may func(netip.Addr) error) *net.Dialer {
	return &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return may(plain(at.Addr()))
	}}
}

func plain(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

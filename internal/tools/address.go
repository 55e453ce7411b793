package tools

import (
	"fmt"
	"net/netip"
	"slices"
)

// notPublic is the error for an address that WebFetch must not reach.
type notPublic struct{ address netip.Addr }

func (e *notPublic) Error() string {
	return fmt.Sprintf("it leads to %s, which is not an address of the public internet; that is not allowed", e.address)
}

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

// unicast6 is where public IPv6 addresses are. Those that hold an IPv4 address for a
// gateway are elsewhere.
var unicast6 = netip.MustParsePrefix("2000::/3")

// public reports whether an address is one of the public internet.
func public(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if !a.IsValid() || !a.IsGlobalUnicast() || a.IsPrivate() || a.Is6() && !unicast6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(a) })
}

// mayReach fails for an address, as it is about to be connected to, that WebFetch must
// not reach. Names are resolved by then, so that no name and no redirect leads around it.
func (e Env) mayReach(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	to := at.Addr().WithZone("").Unmap()
	if public(to) || slices.ContainsFunc(e.Private, func(p netip.Prefix) bool { return p.Contains(to) }) {
		return nil
	}
	return &notPublic{to}
}

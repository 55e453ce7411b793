package tools

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/terret-dev/terret/internal/reach"
)

// notPublic is the error for an address that WebFetch must not reach.
type notPublic struct{ address netip.Addr }

func (e *notPublic) Error() string {
	return fmt.Sprintf("it leads to %s, which is not an address of the public internet; that is not allowed", e.address)
}

// mayReach fails for an address, as it is about to be connected to, that WebFetch must
// not reach.
func (e Env) mayReach(to netip.Addr) error {
	if reach.Public(to) || slices.ContainsFunc(e.Private, func(p netip.Prefix) bool { return p.Contains(to) }) {
		return nil
	}
	return &notPublic{to}
}

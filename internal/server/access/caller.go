package access

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret/internal/guard"
)

// caller is the process at the other end of a request's connection.
type caller struct {
	inside func() bool // looks only once
}

func newCaller(remote, local netip.AddrPort) *caller {
	return &caller{sync.OnceValue(func() bool {
		return remote.IsValid() && local.IsValid() && peerInside(remote, local)
	})}
}

// insideTree reports whether that process runs inside an agent's guarded tree, as far
// as we can tell.
func (c *caller) insideTree() bool { return c != nil && c.inside() }

// Inside reports whether an environment belongs to a process inside an agent's guarded
// tree. Commands that decide, or grant that right, refuse to run there.
func Inside(environ []string) bool {
	return slices.ContainsFunc(environ, func(e string) bool {
		return strings.HasPrefix(e, guard.OwnerEnv+"=") || strings.HasPrefix(e, guard.TreeEnv+"=")
	})
}

package access

import (
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret/internal/guard"
)

// caller is who is at the other end of a request's connection.
type caller struct {
	inside func() bool // looks once
}

func newCaller(remote, local netip.AddrPort) *caller {
	return &caller{sync.OnceValue(func() bool {
		return remote.IsValid() && local.IsValid() && peerInside(remote, local)
	})}
}

// insideTree reports whether the process at the other end runs inside an agent's
// guarded tree, as far as can be told.
func (c *caller) insideTree() bool { return c != nil && c.inside() }

// Inside reports whether an environment is that of a process inside an agent's
// guarded tree. Commands that decide, or give the right to, refuse to run there.
func Inside(environ []string) bool {
	return slices.ContainsFunc(environ, func(e string) bool {
		return strings.HasPrefix(e, guard.OwnerEnv+"=") || strings.HasPrefix(e, guard.TreeEnv+"=")
	})
}

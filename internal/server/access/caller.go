package access

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret/internal/guard"
)

// caller is the process at the other end of a request's connection.
type caller struct {
	inside func() bool  // looks only once
	line   func() []int // the process and its ancestors
}

// callerKey is where the context of a connection has its caller.
type callerKey struct{}

// WithConn notes a connection in the context of its requests. Who calls is then looked up once
// for all of them, which takes milliseconds. A process inside an agent gets the connection of
// another one only if that one helps it.
func WithConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, callerKey{}, newCaller(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr())))
}

func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	return tcp.AddrPort()
}

func callerOf(r *http.Request) *caller {
	if c, ok := r.Context().Value(callerKey{}).(*caller); ok {
		return c
	}
	return newCaller(remoteOf(r), localOf(r))
}

func newCaller(remote, local netip.AddrPort) *caller {
	valid := remote.IsValid() && local.IsValid()
	return &caller{
		inside: sync.OnceValue(func() bool { return valid && peerInside(remote, local) }),
		line: sync.OnceValue(func() []int {
			if !valid {
				return nil
			}
			return peerLine(remote, local)
		}),
	}
}

// Agent reports whether the request comes from within the tree of processes of an agent
// that Terret has started, as far as we can tell, and which processes those are: the one
// that calls, and its ancestors.
func (id Identity) Agent() (line []int, inside bool) {
	if !id.caller.insideTree() {
		return nil, false
	}
	return id.caller.line(), true
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

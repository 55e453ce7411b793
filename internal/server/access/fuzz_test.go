package access

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// A host that is let in is a name of the loopback, however it is written.
func FuzzHost(f *testing.F) {
	gate := &Gate{}
	for _, h := range []string{"localhost", "localhost:7433", "127.0.0.1:1", "[::1]", "[::1]:7433", "evil.example", "localhost.evil", "[::ffff:127.0.0.1]", "0.0.0.0", "::1", "a@localhost", "localhost:1:2", "[::1%lo]"} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if gate.checkHost(&http.Request{Host: host}) != nil {
			return
		}
		name := strings.ToLower(host)
		if i := strings.LastIndexByte(name, ':'); i >= 0 && !strings.HasSuffix(name, "]") {
			name = name[:i]
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
		if name == "localhost" {
			return
		}
		if ip, err := netip.ParseAddr(name); err != nil || !ip.Unmap().IsLoopback() {
			t.Fatalf("%q is let in", host)
		}
	})
}

// Nothing but one well-formed bearer token is one.
func FuzzBearer(f *testing.F) {
	for _, h := range []string{"Bearer x", "bearer  x ", "Bearer", "Basic x", "Bearer x y", "Bearer \x00", "Bearer =", "Bearer a="} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, header string) {
		secret, ok := bearer(&http.Request{Header: http.Header{"Authorization": {header}}})
		if !ok {
			return
		}
		if secret == "" || len(secret) > maxSecret || strings.ContainsAny(secret, " \t\r\n\x00,;\"") || !strings.Contains(header, secret) || !strings.EqualFold(header[:7], "bearer ") {
			t.Fatalf("%q holds the token %q", header, secret)
		}
	})
}

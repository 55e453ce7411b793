package access

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/terret-dev/terret"
)

// splitHost splits a Host header. ok is false unless it is a name or an address, with
// or without a port.
func splitHost(host string) (name, port string, ok bool) {
	name = host
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		name = host[1 : len(host)-1]
	} else if strings.Contains(host, ":") {
		var err error
		if name, port, err = net.SplitHostPort(host); err != nil || port == "" || strings.Trim(port, "0123456789") != "" {
			return "", "", false
		}
	}
	bad := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("@/\\?#%,;\"'<>", r) }
	if name == "" || strings.ContainsFunc(name, bad) {
		return "", "", false
	}
	return strings.ToLower(name), port, true
}

// checkHost refuses a request that was sent to a name that is not the server's:
// otherwise a page whose own name points here would get in. Loopback names and the
// address that the connection was made to are the server's, with any port, because
// tunnels use other ports.
func (g *Gate) checkHost(r *http.Request) error {
	name, port, ok := splitHost(r.Host)
	if ok && (isLoopback(name) || g.hosts[name] || g.hosts[net.JoinHostPort(name, port)]) {
		return nil
	}
	if ip, err := netip.ParseAddr(name); ok && err == nil {
		if local := localOf(r); local.IsValid() && local.Addr().Unmap() == ip.Unmap() && !ip.Unmap().IsUnspecified() {
			return nil
		}
	}
	return terret.Errorf(terret.CodeForbidden, "the Host %q is not a name of this server; use localhost, or start the server with --host", r.Host)
}

// checkOrigin refuses requests from pages of other origins. Programs send neither
// header. Another port is another origin. Following a link to a page that needs no
// token is fine from anywhere: it carries nothing, and the page cannot be framed.
func (g *Gate) checkOrigin(r *http.Request) error {
	if list, ok := r.Header["Origin"]; ok {
		if len(list) == 1 && (list[0] == ownOrigin(r) || g.origins[list[0]]) {
			return nil
		}
		return terret.Errorf(terret.CodeForbidden, "requests from pages of %q are refused; open Terret's own page", strings.Join(list, ", "))
	}
	switch site := strings.Join(r.Header["Sec-Fetch-Site"], ","); site {
	case "", "same-origin", "none":
		return nil
	default:
		link := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
		if link && g.public(r) && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			return nil
		}
		return terret.Errorf(terret.CodeForbidden, "requests from other pages (%s) are refused; open Terret's own page", site)
	}
}

// ownOrigin is the origin of pages that this server served to the request's Host.
func ownOrigin(r *http.Request) string {
	scheme, port := "http://", ":80"
	if r.TLS != nil {
		scheme, port = "https://", ":443"
	}
	// Browsers omit the default port, in both headers.
	return scheme + strings.TrimSuffix(strings.ToLower(r.Host), port)
}

// remoteOf and localOf are the two ends of the request's connection.
func remoteOf(r *http.Request) netip.AddrPort {
	a, _ := netip.ParseAddrPort(r.RemoteAddr) // invalid if it is not an address
	return a
}

func localOf(r *http.Request) netip.AddrPort {
	if tcp, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}

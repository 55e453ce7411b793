package reach

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// MayBePublic reports whether a host, by its name or as an address, may be on the public
// internet. Where a name leads shows when it is dialed.
func MayBePublic(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return Public(ip)
	}
	return !IsLocal(host)
}

func public(to netip.Addr) error {
	if Public(to) {
		return nil
	}
	return fmt.Errorf("it leads to %s, which is not an address of the public internet", to)
}

// NewClient makes a client for https at public addresses only, which follows no redirects. A
// proxy that the environment names is used, and resolves names in our place.
func NewClient() *http.Client {
	return &http.Client{Transport: newOutward(), CheckRedirect: stay}
}

// NewInnerClient makes a client for addresses of this machine and of private networks too,
// but not for what is on the machine's link or a cloud's metadata. It uses no proxy, and
// follows no redirects.
func NewInnerClient() *http.Client {
	return &http.Client{Transport: transport(Dialer(inner)), CheckRedirect: stay}
}

func inner(to netip.Addr) error {
	if to.IsLoopback() || !Local(to) {
		return nil
	}
	return fmt.Errorf("it leads to %s, which is only for this machine", to)
}

func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func transport(d *net.Dialer) *http.Transport {
	return &http.Transport{DialContext: d.DialContext, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 64 << 10, IdleConnTimeout: time.Minute}
}

type outward struct{ direct, proxied *http.Transport }

func newOutward() outward {
	proxied := transport(&net.Dialer{})
	proxied.Proxy = http.ProxyFromEnvironment
	return outward{transport(Dialer(public)), proxied}
}

// RoundTrip implements http.RoundTripper.
func (o outward) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || !MayBePublic(r.URL.Hostname()) {
		return nil, fmt.Errorf("%s is not an https address of the public internet", r.URL.Host)
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil {
		return o.proxied.RoundTrip(r)
	}
	return o.direct.RoundTrip(r)
}

// CloseIdleConnections is for http.Client.
func (o outward) CloseIdleConnections() {
	o.direct.CloseIdleConnections()
	o.proxied.CloseIdleConnections()
}

package mcphost

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/terret-dev/terret/internal/reach"
)

// withHeaders is a client that sends these with each request to that server. They may be
// secrets: whoever a redirect leads to does not get them.
func withHeaders(address string, headers map[string]string) *http.Client {
	return &http.Client{Transport: sending{address, headers}}
}

type sending struct {
	address string
	headers map[string]string
}

// RoundTrip implements http.RoundTripper.
func (s sending) RoundTrip(r *http.Request) (*http.Response, error) {
	own, err := url.Parse(s.address)
	if err != nil || !strings.EqualFold(own.Host, r.URL.Host) || own.Scheme == "https" && r.URL.Scheme != "https" {
		return http.DefaultTransport.RoundTrip(r)
	}
	r = r.Clone(r.Context())
	for name, value := range s.headers {
		r.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// authorityClient is a client for the authorization server that the server at an address
// names. A server elsewhere must not have us ask what only this machine reaches: itself, what
// is on its link, and the metadata of the clouds that internal/reach knows. Private networks
// are allowed: companies have both servers there.
func authorityClient(address string) *http.Client {
	client := &http.Client{Timeout: authorityPatience}
	if u, err := url.Parse(address); err != nil || !reach.IsLocal(u.Hostname()) {
		client.Transport = outward{}
	}
	return client
}

type outward struct{}

// RoundTrip implements http.RoundTripper.
func (outward) RoundTrip(r *http.Request) (*http.Response, error) {
	if reach.IsLocal(r.URL.Hostname()) {
		return nil, fmt.Errorf("it names %s, which is this machine, for signing in", r.URL.Host)
	}
	if proxy, err := http.ProxyFromEnvironment(r); err != nil || proxy != nil {
		return http.DefaultTransport.RoundTrip(r) // the proxy resolves the name, and may be local
	}
	return elsewhere().RoundTrip(r)
}

// elsewhere is a transport that connects to no local address, whatever name leads there.
var elsewhere = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil
	dialer := reach.Dialer(notLocal)
	dialer.Timeout = authorityPatience
	t.DialContext = dialer.DialContext
	return t
})

// notLocal fails for an address, as it is about to be connected to, that is local.
func notLocal(to netip.Addr) error {
	if reach.Local(to) {
		return fmt.Errorf("it leads to %s, which only this machine reaches, for signing in", to)
	}
	return nil
}

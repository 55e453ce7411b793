package mcphost

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
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
// names. A server elsewhere must not have us ask what listens on this machine only.
func authorityClient(address string) *http.Client {
	client := &http.Client{Timeout: authorityPatience}
	if u, err := url.Parse(address); err != nil || !isLocal(u.Hostname()) {
		client.Transport = outward{}
	}
	return client
}

type outward struct{}

// RoundTrip implements http.RoundTripper.
func (outward) RoundTrip(r *http.Request) (*http.Response, error) {
	if isLocal(r.URL.Hostname()) {
		return nil, fmt.Errorf("it names %s, which is this machine, for signing in", r.URL.Host)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// isLocal reports whether a host is this machine by its name.
func isLocal(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

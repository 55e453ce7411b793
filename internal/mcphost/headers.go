package mcphost

import (
	"net/http"
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

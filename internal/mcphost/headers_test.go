package mcphost

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestHeaders is that only the server gets the headers of its configuration, and not whoever
// it redirects to.
func TestHeaders(t *testing.T) {
	t.Parallel()
	var got []string
	note := func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("X-Key")) }
	other := httptest.NewServer(http.HandlerFunc(note))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(w, r)
		switch r.URL.Path {
		case "/":
			http.Redirect(w, r, "/on", http.StatusTemporaryRedirect)
		case "/on":
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	}))
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := withHeaders(server.URL, map[string]string{"X-Key": "secret"}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(got) != 3 || got[0] != "secret" || got[1] != "secret" || got[2] != "" {
		t.Errorf("%q", got)
	}
}

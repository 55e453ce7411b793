package access

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/terret-dev/terret"
)

func TestInside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ []string
		want    bool
	}{
		{nil, false},
		{[]string{"PATH=/bin", "TERRET_HOME=/x", "XTERRET_OWNER=1"}, false},
		{[]string{"PATH=/bin", "TERRET_OWNER=wrk_1:1:1"}, true},
		{[]string{"TERRET_GUARD=abc.1"}, true},
		{[]string{"TERRET_OWNER="}, true},
	} {
		if got := Inside(c.environ); got != c.want {
			t.Errorf("%q: %v", c.environ, got)
		}
	}
	wantKind(t, "the error", ErrInside("x"), terret.CodeForbidden)
}

// TestConnection holds that who calls is looked up once for a connection, and for each one anew.
func TestConnection(t *testing.T) {
	t.Parallel()
	tokens := newTokens(t)
	gate, err := NewGate(Options{Tokens: tokens})
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan *caller, 1)
	server := httptest.NewUnstartedServer(gate.handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen <- From(r.Context()).caller
	})))
	server.Config.ConnContext = WithConn
	server.Start()
	defer server.Close()
	ask := func(client *http.Client) *caller {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+adminToken(t, tokens))
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		return <-seen
	}
	one, other := &http.Client{Transport: &http.Transport{}}, &http.Client{Transport: &http.Transport{}}
	defer one.CloseIdleConnections()
	defer other.CloseIdleConnections()
	if first := ask(one); ask(one) != first || ask(other) == first {
		t.Error("connections and callers are not one to one")
	}
}

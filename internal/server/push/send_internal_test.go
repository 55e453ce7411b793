package push

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestDirect holds that the address counts that a name leads to, not the name.
func TestDirect(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	c, err := newOutward().direct.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err == nil {
		_ = c.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "not an address of the public internet") {
		t.Errorf("a connection to this machine: %v", err)
	}
}

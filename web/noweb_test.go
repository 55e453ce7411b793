//go:build noweb

package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/terret-dev/terret/web"
)

func TestSaysThatItIsNotThere(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/usage"} {
		w := httptest.NewRecorder()
		web.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "without the web UI") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

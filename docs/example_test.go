package docs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/terret-dev/terret/docs"
)

// The documentation at /docs, beside a program's own pages.
func ExampleBeside() {
	handler := docs.Beside(http.NotFoundHandler(), "1.2.3")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs/", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "1.2.3"))
	// Output: 200 true
}

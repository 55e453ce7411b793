package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/terret-dev/terret/web"
)

// A server of your own that passes /v1 on to `terret serve` can show the UI as well.
func ExampleHandler() {
	mux := http.NewServeMux()
	mux.Handle("/", web.Handler())
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}

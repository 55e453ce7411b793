package within_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/terret-dev/terret/internal/door/within"
)

type key string

// TestValues holds that a call has the values of the request that came through the door, even
// if it is made in the context of an earlier one, and the end of its own.
func TestValues(t *testing.T) {
	t.Parallel()
	server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "["+r.Context().Value(key("connection")).(string)+" "+r.Context().Value(key("call")).(string)+"]")
	})
	from := httptest.NewRequestWithContext(context.WithValue(t.Context(), key("connection"), "this"), http.MethodPost, "/", nil)
	c, err := within.Client(server, from)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.WithValue(context.WithValue(t.Context(), key("connection"), "earlier"), key("call"), "own")
	var body strings.Builder
	if err := c.Export(ctx, "x", &body); err != nil || body.String() != "[this own]" {
		t.Errorf("%s, %v", &body, err)
	}
}

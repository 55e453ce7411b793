package client_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// TestServerThatOnlyGreets holds that a server that ends every stream after its
// greeting is given up: nothing comes from it.
func TestServerThatOnlyGreets(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: c\nevent: stream.start\ndata: {\"cursor\":\"c\"}\n\n")
	}))
	defer hs.Close()
	c, err := client.New(hs.URL, client.Options{HTTP: hs.Client(), GiveUp: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for e, err := range c.AllEvents(ctx, client.AllQuery{Cursor: client.Now}) {
		if err == nil || terret.AsError(err).Code != terret.CodeConnectionFailed {
			t.Errorf("%+v %v", e, err)
		}
	}
	if n := asked.Load(); n > 3 {
		t.Errorf("it was asked %d times", n)
	}
}

package opencode

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/terret-dev/terret"
)

// transport answers every call, and remembers which were made.
type transport struct {
	mu    sync.Mutex
	calls []string
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = append(t.calls, r.URL.Path)
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("true")), Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
	}, nil
}

func (t *transport) made() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.calls)
}

// nobody is a host that nobody listens to.
type nobody struct{ terret.Host }

func (nobody) Delivered(context.Context, string) error { return nil }

// TestDenialComesLast is that a denial, which takes the other requests of the session
// with it, is told after those have been answered.
func TestDenialComesLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := &transport{}
		s := &seat{
			a: &agent{req: terret.OpenRequest{Host: nobody{}}}, c: &client{base: "http://fake", http: &http.Client{Transport: calls}},
			t: newTranslator(options{native: "ses_1"}), asks: map[string]*asking{},
		}
		for _, id := range []string{"per_1", "per_2"} {
			s.asks[id] = &asking{session: "ses_1", ctx: t.Context(), settled: make(chan struct{})}
		}
		go s.deliver(s.asks["per_1"], permissionAsked{ID: "per_1", SessionID: "ses_1"}, terret.Decision{Behavior: terret.BehaviorDeny})
		synctest.Wait()
		if n := calls.made(); n != 0 {
			t.Errorf("the denial was told before the other request was answered")
		}
		s.deliver(s.asks["per_2"], permissionAsked{ID: "per_2", SessionID: "ses_1"}, terret.Decision{Behavior: terret.BehaviorAllow})
		synctest.Wait()
		if n := calls.made(); n != 2 || calls.calls[1] != "/permission/per_1/reply" {
			t.Errorf("%v", calls.calls)
		}
	})
}

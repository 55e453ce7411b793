package httpapi_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// TestDeafReaders holds that the answer to somebody who does not read it is broken off.
func TestDeafReaders(t *testing.T) {
	t.Parallel()
	long := mock.Step{Text: strings.Repeat("x", 900_000)}
	f := newFixture(t, limits(httpapi.Limits{Write: 4 * time.Second}), script(long, long, long, long, long, long))
	s := f.session()
	f.ended(s.ID, f.prompt(s.ID, "talk").ID)
	address := strings.TrimPrefix(f.url, "http://")
	const deaf = 5
	for range deaf {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		_, _ = fmt.Fprintf(conn, "GET /v1/sessions/%s/messages HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", s.ID, address, f.token)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		text := string(f.do("GET", "/metrics", nil).body)
		if strings.Contains(text, fmt.Sprintf("terret_http_requests_total{method=\"GET\",route=\"/v1/sessions/{id}/messages\",code=\"200\"} %d\n", deaf)) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("they are still being answered:\n%s", text)
		}
	}
	f.do("GET", "/v1/sessions/"+s.ID+"/messages", nil).want(http.StatusOK, nil)
}

// TestStreamsAreShared holds that one caller's streams do not lock another out.
func TestStreamsAreShared(t *testing.T) {
	t.Parallel()
	f := newFixture(t, limits(httpapi.Limits{Streams: 4}))
	s := f.session()
	other := f.holding("other", access.View, "")
	open := func(f *fixture) int {
		res, err := http.DefaultClient.Do(f.request(t.Context(), "GET", "/v1/sessions/"+s.ID+"/events", nil, "Accept", "text/event-stream"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return res.StatusCode
	}
	for range 4 {
		if got := open(f); got != http.StatusOK {
			t.Fatal(got)
		}
	}
	if got := open(f); got != http.StatusTooManyRequests {
		t.Errorf("one too many of the same caller: %d", got)
	}
	for range 2 {
		if got := open(other); got != http.StatusOK {
			t.Errorf("another caller: %d", got)
		}
	}
	if got := open(other); got != http.StatusTooManyRequests {
		t.Errorf("one too many of both callers: %d", got)
	}
}

package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// The streams that a server can send.
const (
	greeting = "id: c\nevent: stream.start\ndata: {\"cursor\":\"c\"}\n\n"
	note     = "id: n\nevent: notification\ndata: {\"seq\":1,\"session\":\"s\"}\n\n"
)

// server answers in the test's own bubble, so that the client's clock is the test's.
// Its nth connection sends the nth text and ends; an empty text is a refusal. After the
// last text it is never reached.
type server struct {
	texts []string
	began time.Time
	asked []time.Duration // when it was, since the first time
	hang  bool            // the last connection stays open and silent
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	n := len(s.asked)
	if n == 0 {
		s.began = time.Now()
	}
	s.asked = append(s.asked, time.Since(s.began))
	if n >= len(s.texts) || s.texts[n] == "" {
		return nil, errors.New("nobody listens")
	}
	body := io.Reader(strings.NewReader(s.texts[n]))
	if s.hang && n == len(s.texts)-1 {
		body = io.MultiReader(body, silent{r.Context()})
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body), Request: r}, nil
}

// silent is a connection over which nothing comes.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, context.Cause(s.ctx)
}

// follow reads until the stream is given up, and returns how many events came and why
// there are no more.
func (s *server) follow(ctx context.Context, t *testing.T, giveUp time.Duration) (events int, last error) {
	t.Helper()
	c, err := client.New("http://server.test", client.Options{HTTP: &http.Client{Transport: s}, GiveUp: giveUp})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range c.AllEvents(ctx, client.AllQuery{Cursor: client.Now}) {
		if last = err; err == nil {
			events++
		}
	}
	return events, last
}

func (s *server) wantAsked(t *testing.T, ms ...int) {
	t.Helper()
	want := make([]time.Duration, len(ms))
	for i, n := range ms {
		want[i] = time.Duration(n) * time.Millisecond
	}
	if diff := cmp.Diff(want, s.asked); diff != "" {
		t.Errorf("the server was asked at (-want +got):\n%s", diff)
	}
}

func wantGivenUp(t *testing.T, err error) {
	t.Helper()
	if err == nil || terret.AsError(err).Code != terret.CodeConnectionFailed {
		t.Errorf("it ended with %v", err)
	}
}

// A server that is gone is asked less and less often, and given up after a minute.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		_, err := s.follow(t.Context(), t, 0)
		wantGivenUp(t, err)
		s.wantAsked(t, 0, 0, 100, 300, 700, 1500, 3100, 6300, 11300, 16300, 21300, 26300, 31300, 36300, 41300, 46300, 51300, 56300, 61300)
	})
}

// A stream over which something came begins anew: at once, with all its patience.
func TestBackoffBeginsAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{texts: []string{"", "", "", "", greeting + note}}
		n, err := s.follow(t.Context(), t, time.Second)
		wantGivenUp(t, err)
		if n != 1 {
			t.Errorf("%d events", n)
		}
		s.wantAsked(t, 0, 0, 100, 300, 700, 700, 800, 1000, 1400, 2200)
	})
}

// A server that ends every stream after its greeting is as good as gone.
func TestServerThatOnlyGreets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{texts: []string{greeting, greeting, greeting, greeting, greeting}}
		_, err := s.follow(t.Context(), t, 500*time.Millisecond)
		wantGivenUp(t, err)
		s.wantAsked(t, 0, 0, 100, 300, 700)
	})
}

// A connection over which nothing comes, not even a heartbeat, is given up for another.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{texts: []string{greeting + note}, hang: true}
		_, err := s.follow(t.Context(), t, 200*time.Millisecond)
		wantGivenUp(t, err)
		s.wantAsked(t, 0, 45_000, 45_100, 45_300)
	})
}

// Whoever has enough does not wait for the pause to end.
func TestBackoffEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		ctx, stop := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Second, func() { stop(gone) })
		began := time.Now()
		s := &server{}
		if _, err := s.follow(ctx, t, -1); !errors.Is(err, gone) {
			t.Errorf("it ended with %v", err)
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("it ended after %s", took)
		}
	})
}

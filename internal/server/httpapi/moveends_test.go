package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/test/pgtest"
)

// slowRepository is a repository that can keep git waiting.
type slowRepository struct {
	address string
	gate    atomic.Pointer[barrier]
}

// barrier is closed until somebody opens it.
type barrier struct {
	once        sync.Once
	asked, open chan struct{} // closed when git has come, and when it may go on
}

func newSlowRepository(t *testing.T) *slowRepository {
	t.Helper()
	to, err := url.Parse(servedRepository(t))
	if err != nil {
		t.Fatal(err)
	}
	s, proxy := &slowRepository{}, httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host})
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g := s.gate.Load(); g != nil {
			g.once.Do(func() { close(g.asked) })
			select {
			case <-g.open:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(hs.Close)
	s.address = hs.URL + to.Path
	return s
}

// close keeps everybody waiting who comes from now on.
func (s *slowRepository) close() *barrier {
	g := &barrier{asked: make(chan struct{}), open: make(chan struct{})}
	s.gate.Store(g)
	return g
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s: nothing happens", what)
	}
}

// TestMoveCallerGone holds that a move ends as a whole although its caller has gone away
// while the other node was at work: one session has a successor, and knows it.
func TestMoveCallerGone(t *testing.T) {
	t.Parallel()
	own, repo := pgtest.ForTest(t), newSlowRepository(t)
	a := newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{}))
	newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	old := a.begun(repo.address)
	g := repo.close()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	ended, w := make(chan struct{}), httptest.NewRecorder()
	req := a.request(ctx, "POST", "/v1/sessions/"+old.ID+"/handoff", map[string]any{"node": "b", "idle": true})
	go func() {
		defer close(ended)
		a.server.Handler().ServeHTTP(w, req)
	}()
	await(t, "the clone", g.asked)
	leave()
	close(g.open)
	await(t, "the move", ended)
	all, err := a.store.ListSessions(t.Context(), terret.SessionFilter{})
	if err != nil || len(all.Items) != 2 {
		t.Fatalf("%+v: %v", all.Items, err)
	}
	if s, err := a.store.Session(t.Context(), old.ID); err != nil || w.Code != http.StatusCreated || s.HandedTo == "" {
		t.Errorf("%+v: %v; %s", s, err, w.Body)
	}
}

// TestMoveServerStops holds that a server stops although another node is at work on a
// session of its own, which stays as it was.
func TestMoveServerStops(t *testing.T) {
	t.Parallel()
	own, repo := pgtest.ForTest(t), newSlowRepository(t)
	a := newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{}))
	b := newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	old := a.begun(repo.address)
	g := repo.close()
	defer close(g.open)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	moved, stopped, w := make(chan struct{}), make(chan struct{}), httptest.NewRecorder()
	go func() {
		defer close(stopped)
		if err := a.server.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	}()
	req := a.request(t.Context(), "POST", "/v1/sessions/"+old.ID+"/handoff", map[string]any{"node": "b", "idle": true})
	go func() {
		defer close(moved)
		a.server.Handler().ServeHTTP(w, req)
	}()
	await(t, "the clone", g.asked)
	stop()
	await(t, "the move", moved)
	await(t, "the server", stopped)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the server is stopping") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if s, err := b.store.Session(t.Context(), old.ID); err != nil || s.HandedTo != "" || s.Owner != "" {
		t.Errorf("%+v: %v", s, err)
	}
}

// lookedAt is a store that tells when somebody has looked for the sessions in a folder.
type lookedAt struct {
	terret.Store
	terret.Fleet
	then *atomic.Pointer[func()] // called once
}

func (l lookedAt) ListSessions(ctx context.Context, f terret.SessionFilter) (terret.Page[terret.Session], error) {
	page, err := l.Store.ListSessions(ctx, f)
	if f.Query != "" {
		if then := l.then.Swap(nil); then != nil {
			(*then)()
		}
	}
	return page, err
}

// TestMoveBusyMeanwhile holds that a session does not move if another one has begun to work in
// its folder while that was packed.
func TestMoveBusyMeanwhile(t *testing.T) {
	t.Parallel()
	own, release, then := pgtest.ForTest(t), make(chan struct{}), atomic.Pointer[func()]{}
	a := newFixture(t, turns([]mock.Step{{Text: "one"}}, workUntil(release)), onFleet(t, own, t.Name(), "a", terret.Node{}), func(hc *httpapi.Config, _ *engine.Config) {
		hc.Store = lookedAt{hc.Store, hc.Store.(terret.Fleet), &then}
	})
	newFixture(t, onFleet(t, own, t.Name(), "b", terret.Node{}))
	first := a.begun(servedRepository(t))
	second, work := a.neighbour(first.Cwd)
	then.Store(&work)
	p := a.do("POST", "/v1/sessions/"+first.ID+"/handoff", map[string]any{"node": "b", "idle": true}).problem(409, terret.CodeSessionBusy, "")
	if !strings.Contains(p.Detail, second.ID) {
		t.Errorf("%s", p.Detail)
	}
	close(release)
	a.waitAfter(second.ID, second.LastSeq, terret.KindTurnComplete)
}

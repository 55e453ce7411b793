package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
	"github.com/terret-dev/terret/internal/server/push"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/internal/test/pushtest"
)

var errAway = errors.New("the database is away")

// shaky is a store that fails at times.
type shaky struct {
	terret.Store
	away   atomic.Bool   // what sessions are cannot be read
	blind  atomic.Int64  // how often the end of the log cannot be read
	looked chan struct{} // has an element if it was read
}

func (s *shaky) Session(ctx context.Context, id string) (terret.Session, error) {
	if s.away.Load() {
		return terret.Session{}, errAway
	}
	return s.Store.Session(ctx, id)
}

func (s *shaky) LastPos(ctx context.Context) (int64, error) {
	if s.blind.Add(-1) >= 0 {
		return 0, errAway
	}
	pos, err := s.Store.LastPos(ctx)
	select {
	case s.looked <- struct{}{}:
	default:
	}
	return pos, err
}

// TestPushStoreFails holds that what cannot be read is not taken for gone.
func TestPushStoreFails(t *testing.T) {
	t.Parallel()
	service := pushtest.New(t)
	store := &shaky{looked: make(chan struct{}, 1)}
	f := newFixture(t, script(mock.Step{Text: "done"}), pushing(service), func(c *httpapi.Config, _ *engine.Config) {
		store.Store = c.Store
		c.Store = store
	})
	s := f.session(titled("Shaky"))
	store.blind.Store(1)
	b, _ := f.subscribe(service)
	select {
	case <-store.looked: // from here on it is told
	case <-time.After(30 * time.Second): // half of the time after which it looks by itself
		t.Fatal("nobody follows the log")
	}
	f.prompt(s.ID, "go on")
	if got := f.told(b); len(got) != 1 || got[0].Title != "Shaky" {
		t.Errorf("told %+v", got)
	}
	to, topics := f.subscriptions()[0], []push.Topic{{Session: s.ID, Ended: true, At: time.Now()}}
	store.away.Store(true)
	if got, err := f.server.PushNotes(t.Context(), to, topics); !errors.Is(err, errAway) {
		t.Errorf("while the store is away: %+v, %v", got, err)
	}
	store.away.Store(false)
	if got := f.notes(to, topics...); len(got) != 1 {
		t.Errorf("when it is back: %+v", got)
	}
	if err := os.WriteFile(filepath.Join(f.home, "push.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !f.server.WantsPush() {
		t.Error("nobody counts as wanting notifications when that cannot be read")
	}
	if err := os.Remove(filepath.Join(f.home, "push.json")); err != nil {
		t.Fatal(err)
	}
	if f.server.WantsPush() {
		t.Error("somebody wants notifications, of nobody")
	}
}

// shakyFleet is the store of a fleet from which nodes can be hidden.
type shakyFleet struct {
	shaky
	terret.Fleet
	hidden  atomic.Pointer[string]
	changed chan struct{} // has an element if a document was changed
}

func (s *shakyFleet) Nodes(ctx context.Context) ([]terret.Node, error) {
	nodes, err := s.Fleet.Nodes(ctx)
	return slices.DeleteFunc(nodes, func(n terret.Node) bool { return s.hidden.Load() != nil && n.Name == *s.hidden.Load() }), err
}

func (s *shakyFleet) ChangeDocument(ctx context.Context, name string, fn func([]byte) ([]byte, error)) error {
	err := s.Fleet.ChangeDocument(ctx, name, fn)
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return err
}

// subscriptions are those of all nodes.
func (s *shakyFleet) subscriptions(t *testing.T) []push.Subscription {
	t.Helper()
	raw, err := s.Document(t.Context(), "push")
	if err != nil {
		t.Fatal(err)
	}
	var kept struct{ Subscriptions []push.Subscription }
	if err := json.Unmarshal(raw, &kept); err != nil {
		t.Fatal(err)
	}
	return kept.Subscriptions
}

// TestPushOfOtherNode holds that the admin of a node is told by the others while the node is
// there, and not after its token has ended.
func TestPushOfOtherNode(t *testing.T) {
	t.Parallel()
	own, service := pgtest.ForTest(t), pushtest.New(t)
	var config httpapi.Config
	a := newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{}), pushing(service), func(c *httpapi.Config, _ *engine.Config) { config = *c })
	store := &shakyFleet{changed: make(chan struct{}, 1)}
	b := newFixture(t, script(mock.Step{Text: "done"}), onFleet(t, own, t.Name(), "b", terret.Node{}), pushing(service), func(c *httpapi.Config, _ *engine.Config) {
		store.Store, store.Fleet = c.Store, c.Store.(terret.Fleet)
		c.Store = store
	})
	a.subscribe(service)
	s := b.session()
	to, topic := store.subscriptions(t)[0], push.Topic{Session: s.ID, Ended: true, At: time.Now()}
	if got := b.notes(to, topic); len(got) != 1 {
		t.Errorf("told %+v", got)
	}
	name := "a"
	store.hidden.Store(&name)
	if got := b.notes(to, topic); len(got) != 0 {
		t.Errorf("told while its node is away: %+v", got)
	}
	store.away.Store(true)
	if !b.server.TellsOf(s.ID) {
		t.Error("a node does not tell of its session while the store is away")
	}
	store.away.Store(false)
	if b.server.TellsOf(terret.NewSessionID()) {
		t.Error("a node tells of a session that is not there")
	}

	// The node comes back with another admin token.
	a.server.Close()
	changed := &shakyFleet{shaky: shaky{Store: config.Store}, Fleet: config.Store.(terret.Fleet), changed: make(chan struct{}, 1)}
	var err error
	if config.Tokens, err = access.OpenShared(t.TempDir(), changed.Fleet); err != nil {
		t.Fatal(err)
	}
	config.Engine, config.Store = a.engine, changed
	next, err := httpapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(next.Close)
	select {
	case <-changed.changed:
	case <-time.After(time.Minute):
		t.Error("nothing was removed")
	}
	if left := store.subscriptions(t); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
}

// TestPushOfRetiredNode holds that the subscriptions of a node that is gone for good go,
// too, so that they do not count for ever.
func TestPushOfRetiredNode(t *testing.T) {
	t.Parallel()
	own, service := pgtest.ForTest(t), pushtest.New(t)
	store := &shakyFleet{changed: make(chan struct{}, 1)}
	newFixture(t, onFleet(t, own, t.Name(), "a", terret.Node{}), pushing(service), func(c *httpapi.Config, _ *engine.Config) {
		store.Store, store.Fleet = c.Store, c.Store.(terret.Fleet)
		c.Store = store
		for node, days := range map[string]int{"retired": 31, "on leave": 29} {
			b := service.Browser()
			s := push.Subscription{Endpoint: b.Endpoint, P256DH: b.P256DH, Auth: b.Auth, Owner: node, Node: node, SeenAt: terret.TimeOf(time.Now().AddDate(0, 0, -days))}
			if err := (&push.Book{Shared: store.Fleet}).Put(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
	})
	select {
	case <-store.changed:
	case <-time.After(time.Minute):
		t.Error("nothing was removed")
	}
	if left := store.subscriptions(t); len(left) != 1 || left[0].Node != "on leave" {
		t.Errorf("left %+v", left)
	}
}

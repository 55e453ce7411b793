package team_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
)

func TestMain(m *testing.M) {
	childMain()
	goleak.VerifyTestMain(m)
}

// claude is a scripted agent that goes by the names of Claude Code.
type claude struct{ *mock.Driver }

func (c claude) Describe() terret.Description {
	d := c.Driver.Describe()
	d.Aliases = []string{"claude-code", "agent-sdk", "sdk"}
	return d
}

// opened remembers what a driver was asked to open.
type opened struct {
	terret.Driver
	mu   sync.Mutex
	all  []terret.OpenRequest
	open int // agents that are not closed
}

func (o *opened) Describe() terret.Description { return terret.DescriptionOf(o.Driver) }

func (o *opened) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := o.Driver.Open(ctx, r)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, r)
	if err == nil {
		o.open++
		a = &closing{a, o}
	}
	return a, err
}

func (o *opened) requests() []terret.OpenRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all
}

func (o *opened) alive() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open
}

type closing struct {
	terret.Agent
	of *opened
}

func (c *closing) Close(ctx context.Context) error {
	c.of.mu.Lock()
	c.of.open--
	c.of.mu.Unlock()
	return c.Agent.Close(ctx)
}

// fixture is an engine with scripted agents and their providers.
type fixture struct {
	t         *testing.T
	engine    *engine.Engine
	store     *sqlite.Store
	home      string
	dir       string
	providers *team.Providers
}

func newFixture(t *testing.T, drivers ...terret.Driver) *fixture {
	t.Helper()
	return openFixture(t, t.TempDir(), drivers...)
}

func openFixture(t *testing.T, home string, drivers ...terret.Driver) *fixture {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: drivers, CloseGrace: 10 * time.Second, InterruptGrace: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})
	f := &fixture{t: t, engine: e, store: store, home: home, dir: t.TempDir()}
	f.providers = team.FromDrivers(f.host(), drivers)
	return f
}

func (f *fixture) host() team.Host { return team.Host{Engine: f.engine, Store: f.store} }

// agent makes an agent with the provider of that name.
func (f *fixture) agent(provider string, c team.Config) team.Agent {
	f.t.Helper()
	p, err := f.providers.Get(provider)
	if err != nil {
		f.t.Fatal(err)
	}
	if c.Cwd == "" {
		c.Cwd = f.dir
	}
	a, err := p.CreateAgent(f.t.Context(), c)
	if err != nil {
		f.t.Fatal(err)
	}
	return a
}

// said collects what an agent says about a message.
func said(ctx context.Context, a team.Agent, m team.Message) (all []team.Message, err error) {
	for m, e := range a.HandleMessage(ctx, m) {
		if e != nil {
			err = e
			continue
		}
		all = append(all, m)
	}
	return all, err
}

func client(name string) team.Config {
	return team.Config{Name: name, Credentials: map[string]any{"mode": "client"}}
}

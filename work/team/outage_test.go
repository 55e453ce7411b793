package team_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
)

// patchy is a store that cannot be read while it is down.
type patchy struct {
	terret.Store
	down atomic.Bool
	read chan struct{} // has one element if a read has failed
}

func (p *patchy) Read(ctx context.Context, q terret.ReadQuery) ([]terret.Entry, error) {
	if p.down.Load() {
		select {
		case p.read <- struct{}{}:
		default:
		}
		return nil, terret.Errorf(terret.CodeInternal, "the database is down")
	}
	return p.Store.Read(ctx, q)
}

// TestOutage holds that a team goes on after its log could not be read for a while.
func TestOutage(t *testing.T) {
	t.Parallel()
	path, dir := filepath.Join(t.TempDir(), "terret.db"), t.TempDir()
	open := func(wrap func(terret.Store) terret.Store) *crew {
		inner, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		store := wrap(inner)
		drivers := []terret.Driver{talker(func(context.Context, string, string) (string, error) { return "here", nil })}
		e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: drivers})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(e.Close(context.Background()), inner.Close()); err != nil {
				t.Error(err)
			}
		})
		host := team.Host{Engine: e, Store: store}
		return newCrew(t, &fixture{t: t, dir: dir}, func(o *team.Options) { o.Host, o.Providers = host, team.FromDrivers(host, drivers) })
	}
	store := &patchy{read: make(chan struct{}, 1)}
	other := open(func(s terret.Store) terret.Store { return s }) // has the log, so that the first one must read it
	other.spawn(team.Config{Name: "a"})
	c := open(func(s terret.Store) terret.Store { store.Store = s; return store })
	c.run()
	store.down.Store(true)
	if err := other.Bus.SetTopology(c.ctx, "ann", team.Topology{Kind: team.Filtered}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-store.read:
	case <-c.ctx.Done():
		t.Fatal("nobody reads the log")
	}
	store.down.Store(false)
	var m team.Record
	err := errors.New("not sent")
	for err != nil && c.ctx.Err() == nil { // until it looks again
		m, err = c.Bus.Send(c.ctx, team.NewMessage("ann", "are you there?", "a"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Bus.Await(c.ctx, m.ID); err != nil || len(got) != 1 || got[0].Content != "here" {
		t.Errorf("%+v, %v", got, err)
	}
}

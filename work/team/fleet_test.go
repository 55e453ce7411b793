package team_test

import (
	"context"
	"errors"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/test/pgtest"
	"github.com/terret-dev/terret/store/postgres"
	"github.com/terret-dev/terret/work/team"
)

// nodeCrew is the team on a node of a fleet, whose agents answer with the node's name.
func nodeCrew(t *testing.T, url, node, dir string) *crew {
	t.Helper()
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	drivers := []terret.Driver{talker(func(context.Context, string, string) (string, error) { return node, nil })}
	e, err := engine.New(t.Context(), engine.Config{Store: store, Drivers: drivers, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(context.Background()), store.Close()); err != nil {
			t.Error(err)
		}
	})
	if err := store.Join(t.Context(), terret.Node{Name: node, Place: node}); err != nil {
		t.Fatal(err)
	}
	host := team.Host{Engine: e, Store: store}
	return newCrew(t, &fixture{t: t, dir: dir}, func(o *team.Options) { o.Host, o.Providers = host, team.FromDrivers(host, drivers) })
}

// TestFleet holds that a member works on the node on which it joined, which has its folder,
// and only there: each node has a lock of its own.
func TestFleet(t *testing.T) {
	t.Parallel()
	url, dir := pgtest.ForTest(t).URL(t.TempDir()), t.TempDir()
	a, b := nodeCrew(t, url, "a", dir), nodeCrew(t, url, "b", dir)
	query := map[string]any{"mode": "query"}
	a.spawn(team.Config{Name: "x", Credentials: query})
	b.spawn(team.Config{Name: "y", Credentials: query})
	b.run()
	first := b.send("who are you?", "x")
	if got := a.ask("who are you?", "y"); len(got) != 1 || got[0].Content != "b" {
		t.Errorf("%+v", got)
	}
	a.run()
	got, err := b.Bus.Await(b.ctx, first.ID)
	if err != nil || len(got) != 1 || got[0].Content != "a" {
		t.Errorf("%+v, %v", got, err)
	}
}

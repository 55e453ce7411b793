package httpapi_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// told is a driver that remembers what its agents were told for each turn.
type told struct {
	terret.Driver
	mu    sync.Mutex
	turns map[string][]terret.Settings // by session
}

// listen makes all drivers remember.
func listen(d *told) option {
	return func(_ *httpapi.Config, e *engine.Config) {
		d.Driver, d.turns = e.Drivers[0], map[string][]terret.Settings{}
		e.Drivers = []terret.Driver{d}
	}
}

func (d *told) Probe(ctx context.Context) (terret.Probe, error) {
	return d.Driver.(terret.Prober).Probe(ctx)
}

func (d *told) Describe() terret.Description { return terret.DescriptionOf(d.Driver) }

func (d *told) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	a, err := d.Driver.Open(ctx, r)
	return &toldAgent{a, d, r.Session.ID}, err
}

// last is what the agent was told for the session's last turn.
func (d *told) last(t *testing.T, session string) terret.Settings {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	turns := d.turns[session]
	if len(turns) == 0 {
		t.Fatalf("session %s had no turn", session)
	}
	return turns[len(turns)-1]
}

type toldAgent struct {
	terret.Agent
	d       *told
	session string
}

func (a *toldAgent) Prompt(ctx context.Context, turn string, p terret.Prompt, s terret.Settings) error {
	a.d.mu.Lock()
	a.d.turns[a.session] = append(a.d.turns[a.session], s)
	a.d.mu.Unlock()
	return a.Agent.Prompt(ctx, turn, p, s)
}

// ended waits for the end of a turn.
func (f *fixture) ended(session, turn string) {
	f.t.Helper()
	for ev, err := range f.events("/v1/sessions/" + session + "/events?kinds=turn.complete,turn.error") {
		if err != nil {
			f.t.Fatal(err)
		}
		var e terret.Event
		if err := json.Unmarshal(ev.Data, &e); err != nil {
			f.t.Fatal(err)
		}
		if e.Turn == turn && (e.Kind() == terret.KindTurnComplete || e.Kind() == terret.KindTurnError) {
			return
		}
	}
	f.t.Fatalf("turn %s has no end", turn)
}

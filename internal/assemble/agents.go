package assemble

import (
	"context"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// probeFor is how long what is known of agents counts: finding out starts their
// programs.
const probeFor = 15 * time.Second

// Agents finds out which agents there are and what they can do, and remembers it for
// a while. It is safe for concurrent use.
type Agents struct {
	drivers []terret.Driver

	mu    sync.Mutex
	at    time.Time
	items []terret.Probe
}

// NewAgents makes Agents of drivers.
func NewAgents(drivers []terret.Driver) *Agents { return &Agents{drivers: drivers} }

// Probe asks all drivers, at the same time.
func (a *Agents) Probe(ctx context.Context) []terret.Probe {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.items != nil && time.Since(a.at) < probeFor {
		return a.items
	}
	items := make([]terret.Probe, len(a.drivers))
	var wait sync.WaitGroup
	for i, d := range a.drivers {
		wait.Go(func() { items[i] = probe(ctx, d) })
	}
	wait.Wait()
	if ctx.Err() == nil {
		a.items, a.at = items, time.Now()
	}
	return items
}

func probe(ctx context.Context, d terret.Driver) terret.Probe {
	p, ok := d.(terret.Prober)
	if !ok {
		return terret.Probe{Agent: d.Name(), Found: true, Auth: "unknown"}
	}
	found, err := p.Probe(ctx)
	if err != nil {
		return terret.Probe{Agent: d.Name(), Fix: err.Error()}
	}
	return found
}

// one asks one driver, or remembers what it said. It reports whether there is such an
// agent, and it is installed.
func (a *Agents) one(ctx context.Context, name string) (terret.Probe, bool) {
	a.mu.Lock()
	known := a.items
	if time.Since(a.at) >= probeFor {
		known = nil
	}
	a.mu.Unlock()
	for _, p := range known {
		if p.Agent == name {
			return p, p.Found
		}
	}
	for _, d := range a.drivers {
		if d.Name() == name {
			p := probe(ctx, d)
			return p, p.Found
		}
	}
	return terret.Probe{}, false
}

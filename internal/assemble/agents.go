package assemble

import (
	"context"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
)

// probeFor is how long probe results count: probing starts the agents' programs.
const probeFor = 15 * time.Second

// Agents finds out which agents are installed and what they can do, and caches that for
// a while. It is safe for concurrent use.
type Agents struct {
	drivers []terret.Driver

	mu    sync.Mutex
	at    time.Time
	items []terret.Probe
}

// NewAgents makes Agents from drivers.
func NewAgents(drivers []terret.Driver) *Agents { return &Agents{drivers: drivers} }

// Name returns the name of the agent that is known by that name or alias.
func (a *Agents) Name(alias string) string { return terret.AgentName(a.drivers, alias) }

// Probe asks all drivers, at the same time.
func (a *Agents) Probe(ctx context.Context) []terret.Probe {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.items != nil && time.Since(a.at) < probeFor {
		return a.items
	}
	items := all.Probes(ctx, a.drivers)
	if ctx.Err() == nil {
		a.items, a.at = items, time.Now()
	}
	return items
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
			p := all.Probes(ctx, []terret.Driver{d})[0]
			return p, p.Found
		}
	}
	return terret.Probe{}, false
}

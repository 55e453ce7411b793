package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
	"github.com/terret-dev/terret/internal/archive"
)

func (s *Server) agentRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/agents", id: "list-agents", tag: tagAgents, scope: access.View,
		summary: "List agents: whether each is installed and signed in, and what it can do",
		long:    "Finding out starts the agents' programs, so the answer may be some seconds old.",
	}, s.listAgents)
	handle(s, route{
		method: "GET", path: "/v1/agents/{agent}/models", id: "list-models", tag: tagAgents, scope: access.View,
		summary: "List the models of an agent",
		long:    "Some agents list their models only in a session.",
		fails:   fromAgent,
	}, s.listModels)
}

// probeFor is how long what is known of agents is taken for true: finding out
// starts their programs.
const probeFor = 15 * time.Second

// probeCache keeps what was found out of agents.
type probeCache struct {
	mu    sync.Mutex
	at    time.Time
	items []terret.Probe
}

func (c *probeCache) get(ctx context.Context, drivers []terret.Driver) []terret.Probe {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items != nil && time.Since(c.at) < probeFor {
		return c.items
	}
	items := make([]terret.Probe, len(drivers))
	var wait sync.WaitGroup
	for i, d := range drivers {
		wait.Go(func() { items[i] = probe(ctx, d) })
	}
	wait.Wait()
	if ctx.Err() == nil {
		c.items, c.at = items, time.Now()
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

func (s *Server) listAgents(ctx context.Context, _ *struct{}) (*body[terret.Page[terret.Probe]], error) {
	return page(s.probes.get(ctx, s.cfg.Drivers), nil)
}

func (s *Server) listModels(ctx context.Context, in *struct {
	Agent string `path:"agent"`
},
) (*body[terret.Page[terret.Model]], error) {
	for _, d := range s.cfg.Drivers {
		if d.Name() != archive.Agent(in.Agent) {
			continue
		}
		l, ok := d.(terret.ModelLister)
		if !ok {
			return nil, terret.Errorf(terret.CodeUnsupported, "%s lists its models only in a session", in.Agent)
		}
		return page(l.Models(ctx))
	}
	return nil, terret.Errorf(terret.CodeNotFound, "there is no agent %.64q; GET /v1/agents lists those there are", in.Agent)
}

package httpapi

import (
	"context"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/access"
)

func (s *Server) agentRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/agents", id: "list-agents", tag: tagAgents, scope: access.View,
		summary: "List agents: whether each is installed and signed in, and what it can do",
		long:    "Probing starts the agents' programs, so the answer may be some seconds old.",
	}, s.listAgents)
	handle(s, route{
		method: "GET", path: "/v1/agents/{agent}/models", id: "list-models", tag: tagAgents, scope: access.View,
		summary: "List the models of an agent",
		long:    "Some agents list their models only in a session.",
		fails:   fromAgent,
	}, s.listModels)
}

func (s *Server) listAgents(ctx context.Context, _ *struct{}) (*body[terret.Page[terret.Probe]], error) {
	return page(s.maker.Agents.Probe(ctx), nil)
}

func (s *Server) listModels(ctx context.Context, in *struct {
	Agent string `path:"agent"`
},
) (*body[terret.Page[terret.Model]], error) {
	for _, d := range s.cfg.Drivers {
		if d.Name() != terret.AgentName(s.cfg.Drivers, in.Agent) {
			continue
		}
		l, ok := d.(terret.ModelLister)
		if !ok {
			return nil, terret.Errorf(terret.CodeUnsupported, "%s lists its models only in a session", in.Agent)
		}
		return page(l.Models(ctx))
	}
	return nil, terret.Errorf(terret.CodeNotFound, "there is no agent %.64q; GET /v1/agents lists them", in.Agent)
}

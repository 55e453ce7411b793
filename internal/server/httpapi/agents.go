package httpapi

import (
	"context"
	"net/http"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
)

func (s *Server) agentRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/agents", id: "list-agents", tag: tagAgents, scope: access.View,
		summary: "List agents: whether each is installed and signed in, and what it can do",
		long:    "Probing starts the agents' programs, which may take seconds. So this answers at once with what they said last, and asks them meanwhile if that is old: then checking is set, and the next answer is newer. Only those that have not answered since the server was started are waited for. With view, a table of what each agent can do itself.",
		dialect: s.agentsDialect, views: []string{"hive"},
	}, s.listAgents)
	handle(s, route{
		method: "GET", path: "/v1/agents/{agent}/models", id: "list-models", tag: tagAgents, scope: access.View,
		summary: "List the models of an agent",
		long:    "Some agents list their models only in a session. With view, by provider.",
		fails:   fromAgent,
		dialect: s.modelsDialect, views: []string{"hive"},
	}, s.listModels)
	handle(s, route{
		method: "POST", path: "/v1/agents", id: "add-agent", tag: tagAgents, scope: access.Admin, status: http.StatusCreated,
		summary: "Add an agent: any program that speaks the Agent Client Protocol",
		long:    "It is written to the user's configuration file and can be used at once. The program is started, to see whether it answers; the response says what it can do.",
		fails:   []terret.ErrorCode{terret.CodeConflict, terret.CodeUnsupported},
	}, s.addAgent)
	handle(s, route{
		method: "DELETE", path: "/v1/agents/{agent}", id: "remove-agent", tag: tagAgents, scope: access.Admin, status: http.StatusNoContent,
		summary: "Remove an agent that was added",
		long:    "It fails while a session of the agent is at work. Its sessions stay, and can be read.",
		fails:   []terret.ErrorCode{terret.CodeNotFound, terret.CodeConflict, terret.CodeSessionBusy},
	}, s.removeAgent)
}

func (s *Server) listAgents(ctx context.Context, in *struct {
	Probe string `query:"probe" enum:"0,1" doc:"0 starts no programs and waits for none: the answer is what they said last, also before the server was started. Of the others it says what they can do, but not whether they are installed; agents of which only their program knows that are left out."`
},
) (*body[terret.Page[terret.Probe]], error) {
	if in.Probe == "0" {
		return page(s.maker.Agents.Declared(ctx), nil)
	}
	return page(s.maker.Agents.Probe(ctx), nil)
}

func (s *Server) listModels(ctx context.Context, in *struct {
	Agent string `path:"agent"`
},
) (*body[terret.Page[terret.Model]], error) {
	return page(s.models(ctx, in.Agent))
}

// models are the models of an agent.
func (s *Server) models(ctx context.Context, agent string) ([]terret.Model, error) {
	name := s.maker.Agents.Name(agent)
	for _, d := range s.maker.Agents.Drivers() {
		if d.Name() != name {
			continue
		}
		l, ok := d.(terret.ModelLister)
		if !ok {
			return nil, terret.Errorf(terret.CodeUnsupported, "%s lists its models only in a session", agent)
		}
		return l.Models(ctx)
	}
	return nil, terret.Errorf(terret.CodeNotFound, "there is no agent %.64q; GET /v1/agents lists them", agent)
}

type newAgent struct {
	Name  string   `json:"name" maxLength:"64" doc:"What to call it."`
	Argv  []string `json:"argv" minItems:"1" maxItems:"256" doc:"The program, by its full path or its name in PATH, and its arguments."`
	Env   []string `json:"env,omitempty" maxItems:"256" doc:"Variables it may see although their names look secret. NAME* matches a prefix."`
	Force bool     `json:"force,omitempty" doc:"Add it even if there is no such program yet, or it does not speak ACP."`
}

func (s *Server) addAgent(ctx context.Context, in *struct{ Body newAgent }) (*body[terret.Probe], error) {
	b := in.Body
	p, err := s.maker.Agents.Add(ctx, assemble.NewAgent{Name: b.Name, Argv: b.Argv, Env: b.Env, Force: b.Force})
	if err == nil {
		s.log.Info("an agent was added", "agent", b.Name, "program", b.Argv[0], "by", caller(ctx))
	}
	return reply(p, err)
}

func (s *Server) removeAgent(ctx context.Context, in *struct {
	Agent string `path:"agent" doc:"The agent's name."`
},
) (*nothing, error) {
	if err := s.maker.RemoveAgent(ctx, in.Agent, caller(ctx)); err != nil {
		return nil, err
	}
	s.log.Info("an agent was removed", "agent", in.Agent, "by", caller(ctx))
	return nil, nil
}

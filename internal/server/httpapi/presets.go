package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/presets"
)

func (s *Server) presetRoutes() {
	handle(s, route{
		method: "GET", path: "/v1/presets", id: "list-presets", tag: tagSessions, scope: access.View,
		summary: "List the presets of new sessions, the oldest first",
		long:    "A preset is an agent, a model, a prompt, skills and MCP servers under a name. Secrets of its servers are never shown.",
	}, s.listPresets)
	handle(s, route{
		method: "POST", path: "/v1/presets", id: "add-preset", tag: tagSessions, scope: access.Decide, status: http.StatusCreated,
		summary: "Make a preset for new sessions",
		long:    "Whoever may prompt may make sessions with it, also if it is less careful than they may be otherwise: so it takes somebody who may decide to make one.",
		fails:   []terret.ErrorCode{terret.CodeAgentNotFound},
	}, s.addPreset)
	handle(s, route{
		method: "PUT", path: "/v1/presets/{name}", id: "change-preset", tag: tagSessions, scope: access.Decide,
		summary: "Replace a preset",
		long:    "Sessions that were made with it stay as they are. Its agent cannot be changed.",
		fails:   []terret.ErrorCode{terret.CodeNotFound, terret.CodeConflict},
	}, s.changePreset)
	handle(s, route{
		method: "DELETE", path: "/v1/presets/{name}", id: "delete-preset", tag: tagSessions, scope: access.Decide, status: http.StatusNoContent,
		summary: "Delete a preset",
		long:    "Sessions that were made with it stay.",
		fails:   []terret.ErrorCode{terret.CodeNotFound},
	}, s.deletePreset)
}

func (s *Server) presets() presets.Book {
	b := presets.Book{Home: s.cfg.Home}
	if s.fleet != nil { // a nil Fleet would not be a nil Shared
		b.Shared = s.fleet
	}
	return b
}

func (s *Server) listPresets(ctx context.Context, _ *struct{}) (*body[terret.Page[presets.Preset]], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	list, err := s.presets().List(ctx)
	for i := range list {
		list[i] = list[i].Shown()
	}
	return page(list, err)
}

func (s *Server) checkPreset(p presets.Preset) error {
	if err := checkRules(map[string][]string{"disallowed_tools": p.DisallowedTools}); err != nil {
		return err
	}
	if err := checkName("model", p.Model); err != nil {
		return err
	}
	if p.Cwd != "" {
		if _, err := s.inRoots("cwd", p.Cwd); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) addPreset(ctx context.Context, in *struct{ Body presets.Preset }) (*body[presets.Preset], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	p := in.Body
	p.Agent = s.maker.Agents.Name(p.Agent)
	if !slices.ContainsFunc(s.maker.Agents.Drivers(), func(d terret.Driver) bool { return d.Name() == p.Agent }) {
		return nil, terret.Errorf(terret.CodeAgentNotFound, "there is no agent %.64q", in.Body.Agent)
	}
	if err := s.checkPreset(p); err != nil {
		return nil, err
	}
	made, err := s.presets().Add(ctx, p)
	return reply(made.Shown(), err)
}

func (s *Server) changePreset(ctx context.Context, in *struct {
	Name string `path:"name" doc:"The preset's id."`
	Body presets.Preset
},
) (*body[presets.Preset], error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	if err := s.checkPreset(in.Body); err != nil {
		return nil, err
	}
	changed, err := s.presets().Change(ctx, in.Name, in.Body)
	return reply(changed.Shown(), err)
}

func (s *Server) deletePreset(ctx context.Context, in *struct {
	Name string `path:"name" doc:"The preset's id."`
},
) (*nothing, error) {
	if err := everywhere(ctx); err != nil {
		return nil, err
	}
	return nil, s.presets().Delete(ctx, in.Name)
}

// preset completes a new session, whose own settings were checked, by its preset.
func (s *Server) preset(ctx context.Context, n *newSession) (presets.Preset, error) {
	if n.Preset == "" {
		return presets.Preset{}, nil
	}
	p, err := s.presets().Get(ctx, n.Preset)
	switch {
	case err != nil && terret.AsError(err).Code == terret.CodeNotFound:
		return p, terret.Invalid("preset", "%w", err)
	case err != nil:
		return p, err
	case n.Repo != "":
		return p, terret.Invalid("preset", "it cannot be used together with repo")
	case n.Agent != "" && s.maker.Agents.Name(n.Agent) != p.Agent:
		return p, terret.Invalid("agent", "the preset is for %s", p.Agent)
	case len(n.MCP) > 0 && len(p.Servers) > 0:
		return p, terret.Invalid("mcp", "the preset has servers of its own")
	}
	n.Agent = p.Agent
	setDefault(&n.Model, p.Model)
	setDefault(&n.Cwd, p.Cwd)
	setDefault(&n.Policy, p.Policy)
	setDefault(&n.MaxTurns, p.MaxTurns)
	n.DisallowedTools = append(slices.Clip(n.DisallowedTools), p.DisallowedTools...)
	if text := p.Instructions(); text != "" && n.SystemAppend != "" {
		n.SystemAppend = text + "\n\n" + n.SystemAppend
	} else {
		n.SystemAppend += text
	}
	if len(n.MCP) == 0 {
		n.MCP = p.MCP()
	}
	return p, nil
}

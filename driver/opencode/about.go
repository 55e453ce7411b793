package opencode

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// about is what a server says of itself in a folder. It does not change.
type about struct {
	agents   []agentInfo
	tools    []string
	names    names
	mcp      []terret.MCPServer
	models   map[string]map[string]modelInfo // by provider
	model    string                          // that is used when nobody names one
	role     string                          // of the agent, when nobody names one
	commands []commandInfo
}

// loadPatience is how long a server may take to load a folder. It may install plugins.
const loadPatience = 3 * time.Minute

// about asks the server about itself. The first time in a folder it loads what it needs
// to work there.
func (c *client) about(ctx context.Context) (about, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loadPatience, terret.Errorf(terret.CodeTimeout,
		"OpenCode's server did not load the folder within %s; run `opencode` in it to see what keeps it", loadPatience))
	defer cancel()
	var (
		out       about
		servers   map[string]terret.MCPServer
		providers providerList
		config    struct {
			Model string `json:"model"`
			Agent string `json:"default_agent"`
		}
		work sync.WaitGroup
		mu   sync.Mutex
		errs error
	)
	for path, into := range map[string]any{
		"/agent": &out.agents, "/experimental/tool/ids": &out.tools, "/mcp": &servers, "/config/providers": &providers,
		"/config": &config, "/command": &out.commands,
	} {
		work.Go(func() {
			err := c.wait(ctx, http.MethodGet, path, nil, into)
			mu.Lock()
			errs = errors.Join(errs, err)
			mu.Unlock()
		})
	}
	work.Wait()
	if errs != nil {
		return about{}, terret.AsError(errs)
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		s.Name = name
		out.mcp = append(out.mcp, s)
	}
	out.names = newNames(slices.Sorted(maps.Keys(servers)))
	out.models = map[string]map[string]modelInfo{}
	for _, p := range providers.Providers {
		if p.usable() {
			out.models[p.ID] = p.Models
		}
	}
	out.model = config.Model
	out.role = config.Agent
	if _, ok := out.find(out.role); !ok {
		out.role = "build"
	}
	return out, nil
}

// find is the role of that name.
func (a about) find(name string) (agentInfo, bool) {
	i := slices.IndexFunc(a.agents, func(r agentInfo) bool { return r.Name == name })
	if i < 0 {
		return agentInfo{}, false
	}
	return a.agents[i], true
}

// primary is the role of that name in which the agent itself can work. An empty name
// and "default" are the one that is used when nobody names one.
func (a about) primary(name string) (agentInfo, error) {
	if name == "" || name == "default" {
		name = a.role
	}
	var all []string
	for _, r := range a.agents {
		if r.Mode == "subagent" || r.Hidden {
			continue
		}
		if r.Name == name {
			return r, nil
		}
		all = append(all, r.Name)
	}
	return agentInfo{}, terret.Invalid("permission_mode", "OpenCode has no agent %q; use one of %s", name, strings.Join(all, ", "))
}

// modelRef is a model, as prompts name it.
type modelRef struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
}

func (m modelRef) String() string {
	if m == (modelRef{}) {
		return ""
	}
	return m.ProviderID + "/" + m.ModelID
}

// choose finds the model of that name, PROVIDER/MODEL or MODEL, and says what to do if
// it cannot be used. An empty name is the agent's own choice.
func (a about) choose(name string) (modelRef, error) {
	name = cmp.Or(name, a.model)
	if len(a.models) == 0 {
		return modelRef{}, terret.Errorf(terret.CodeNotAuthenticated, "%s", signIn)
	}
	if name == "" {
		return modelRef{}, nil
	}
	provider, model, ok := strings.Cut(name, "/")
	if models, known := a.models[provider]; ok && known {
		if _, there := models[model]; there {
			return modelRef{provider, model}, nil
		}
		return modelRef{}, terret.Errorf(terret.CodeModelNotFound, "OpenCode has no model %q; `opencode models` lists those that it has", name)
	}
	for _, p := range slices.Sorted(maps.Keys(a.models)) {
		if _, there := a.models[p][name]; there {
			return modelRef{p, name}, nil
		}
	}
	if ok {
		return modelRef{}, terret.Errorf(terret.CodeNotAuthenticated, "%s (There is no key for %s.)", signIn, provider)
	}
	return modelRef{}, terret.Errorf(terret.CodeModelNotFound, "OpenCode has no model %q; `opencode models` lists those that it has", name)
}

// contextOf is how many tokens fit into a model.
func (a about) contextOf(provider, model string) int64 {
	return a.models[provider][model].Limit.Context
}

// offered are the tools that exist with those settings, in our words.
func (a about) offered(in terret.Settings) []string {
	gone := a.names.missing(a.tools, in)
	var out []string
	for _, tool := range a.tools {
		if tool != "invalid" && !slices.Contains(gone, tool) {
			out = append(out, a.names.ours(tool))
		}
	}
	return out
}

// gone are the tools that do not exist with those settings, and patterns for those of
// servers, in the agent's words.
func (a about) gone(in terret.Settings) []string {
	out := a.names.missing(a.tools, in)
	for _, s := range a.mcp {
		wanted := in.Tools == nil || slices.ContainsFunc(in.Tools, func(t string) bool { return t == allTools || strings.HasPrefix(t, "mcp__"+s.Name) })
		removed := slices.ContainsFunc(in.RemovedTools, func(t string) bool { return t == "mcp__"+s.Name || t == "mcp__"+s.Name+"__*" })
		if !wanted || removed {
			out = append(out, oddLetters.ReplaceAllString(s.Name, "_")+"_*")
		}
	}
	return out
}

// unasked are the tools of plugins that are not offered because they would run without
// asking.
func (a about) unasked(in terret.Settings) []string {
	var out []string
	for _, tool := range a.tools {
		if a.names.custom(tool) && !listed(in.ApprovedTools, tool) && (in.Tools == nil || listed(in.Tools, tool)) {
			out = append(out, tool)
		}
	}
	return out
}

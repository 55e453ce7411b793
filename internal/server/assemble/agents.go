package assemble

import (
	"context"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/server/config"
)

// Agents knows the agents: which there are, whether they are installed, and what they
// can do, which it remembers (probes.go). Agents that the user's file adds or no longer
// has count at once. It is safe for concurrent use.
type Agents struct {
	fixed   []terret.Driver
	options Options // of the harness; empty if agents cannot be added
	probes  probes

	list  sync.Mutex // guards what follows
	added map[string]terret.Driver
	user  map[string]config.Agent // as the file was last read
	file  stamp
	// APIs for the native agent: those of the user's file as it was last read, and those
	// that other places of the configuration say. Nil until it was read.
	own, others map[string]native.Provider
	news        int // how often added changed
}

// NewAgents makes Agents from drivers.
func NewAgents(drivers []terret.Driver) *Agents { return &Agents{fixed: drivers} }

// newAgents makes the agents that the options ask for.
func newAgents(o Options) (*Agents, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Drivers != nil {
		return NewAgents(o.Drivers), nil
	}
	a := &Agents{options: o, added: map[string]terret.Driver{}}
	c := driversOf(o, o.Config.Agents)
	c.Providers, c.MoreProviders = nil, a.Providers
	drivers, err := all.Drivers(c)
	if err != nil {
		return nil, err
	}
	for _, d := range drivers {
		if o.Config.Agents[d.Name()].ACP && !builtIn(d.Name()) {
			a.added[d.Name()] = d
		} else {
			a.fixed = append(a.fixed, d)
		}
	}
	return a, nil
}

// builtIn reports whether Terret knows that agent by itself.
func builtIn(name string) bool {
	drivers, err := all.Drivers(all.Config{})
	return err == nil && slices.ContainsFunc(drivers, func(d terret.Driver) bool { return d.Name() == name })
}

func driversOf(o Options, agents map[string]config.Agent) all.Config {
	out := all.Config{Env: o.Env, ProductName: o.Product, Agents: map[string]all.Agent{}, Providers: Providers(o.Config), Prices: o.Config.Prices, MockScript: o.MockScript, SandboxHelper: o.SandboxHelper, Home: o.Home, Key: o.Key, MCPTokens: o.MCPTokens}
	if o.UserFile != "" {
		out.UserDir = filepath.Dir(o.UserFile)
	}
	for name, a := range agents {
		out.Agents[name] = all.Agent{Path: a.Path, Env: a.Env, Args: a.Args, ACP: a.ACP}
	}
	return out
}

// Providers are the APIs that the configuration adds for the native agent.
func Providers(c config.Config) map[string]native.Provider {
	out := map[string]native.Provider{}
	for name, p := range c.Providers {
		out[name] = native.Provider{BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, API: p.API, Headers: p.Headers}
	}
	return out
}

// Providers are the APIs that the configuration adds for the native agent now. Those of the
// user's file come and go with it; the others stay as they were at the start.
func (a *Agents) Providers() map[string]native.Provider {
	a.list.Lock()
	defer a.list.Unlock()
	return a.providers()
}

// providers is Providers; a.list is held.
func (a *Agents) providers() map[string]native.Provider {
	a.refresh()
	if a.own == nil { // there is no such file, or it cannot be read
		return Providers(a.options.Config)
	}
	out := maps.Clone(a.own)
	maps.Copy(out, a.others)
	return out
}

// takeProviders takes over what the user's file says; a.list is held.
func (a *Agents) takeProviders(user config.Config) {
	now := Providers(user)
	if a.own == nil {
		a.others = Providers(a.options.Config)
		maps.DeleteFunc(a.others, func(name string, p native.Provider) bool { return reflect.DeepEqual(now[name], p) })
	}
	a.own = now
}

// Drivers lists the drivers of all agents that there are now.
func (a *Agents) Drivers() []terret.Driver {
	a.list.Lock()
	defer a.list.Unlock()
	a.refresh()
	out := slices.Clone(a.fixed)
	for _, name := range slices.Sorted(maps.Keys(a.added)) {
		out = append(out, a.added[name])
	}
	return out
}

// BuiltIn reports whether an agent is one that neither comes nor goes with the user's file.
func (a *Agents) BuiltIn(name string) bool { return isOne(a.fixed, name) }

// Lookup finds an agent that was added; nil if there is none.
func (a *Agents) Lookup(name string) terret.Driver {
	a.list.Lock()
	defer a.list.Unlock()
	a.refresh()
	if d, ok := a.added[name]; ok {
		return d
	}
	return nil
}

// changes counts how often agents were added and removed.
func (a *Agents) changes() int {
	a.list.Lock()
	defer a.list.Unlock()
	a.refresh()
	return a.news
}

// Name returns the name of the agent that is known by that name or alias.
func (a *Agents) Name(alias string) string { return terret.AgentName(a.Drivers(), alias) }

// About is what the driver of an agent says about it.
func (a *Agents) About(name string) terret.Description {
	for _, d := range a.Drivers() {
		if d.Name() == name {
			return terret.DescriptionOf(d)
		}
	}
	return terret.Description{}
}

// known is what is known about an agent: at least whether it can be used, and its
// oversight. An agent that could be used a while ago is not asked again.
func (a *Agents) known(ctx context.Context, name string) terret.Probe {
	drivers, home, env := a.Drivers(), a.options.Home, a.options.Env
	if home != "" {
		if p, ok := all.Recall(name, drivers, home, env); ok {
			return p
		}
	}
	p, ok := a.One(ctx, name)
	if ok && home != "" && ctx.Err() == nil {
		all.Remember([]terret.Probe{p}, drivers, home, env)
	}
	return p
}

// Missing says what the agent lacks to be used, and what to do about it; it is empty if
// nothing is known to be missing.
func (a *Agents) Missing(ctx context.Context, name string) string {
	if !a.About(name).Program {
		return ""
	}
	p := a.known(ctx, name)
	if p.Usable() || ctx.Err() != nil {
		return ""
	}
	return name + " is not ready: " + p.Fix
}

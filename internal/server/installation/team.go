package installation

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/worktree"
	"github.com/terret-dev/terret/work/race"
	"github.com/terret-dev/terret/work/review"
	"github.com/terret-dev/terret/work/team"
	"github.com/terret-dev/terret/work/workflow"
)

// Team opens the team on the running engine, with the limits of the configuration. Its
// agents' sessions are created by m. The caller must close it before the engine.
func (h *Harness) Team(ctx context.Context, m *Sessions) (*team.Registry, error) {
	c := h.config.Team
	return m.Team(ctx, team.Limits{Hops: c.MaxHops, PerMinute: c.MaxPerMinute, CostUSD: terret.Cost(c.MaxCostUSD) * terret.USD}, h.log)
}

// Team opens the team of all who share the store. The caller must close it before the
// engine.
func (m *Sessions) Team(ctx context.Context, limits team.Limits, log *slog.Logger) (*team.Registry, error) {
	host, providers := m.Members()
	o := team.Options{Host: host, Providers: providers, Limits: limits, Log: log}
	if m.Home != "" {
		o.Lock = filepath.Join(m.Home, "team.lock")
	}
	return team.Open(ctx, o)
}

// Members makes agents that answer messages, by the names of the agents.
func (m *Sessions) Members() (team.Host, *team.Providers) {
	host := team.Host{Engine: m.Engine, Store: m.Store, Create: func(ctx context.Context, s terret.Session) (terret.Session, error) {
		_, _, s.Options.Worktree = worktree.Find(m.Home, s.Cwd) // such as that of a race
		return m.Create(ctx, s, assemble.CreateOptions{})
	}}
	providers := team.FromDrivers(host, m.Agents.Drivers())
	providers.Fallback = func(name string) team.Provider {
		for _, d := range m.Agents.Drivers() { // added since, or by another name
			if d.Name() == m.Agents.Name(name) {
				return team.FromDriver(host, d, name)
			}
		}
		return nil
	}
	return host, providers
}

// Workflows runs workflows. Env is the environment of checks.
func (m *Sessions) Workflows(env []string) *workflow.Runner {
	log, providers := m.log()
	return &workflow.Runner{Log: log, Providers: providers, Env: env, Default: m.DefaultAgent}
}

// Reviews runs reviews.
func (m *Sessions) Reviews() *review.Runner {
	log, providers := m.log()
	return &review.Runner{Log: log, Providers: providers, Default: m.DefaultAgent}
}

// Races runs races. Env is the environment of checks.
func (m *Sessions) Races(env []string) *race.Runner {
	log, providers := m.log()
	return &race.Runner{Log: log, Providers: providers, Env: env}
}

func (m *Sessions) log() (workflow.Log, *team.Providers) {
	host, providers := m.Members()
	return workflow.Log{Host: host, List: m.Store.ListSessions, Home: m.Home}, providers
}

// DefaultAgent is the agent of sessions in that folder for which nobody names one.
func (m *Sessions) DefaultAgent(ctx context.Context, cwd string) string {
	s := terret.Session{Cwd: cwd}
	if m.Defaults != nil {
		m.Defaults(ctx, &s)
	}
	return s.Agent
}

package team

import (
	"context"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// SDK is the name of the provider of Claude Code in teams.
const SDK = "sdk"

// Sessions looks sessions up; every [terret.Store] does.
type Sessions interface {
	Session(ctx context.Context, id string) (terret.Session, error)
}

// Host is where the sessions of agents live.
type Host struct {
	Engine *engine.Engine
	// Store is the engine's store, to look sessions up.
	Store Sessions
	// Create creates a session; nil means the engine does, without further defaults.
	Create func(ctx context.Context, s terret.Session) (terret.Session, error)
}

// FromDrivers returns a provider for each driver, under the driver's name, and for the
// driver known as sdk under that name, too.
func FromDrivers(h Host, drivers []terret.Driver) *Providers {
	var out Providers
	for _, d := range drivers {
		out.Register(d.Name(), func() Provider { return FromDriver(h, d, d.Name()) })
		if slices.Contains(terret.DescriptionOf(d).Aliases, SDK) {
			out.Register(SDK, func() Provider { return FromDriver(h, d, SDK) })
		}
	}
	return &out
}

// FromDriver returns a provider of a driver's agents, under any name.
func FromDriver(h Host, d terret.Driver, name string) Provider {
	return &driverProvider{host: h, driver: d, name: name}
}

// driverProvider makes agents whose messages are turns of sessions.
type driverProvider struct {
	host   Host
	driver terret.Driver
	name   string
}

var _ Provider = (*driverProvider)(nil)

// Type implements Provider.
func (p *driverProvider) Type() string { return p.name }

// ValidateCredentials implements Provider.
func (p *driverProvider) ValidateCredentials(ctx context.Context) bool {
	prober, ok := p.driver.(terret.Prober)
	if !ok {
		return true // nothing is installed, so nothing is missing
	}
	probe, err := prober.Probe(ctx)
	return err == nil && probe.Usable()
}

// CreateAgent implements Provider.
func (p *driverProvider) CreateAgent(ctx context.Context, c Config) (Agent, error) {
	if c.Type == "" {
		c.Type = p.name
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := c.session(p.driver)
	if err != nil {
		return nil, err
	}
	a := &sessionAgent{host: p.host, config: c, template: s, running: map[string]string{}}
	if c.Mode() == ModeClient {
		a.template.ID = c.Session
		if a.template.ID == "" {
			a.template.ID = terret.NewSessionID()
		}
		if _, err := a.ensure(ctx, a.template); err != nil {
			return nil, err
		}
	}
	return a, nil
}

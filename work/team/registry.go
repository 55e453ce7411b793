package team

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
)

// Options says what a registry works with. Host and Providers are required.
type Options struct {
	Host      Host
	Providers *Providers
	// Lock is a file; of all processes that share it, one at a time runs the agents. In a
	// fleet each node has its own, and runs the agents that joined there. Empty means that
	// there is only this process.
	Lock   string
	Limits Limits
	// Log is for the operator; nil discards it.
	Log *slog.Logger
}

// Registry knows the members of a team and runs its agents. It is safe for concurrent
// use. Any number of processes may have one: they all see the same team.
type Registry struct {
	// Bus carries the messages.
	Bus *Bus

	options Options
	log     *slog.Logger
	end     context.CancelFunc
	work    sync.WaitGroup

	mu     sync.Mutex
	agents map[string]*worker // that run here
}

// Open reads the team's log and follows it. The context bounds the reading. The caller
// must Close the registry before its engine.
func Open(ctx context.Context, o Options) (*Registry, error) {
	switch {
	case o.Host.Engine == nil || o.Host.Store == nil:
		return nil, terret.Invalid("Host", "a team needs an engine and its store")
	case o.Providers == nil:
		return nil, terret.Invalid("Providers", "a team needs providers; FromDrivers makes them")
	}
	r := &Registry{
		options: o, log: o.Log, agents: map[string]*worker{},
		Bus: &Bus{engine: o.Host.Engine, store: o.Host.Store, ledger: newLedger(), limits: o.Limits.withDefaults(), exists: make(chan struct{})},
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	for ev, err := range r.Bus.events(ctx, 0, false) {
		if err != nil {
			return nil, err
		}
		r.Bus.ledger.apply(ev)
	}
	life, end := context.WithCancel(context.Background())
	r.end = end
	r.work.Go(func() { r.Bus.follow(life) })
	return r, nil
}

// Close stops following the log. It is idempotent. Run must have returned.
func (r *Registry) Close() {
	r.end()
	r.work.Wait()
}

// Spawn adds a member: an agent, or a person if the type says so. Its name must be free.
func (r *Registry) Spawn(ctx context.Context, by string, c Config) (Member, error) {
	if err := c.Validate(); err != nil {
		return Member{}, err
	}
	switch _, err := r.Get(ctx, c.Name); {
	case err == nil:
		return Member{}, nameTaken(c.Name)
	case !errors.Is(err, terret.ErrNotFound):
		return Member{}, err
	}
	if lead := c.ReportsTo; lead != "" {
		if _, ok := r.Bus.ledger.member(lead); !ok {
			return Member{}, terret.Invalid("reports_to", "there is no member %q", lead)
		}
	}
	if c.Type != Person {
		var err error
		if c, err = r.prepare(ctx, c); err != nil {
			return Member{}, err
		}
	}
	config, err := json.Marshal(c)
	if err != nil {
		return Member{}, err
	}
	if err := r.Bus.note(ctx, by, terret.AgentStateChange{Name: c.Name, State: terret.AgentIdle, Config: config}); err != nil {
		return Member{}, err
	}
	m, err := r.Get(ctx, c.Name)
	if err == nil && m.Session != c.Session { // another process was faster
		err = nameTaken(c.Name)
	}
	return m, err
}

func nameTaken(name string) error {
	return terret.Errorf(terret.CodeConflict, "there already is a member %q; choose another name, or shut it down first", name)
}

// prepare checks that the agent can be made, and completes its config so that any
// process can make it again.
func (r *Registry) prepare(ctx context.Context, c Config) (_ Config, err error) {
	c = c.withoutSecrets()
	c.Node = r.options.Host.Engine.Node()
	if c.Cwd, err = filepath.Abs(c.Cwd); err != nil {
		return c, terret.Invalid("cwd", "%w", err)
	}
	if c.Mode() == ModeClient && c.Session == "" {
		c.Session = terret.NewSessionID()
	}
	a, err := r.create(ctx, c)
	if err != nil {
		return c, err
	}
	return c, a.Shutdown(ctx) // the process that runs the team makes its own
}

// create makes the agent of a member.
func (r *Registry) create(ctx context.Context, c Config) (Agent, error) {
	p, err := r.options.Providers.Get(c.Type)
	if err != nil {
		return nil, err
	}
	c.Instructions = strings.TrimSpace(c.Instructions + "\n\n" + briefing(c.Name))
	return p.CreateAgent(ctx, c)
}

// List lists the members in the order in which they joined.
func (r *Registry) List(ctx context.Context) ([]Member, error) {
	if err := r.Bus.sync(ctx); err != nil {
		return nil, err
	}
	all, _ := r.Bus.ledger.list()
	return all, nil
}

// Get returns a member.
func (r *Registry) Get(ctx context.Context, name string) (Member, error) {
	if err := r.Bus.sync(ctx); err != nil {
		return Member{}, err
	}
	m, ok := r.Bus.ledger.member(name)
	if !ok {
		return Member{}, terret.Errorf(terret.CodeNotFound, "there is no member %q; `terret team list` lists them", name)
	}
	return m, nil
}

// Shutdown takes a member out of the team and stops what it does. Its sessions stay, and
// its mail waits for the next member with that name.
func (r *Registry) Shutdown(ctx context.Context, by, name string) error {
	m, err := r.Get(ctx, name)
	if err != nil {
		return err
	}
	if err := r.Bus.note(ctx, by, terret.AgentStateChange{Name: name, State: terret.AgentTerminated, Detail: "shut down by " + by}); err != nil {
		return err
	}
	r.mu.Lock()
	w := r.agents[name]
	r.mu.Unlock()
	if w != nil {
		w.stop(ctx)
		return nil
	}
	if m.Session == "" {
		return nil
	}
	return r.options.Host.Engine.CloseSession(ctx, m.Session, by)
}

// ShutdownAll takes every member out of the team.
func (r *Registry) ShutdownAll(ctx context.Context, by string) error {
	all, err := r.List(ctx)
	for _, m := range all {
		if e := r.Shutdown(ctx, by, m.Name); !errors.Is(e, terret.ErrNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

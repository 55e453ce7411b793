package team

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/terret-dev/terret"
)

// Provider makes agents of one type.
type Provider interface {
	// Type is the name that configs use.
	Type() string
	// CreateAgent makes an agent. It starts no process: that happens with the first
	// message.
	CreateAgent(ctx context.Context, c Config) (Agent, error)
	// ValidateCredentials reports whether the agent seems to be installed and signed in.
	// It starts no session.
	ValidateCredentials(ctx context.Context) bool
}

// Agent is a member of a team that answers messages. Its methods may be called
// concurrently.
type Agent interface {
	Name() string
	Type() string
	State() terret.AgentState
	// HandleMessage gives the agent a message and yields what it says: its words, its
	// uses of tools, and last the result. An error comes last and once; it is a
	// [ProviderError] if the agent failed. The response is read to its end even if the
	// caller stops early. Handling a message again that was handled before, by this or an
	// earlier process, yields what was said then. The context bounds the reading, not the
	// agent's work.
	HandleMessage(ctx context.Context, m Message) iter.Seq2[Message, error]
	// Shutdown stops what the agent does and ends its processes. It handles no message
	// after that.
	Shutdown(ctx context.Context) error
}

// Providers is a set of providers by name. A provider is made when a caller first asks
// for it. The zero value is an empty set. It is safe for concurrent use.
type Providers struct {
	// Fallback, if set, finds providers that were not registered; it returns nil if there
	// is none.
	Fallback func(name string) Provider

	mu    sync.Mutex
	makes map[string]func() Provider
	made  map[string]Provider
}

// Register adds a provider, or replaces the one with that name. Nothing is called before
// a caller asks for it.
func (p *Providers) Register(name string, provider func() Provider) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.makes == nil {
		p.makes, p.made = map[string]func() Provider{}, map[string]Provider{}
	}
	p.makes[name] = provider
	delete(p.made, name)
}

// Get returns the provider with that name: the same one each time.
func (p *Providers) Get(name string) (Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if made, ok := p.made[name]; ok {
		return made, nil
	}
	if provider, ok := p.makes[name]; ok {
		p.made[name] = provider()
		return p.made[name], nil
	}
	if p.Fallback != nil {
		if found := p.Fallback(name); found != nil {
			return found, nil
		}
	}
	return nil, terret.Errorf(terret.CodeAgentNotFound, "there is no agent %q; `terret agents` lists them", name)
}

// Names lists the registered providers, sorted.
func (p *Providers) Names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]string, 0, len(p.makes))
	for name := range p.makes {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

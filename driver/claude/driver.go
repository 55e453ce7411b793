package claude

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// Name is the agent's name.
const Name = agentName

// Config says how to start Claude Code. The zero value takes it from PATH.
type Config struct {
	// Path is the program: a name to look up in PATH, or a path. Empty means "claude".
	Path string
	// Args are added to the arguments of every process.
	Args []string
	// Env lists further variables that the agent may see. NAME* matches a prefix,
	// and * everything that does not look secret.
	Env []string
	// Environ is the environment for probing the program; nil means the process's own.
	Environ []string
	// Servers are in-process MCP servers, by name. Every session gets them.
	Servers map[string]MCPServer
}

// MCPServer answers an agent's JSON-RPC messages. It is called concurrently.
type MCPServer interface {
	// Serve returns the response to a request, and nil for a notification.
	Serve(ctx context.Context, message json.RawMessage) (json.RawMessage, error)
}

// Driver starts Claude Code.
type Driver struct {
	cfg      Config
	patience time.Duration // how long a process may take to start
}

var (
	_ terret.Driver        = (*Driver)(nil)
	_ terret.Prober        = (*Driver)(nil)
	_ terret.Prewarmer     = (*Driver)(nil)
	_ terret.Agent         = (*agent)(nil)
	_ terret.Killer        = (*agent)(nil)
	_ terret.Steerer       = (*agent)(nil)
	_ terret.ModelLister   = (*agent)(nil)
	_ terret.ModelSetter   = (*agent)(nil)
	_ terret.ModeSetter    = (*agent)(nil)
	_ terret.CommandLister = (*agent)(nil)
	_ terret.Commander     = (*agent)(nil)
	_ terret.Forker        = (*agent)(nil)
	_ terret.Compacter     = (*agent)(nil)
	_ terret.Rewinder      = (*agent)(nil)
	_ terret.Renamer       = (*agent)(nil)
	_ terret.ContextReader = (*agent)(nil)
)

// New makes a driver.
func New(c Config) *Driver {
	if c.Path == "" {
		c.Path = "claude"
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	return &Driver{cfg: c, patience: startPatience}
}

// Name implements terret.Driver.
func (d *Driver) Name() string { return Name }

// Open implements terret.Driver. The process is up when it returns, unless the session
// is one-shot: then each turn has its own.
func (d *Driver) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	p, warm := seat.Adopt[*process](ctx, r.Warm, d.WarmKey(r))
	if err := checkSession(r.Session); err != nil {
		return nil, err
	}
	if err := checkSettings(r.Settings, r.Session); err != nil {
		return nil, err
	}
	if r.Session.OneShot {
		return newOneShot(d, r), nil
	}
	a := newAgent(d, r)
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if warm && a.take(ctx, p, r.Session.Model, r.Session.PermissionMode) == nil {
		return a, nil
	}
	if _, err := a.ready(ctx, r.Settings); err != nil {
		return nil, err
	}
	return a, nil
}

func capabilities() terret.Capabilities {
	c := seat.Capabilities([]terret.Capability{terret.CanQueue}, nil)
	c.Abilities[terret.CanRedo] = terret.Ability{OK: true, By: terret.ByDriver} // the agent goes back only
	return c
}

// oneShotCapabilities is what remains if nobody can talk to the process.
func oneShotCapabilities() terret.Capabilities {
	c := capabilities()
	c.Oversight = terret.OversightNone
	for _, name := range []terret.Capability{
		terret.CanPermissions, terret.CanQuestions, terret.CanPlan, terret.CanSteer, terret.CanEditInput, terret.CanHooks, terret.CanPrewarm,
		terret.CanCommands, terret.CanCompact, terret.CanFork, terret.CanForkAt,
	} {
		c.Abilities[name] = terret.Ability{Reason: "the session is one-shot: its process accepts only a prompt"}
	}
	for _, name := range []terret.Capability{terret.CanUndo, terret.CanRedo} {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByHarness}
	}
	return c
}

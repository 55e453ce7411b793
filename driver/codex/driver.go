package codex

import (
	"context"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// Name is the agent's name.
const Name = "codex"

// Config says how Codex is started. The zero value takes it from PATH.
type Config struct {
	// Path is the program: a name to be looked up in PATH, or a path. Empty means
	// "codex".
	Path string
	// Args are added to the arguments of every process, before "app-server".
	Args []string
	// Env lists further variables that the agent may see.
	// NAME* stands for all that begin so.
	Env []string
	// Environ is the environment in which the program is probed; nil means the
	// process's own.
	Environ []string
}

// Driver starts Codex.
type Driver struct {
	cfg      Config
	patience time.Duration // with a process that starts
	noHooks  bool          // as where they do not work
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
		c.Path = "codex"
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	return &Driver{cfg: c, patience: startPatience}
}

// Name implements terret.Driver.
func (d *Driver) Name() string { return Name }

// Open implements terret.Driver. The process is up when it returns, and the thread is
// loaded.
func (d *Driver) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	p, warm := seat.Adopt[*process](ctx, r.Warm, d.WarmKey(r))
	if err := checkSession(r.Session, r.Settings); err != nil {
		return nil, err
	}
	a := newAgent(d, r)
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if warm && a.take(ctx, p) == nil {
		return a, nil
	}
	if _, err := a.ready(ctx, r.Settings); err != nil {
		return nil, err
	}
	return a, nil
}

// lacking is what Codex cannot do, and why.
var lacking = map[terret.Capability]string{
	terret.CanCost:   "Codex counts tokens, not money",
	terret.CanBudget: "Codex counts tokens, not money",
}

// capabilities says what Codex can do. Without hooks it asks about commands and patches
// only, and cannot be given another input.
func capabilities(hooked bool) terret.Capabilities {
	c := seat.Capabilities([]terret.Capability{terret.CanQueue}, lacking)
	if !hooked {
		c.Oversight = terret.OversightAsked
		for _, name := range []terret.Capability{terret.CanHooks, terret.CanEditInput} {
			c.Abilities[name] = terret.Ability{Reason: "Codex does not run our hooks here"}
		}
	}
	return c
}

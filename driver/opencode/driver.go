package opencode

import (
	"context"
	"os"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// Name is the agent's name.
const Name = "opencode"

// Config says how OpenCode is started. The zero value takes it from PATH.
type Config struct {
	// Path is the program: a name to be looked up in PATH, or a path. Empty means
	// "opencode".
	Path string
	// Args are added to the arguments of every server.
	Args []string
	// Env lists further variables that the agent may see.
	// NAME* stands for all that begin so.
	Env []string
	// Environ is the environment in which the program is probed; nil means the
	// process's own.
	Environ []string
	// RetryFor bounds how long a turn waits for a model's API that fails. Zero leaves it
	// to OpenCode, which gives up after about a minute.
	RetryFor time.Duration
}

// Driver starts OpenCode's server.
type Driver struct {
	cfg   Config
	pool  pool
	tempo tempo
}

var (
	_ terret.Driver        = (*Driver)(nil)
	_ terret.Prober        = (*Driver)(nil)
	_ terret.Prewarmer     = (*Driver)(nil)
	_ terret.Shutdowner    = (*Driver)(nil)
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
)

// New makes a driver.
func New(c Config) *Driver {
	if c.Path == "" {
		c.Path = "opencode"
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	return &Driver{cfg: c, tempo: usualTempo()}
}

// Name implements terret.Driver.
func (d *Driver) Name() string { return Name }

// Open implements terret.Driver. The server is up when it returns.
func (d *Driver) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	if r.Warm != nil { // it has done its work if its server is still there when ours is wanted
		defer func() { _ = r.Warm.Close(context.WithoutCancel(ctx)) }()
	}
	if err := checkSession(r.Session); err != nil {
		return nil, err
	}
	if err := checkSettings(r.Settings); err != nil {
		return nil, err
	}
	a := newAgent(d, r)
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if _, err := a.ready(ctx, r.Settings); err != nil {
		return nil, err
	}
	return a, nil
}

// Shutdown implements terret.Shutdowner.
func (d *Driver) Shutdown(context.Context) error {
	d.pool.shutdown()
	return nil
}

func capabilities() terret.Capabilities {
	return seat.Capabilities([]terret.Capability{terret.CanQueue, terret.CanBudget}, map[terret.Capability]string{
		terret.CanHooks:     "its hooks are plugins, which run in its own process",
		terret.CanPlan:      "it has a role that only plans (permission mode plan), but presents no plan to be approved",
		terret.CanEditInput: "an answer to its request cannot change the tool's input",
	})
}

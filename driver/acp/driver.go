package acp

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// Config says how a program is started. The zero value does as the profile says.
type Config struct {
	// Path is the program: a name to be looked up in PATH, or a path. Empty means that
	// of the profile.
	Path string
	// Args are added to the arguments of every process.
	Args []string
	// Env lists further variables that the agent may see.
	// NAME* stands for all that begin so.
	Env []string
	// Environ is the environment in which the program is probed; nil means the
	// process's own.
	Environ []string
}

// Driver starts one program that speaks ACP.
type Driver struct {
	p        Profile
	cfg      Config
	patience time.Duration // with a process that starts
	idle     time.Duration // see Profile.Idle
	grace    time.Duration // between a request to stop and the end of the process
}

var (
	_ terret.Driver        = (*Driver)(nil)
	_ terret.Prober        = (*Driver)(nil)
	_ terret.Prewarmer     = (*Driver)(nil)
	_ terret.Agent         = (*agent)(nil)
	_ terret.Killer        = (*agent)(nil)
	_ terret.ModelLister   = (*agent)(nil)
	_ terret.ModelSetter   = (*agent)(nil)
	_ terret.ModeSetter    = (*agent)(nil)
	_ terret.CommandLister = (*agent)(nil)
	_ terret.Commander     = (*agent)(nil)
	_ terret.Compacter     = (*agent)(nil)
	_ terret.Forker        = (*agent)(nil)
	_ terret.ContextReader = (*agent)(nil)
)

const (
	// startPatience is how long a process may take to answer at its start. It may start
	// servers before.
	startPatience = 2 * time.Minute
	// stopGrace is how long an agent that said nothing may take to end its turn.
	stopGrace = 10 * time.Second
)

// New makes a driver for the program of the profile.
func New(p Profile, c Config) *Driver {
	p.Argv = slices.Clone(p.Argv)
	if c.Path != "" {
		p.Argv[0] = c.Path
	}
	p.Argv = append(p.Argv, c.Args...)
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	idle := p.Idle
	if idle == 0 {
		idle = idleDefault
	}
	return &Driver{p: p, cfg: c, patience: startPatience, idle: idle, grace: stopGrace}
}

// Name implements terret.Driver.
func (d *Driver) Name() string { return d.p.Name }

// Open implements terret.Driver. The process is up when it returns, and has the
// session, unless that is one-shot: then each turn has its own.
func (d *Driver) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	w, warm := seat.Adopt[*waiting](ctx, r.Warm, d.WarmKey(r))
	if err := checkSettings(r.Settings); err != nil {
		return nil, err
	}
	if warm {
		return w.give(ctx, r)
	}
	a := newAgent(d, r)
	if r.Session.OneShot {
		return a, nil
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if _, err := a.ready(ctx, r.Settings); err != nil {
		return nil, err
	}
	return a, nil
}

// environ is what the process sees: what programs usually need, its own variables, and
// what a person added.
func (d *Driver) environ(env []string, dir string, trusted bool) []string {
	ours := append([]string{"PWD=" + dir}, d.p.Set...)
	if trusted {
		ours = append(ours, d.p.Trusted...)
	} else {
		ours = append(ours, d.p.Untrusted...)
	}
	hide := []string{} // what stands for trust is ours to say
	for _, v := range slices.Concat(d.p.Trusted, d.p.Untrusted) {
		name, _, _ := strings.Cut(v, "=")
		hide = append(hide, name)
	}
	return seat.Variables{Allow: slices.Concat(d.p.Env, d.cfg.Env), Hide: hide, Set: ours}.Of(env)
}

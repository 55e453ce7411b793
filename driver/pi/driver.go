package pi

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// Name is the agent's name.
const Name = "pi"

// Config says how Pi is started. The zero value takes it from PATH.
type Config struct {
	// Path is the program: a name to be looked up in PATH, or a path. Empty means "pi".
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

// Driver starts Pi.
type Driver struct {
	cfg      Config
	patience time.Duration // with a process that starts
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
		c.Path = "pi"
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	return &Driver{cfg: c, patience: startPatience}
}

// Name implements terret.Driver.
func (d *Driver) Name() string { return Name }

// Open implements terret.Driver. The process is up when it returns, and the session is
// loaded.
func (d *Driver) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	p, warm := seat.Adopt[*process](ctx, r.Warm, d.WarmKey(r))
	if err := checkRequest(r); err != nil {
		if warm {
			p.Discard(ctx)
		}
		return nil, err
	}
	a := newAgent(d, r)
	a.Switching.Lock()
	defer a.Switching.Unlock()
	if warm && a.take(ctx, p, opened{source: "new"}) == nil {
		return a, nil
	}
	if _, err := a.ready(ctx, r.Settings); err != nil {
		return nil, err
	}
	return a, nil
}

// WarmKey implements terret.Prewarmer. A process that was started beforehand has a new
// session.
func (d *Driver) WarmKey(r terret.OpenRequest) string {
	if r.Session.NativeID != "" || checkRequest(r) != nil {
		return ""
	}
	l, err := d.launchOf(r, r.Session.Model, r.Settings)
	if err != nil {
		return ""
	}
	return l.key()
}

// Prewarm implements terret.Prewarmer.
func (d *Driver) Prewarm(ctx context.Context, r terret.OpenRequest) (terret.Warm, error) {
	key := d.WarmKey(r)
	if key == "" {
		return nil, terret.Errorf(terret.CodeUnsupported, "Pi cannot be prewarmed for this session")
	}
	l, err := d.launchOf(r, r.Session.Model, r.Settings)
	if err != nil {
		return nil, err
	}
	p, err := d.start(ctx, l, r.Owner, r.Log)
	if err != nil {
		return nil, err
	}
	return &seat.Warm[*process]{Prepared: p, Key: key}, nil
}

// Describe implements terret.Describer. Pi has no permission modes: the rules decide.
func (d *Driver) Describe() terret.Description {
	can := capabilities()
	return terret.Description{
		Title: "Pi", Aliases: []string{"pi-coding-agent"}, Env: ownVariables, Program: true, Install: install, Can: &can,
		ProjectFiles: []terret.ProjectFile{
			{Path: ".pi/", Why: "settings and extensions of Pi"},
			{Path: ".agents/", Why: "skills and plugins that agents read"},
		},
	}
}

func capabilities() terret.Capabilities {
	return seat.Capabilities([]terret.Capability{terret.CanQueue, terret.CanBudget}, map[terret.Capability]string{
		terret.CanMCP:       "Pi does not know MCP",
		terret.CanSubagents: "Pi has no subagents",
		terret.CanPlan:      "Pi does not plan",
		terret.CanQuestions: "Pi has no tool to ask with; what its extensions ask is passed on",
	})
}

// install is the command that installs the newest version that was tested.
const install = "npm install -g @mariozechner/pi-coding-agent@" + newestTested

// The versions between which everything here was recorded and tested.
const (
	oldestTested = "0.73.1"
	newestTested = "0.73.1"
)

const signIn = "Pi is not signed in to any provider of models. " +
	"Run `pi` and type /login, or set the key of a provider, such as ANTHROPIC_API_KEY."

// Probe implements terret.Prober.
func (d *Driver) Probe(ctx context.Context) (terret.Probe, error) {
	return d.program().Probe(ctx, terret.Probe{Agent: Name, Capabilities: capabilities()}, d.auth)
}

func (d *Driver) program() seat.Program {
	return seat.Program{
		Name: Name, Title: "Pi", Path: d.cfg.Path, Env: d.environ(d.cfg.Environ, "/"),
		Install: install, Oldest: oldestTested, Newest: newestTested, SignIn: signIn,
	}
}

// auth asks for the models that can be used: Pi lists those of providers that somebody
// is signed in to.
func (d *Driver) auth(ctx context.Context) string {
	said, code, err := d.program().Ask(ctx, "--list-models", "--no-extensions", "--offline")
	switch {
	case err != nil || code != 0:
		return "unknown"
	case strings.HasPrefix(said, "No models available"):
		return "missing"
	}
	return "ok"
}

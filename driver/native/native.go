package native

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/mcphost"
	"github.com/terret-dev/terret/driver/native/internal/sandbox"
	"github.com/terret-dev/terret/driver/native/internal/tools"
	"github.com/terret-dev/terret/internal/proc"
)

// Name is the agent's name.
const Name = "native"

// DemoModel is the model that needs nothing.
const DemoModel = "demo"

// Config says how native agents work. The zero value takes keys from the process's
// environment. Commands see a part of the environment that the engine passes on.
type Config struct {
	// ProductName replaces "Terret" in the base prompt.
	ProductName string
	// Getenv looks up keys and base URLs; nil means the process's environment.
	Getenv func(string) string
	// Key looks up keys that are not in the environment, by the name of the provider. It
	// returns an empty one if there is none. Nil means that there are none.
	Key func(provider string) (string, error)
	// MCPTokens keep what MCP servers gave people for signing in. Nil means that servers that
	// want that are not reached.
	MCPTokens TokenStore
	// Env lists further variables that commands may see; NAME* matches a prefix.
	Env []string
	// Providers are further APIs, by the name that stands before the slash in the names
	// of their models.
	Providers map[string]Provider
	// MoreProviders, if set, are further ones, which may come and go while the driver lives.
	// They count less than those of Providers.
	MoreProviders func() map[string]Provider
	// Backoff says how long to wait after a failed attempt, counted from 1, before the
	// next. after is how long the provider asked to wait, or zero. Nil means as long as
	// the provider asks, at most a minute, or else half a second, doubled with each
	// attempt, at most 16 seconds.
	Backoff func(attempt int, after time.Duration) time.Duration
	// Prices is a file with prices and context sizes of models, in the form of
	// models.json in this package. Its models are added to those that are built in, or
	// replace them. Empty means that there is none.
	Prices string
	// UserDir is a folder of the user's with commands (commands/NAME.md), plugins and the
	// like, which are there in all projects. Those of a project are in .terret and .claude, and count if the
	// folder is trusted. Empty means that there is none.
	UserDir string
	// SandboxHelper is the program, with arguments, that starts commands in a sandbox:
	// an installed terret, as in {"/usr/bin/terret", "sandbox-exec"}. Without one, sessions
	// that ask for a sandbox are refused.
	SandboxHelper []string
	// Home is Terret's own folder, which commands in a sandbox cannot change. Empty means
	// that there is none.
	Home string
	// Replay, if set, answers in place of every model.
	Replay *Replay
	// Tools are those of the program that embeds the agent.
	Tools []Tool
}

// TokenStore keeps secrets by name. It must be safe for concurrent use.
type TokenStore interface {
	// Get returns an empty text if there is nothing of that name.
	Get(name string) (string, error)
	// Set keeps a line of text, and reports whether it is in a keyring.
	Set(ctx context.Context, name, value string) (inRing bool, err error)
}

// Driver opens native agents. They share its connections, which Shutdown closes.
type Driver struct {
	cfg   Config
	net   *transport
	table func() (table, error) // read once, when it is needed
	tools func() ([]tools.Tool, error)
	boxes *sandbox.Runner
	// ripgrep is the path of rg; empty if it is not installed.
	ripgrep func() string
}

var (
	_ terret.Driver      = (*Driver)(nil)
	_ terret.Prober      = (*Driver)(nil)
	_ terret.Shutdowner  = (*Driver)(nil)
	_ terret.Agent       = (*agent)(nil)
	_ terret.ModelLister = (*agent)(nil)
	_ terret.ModelSetter = (*agent)(nil)
	_ terret.ModeSetter  = (*agent)(nil)
	_ terret.Rewinder    = (*agent)(nil)
	_ terret.Steerer     = (*agent)(nil)
	_ terret.Compacter   = (*agent)(nil)
	_ terret.Forker      = (*agent)(nil)
	_ terret.Commander   = (*agent)(nil)

	_ terret.CommandLister = (*agent)(nil)
)

// New makes a driver.
func New(c Config) *Driver {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.ProductName == "" {
		c.ProductName = "Terret"
	}
	if c.Backoff == nil {
		c.Backoff = backoff
	}
	ripgrep := func() string {
		path, _ := exec.LookPath("rg") // without it, searches are slower
		return path
	}
	return &Driver{ripgrep: sync.OnceValue(ripgrep), cfg: c, net: newTransport(), table: sync.OnceValues(func() (table, error) { return readTable(c.Prices) }), tools: sync.OnceValues(c.made), boxes: sandbox.New(c.SandboxHelper, []string{"PATH=" + c.Getenv("PATH")})}
}

// Name implements terret.Driver.
func (d *Driver) Name() string { return Name }

// Shutdown implements terret.Shutdowner.
func (d *Driver) Shutdown(context.Context) error {
	d.net.CloseIdleConnections()
	return nil
}

// Probe implements terret.Prober.
func (d *Driver) Probe(context.Context) (terret.Probe, error) {
	p := terret.Probe{Agent: Name, Found: true, Path: "built in", Version: version(), Tested: terret.TestedYes, Auth: "ok"}
	m, err := d.describe(d.DefaultModel())
	if err != nil {
		return p, err
	}
	p.Capabilities = m.capabilities()
	if p.Model = d.DefaultModel(); p.Model == DemoModel {
		p.Auth = "missing"
		p.Fix = "set " + anthropicKey + " or OPENAI_API_KEY, or name a model of Ollama such as ollama/qwen3-coder; the demo model needs nothing"
	}
	return p, nil
}

// setting looks up a variable, without the white space around it.
func (d *Driver) setting(name string) string { return strings.TrimSpace(d.cfg.Getenv(name)) }

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// Has reports whether the model is named as native agents name models.
func (c Config) Has(model string) bool {
	_, _, ok := c.find(model)
	return ok || model == DemoModel
}

// DefaultModel is the model of a session that names none: the first for which there is
// a key.
func (d *Driver) DefaultModel() string {
	for _, p := range d.cfg.providers() {
		if p.model != "" && d.signedIn(p) {
			return p.name + "/" + p.model
		}
	}
	return DemoModel
}

// Open implements terret.Driver.
func (d *Driver) Open(ctx context.Context, r terret.OpenRequest) (terret.Agent, error) {
	name := r.Session.Model
	if name == "" {
		name = d.DefaultModel()
	}
	m, err := d.choose(name, r.Settings)
	if err != nil {
		return nil, err
	}
	a := &agent{
		driver: d, req: r, host: r.Host, model: m, mode: r.Session.PermissionMode,
		environ: proc.FilterEnv(r.Env, d.cfg.Env...), past: past{calls: map[string]bool{}}, state: tools.NewState(), spent: r.Session.CostUSD, tasks: map[string]*task{}, last: r.Settings,
	}
	if err := a.sandboxed(r.Settings); err != nil {
		return nil, err
	}
	if a.added, err = d.tools(); err != nil {
		return nil, err
	}
	source, err := a.remember(ctx)
	if err != nil {
		return nil, err
	}
	if len(r.Settings.MCP) > 0 {
		a.servers, err = mcphost.New(r.Settings.MCP, mcphost.Options{Dir: r.Session.Cwd, Environ: a.environ, Owner: r.Owner, Log: r.Log, Wrap: a.wrap(r.Settings), Ask: a.askFor, Tokens: d.cfg.MCPTokens})
		if err != nil {
			return nil, err
		}
		a.servers.Refresh(ctx)
	}
	if err := a.openPlugins(ctx); err != nil {
		return nil, errors.Join(err, a.closeServers(), a.closePlugins())
	}
	a.told = a.instructions()
	helpers, err := a.helpers(r.Settings)
	if err != nil {
		return nil, errors.Join(err, a.closeServers(), a.closePlugins())
	}
	available := available(r.Settings, a.remote(), helpers, a.skills())
	names := make([]string, len(available))
	for i, t := range available {
		names[i] = t.name
	}
	if err := r.Host.Emit(ctx, []terret.Event{{Data: terret.SessionStart{
		Source: source, Agent: Name, AgentVersion: version(), NativeID: cmp.Or(string(a.req.Session.NativeID), r.Session.ID), Model: name, Tools: names, Commands: a.listed(),
		Cwd: r.Session.Cwd, PermissionMode: r.Session.PermissionMode, MCPServers: a.states(),
	}}}, nil); err != nil {
		return nil, errors.Join(err, a.closeServers(), a.closePlugins())
	}
	if err := a.record(); err != nil {
		return nil, errors.Join(err, a.closeServers(), a.closePlugins())
	}
	a.life, a.end = context.WithCancelCause(context.Background())
	return a, nil
}

// missing refuses a session that asks for what the agent cannot do, instead of silently
// ignoring it.
func missing(in terret.Settings, c terret.Capabilities) error {
	for name, asked := range map[terret.Capability]bool{
		terret.CanBudget: in.MaxCostUSD > 0,
	} {
		if asked {
			if err := c.Need(name); err != nil {
				return err
			}
		}
	}
	return nil
}

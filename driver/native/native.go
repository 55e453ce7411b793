package native

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/mcphost"
	"github.com/terret-dev/terret/internal/proc"
)

// Name is the agent's name.
const Name = "native"

// DemoModel is the model that needs nothing.
const DemoModel = "demo"

// Config says how native agents work. The zero value uses the environment that the
// engine passes on.
type Config struct {
	// ProductName replaces "Terret" in the base prompt.
	ProductName string
	// Getenv looks up keys and base URLs; nil means the process's environment.
	Getenv func(string) string
	// Env lists further variables that commands may see; NAME* matches a prefix.
	Env []string
	// Providers are further APIs, by the name that stands before the slash in the names
	// of their models.
	Providers map[string]Provider
	// Backoff says how long to wait after a failed attempt, counted from 1, before the
	// next. after is how long the provider asked to wait, or zero. Nil means as long as
	// the provider asks, at most a minute, or else half a second, doubled with each
	// attempt, at most 16 seconds.
	Backoff func(attempt int, after time.Duration) time.Duration
}

// Driver opens native agents. They share its connections, which Shutdown closes.
type Driver struct {
	cfg Config
	net *transport
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
	return &Driver{cfg: c, net: newTransport()}
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
	found, _, ok := d.cfg.find(d.DefaultModel())
	p.Capabilities = capabilitiesOf(ok && found.thinks())
	if d.DefaultModel() == DemoModel {
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
	m, err := d.sessionModel(name, r.Settings)
	if err != nil {
		return nil, err
	}
	if err := missing(r.Settings); err != nil {
		return nil, err
	}
	a := &agent{
		driver: d, req: r, host: r.Host, model: m, mode: r.Session.PermissionMode,
		environ: proc.FilterEnv(r.Env, d.cfg.Env...), past: past{calls: map[string]bool{}},
	}
	source := "new"
	if r.Session.NativeID != "" {
		source = "resume"
		if a.past, err = rebuild(ctx, r.History); err != nil {
			return nil, err
		}
	}
	if len(r.Settings.MCP) > 0 {
		a.servers, err = mcphost.New(r.Settings.MCP, mcphost.Options{Dir: r.Session.Cwd, Environ: a.environ, Owner: r.Owner, Log: r.Log})
		if err != nil {
			return nil, err
		}
		a.servers.Refresh(ctx)
	}
	available := available(r.Settings, a.remote())
	names := make([]string, len(available))
	for i, t := range available {
		names[i] = t.name
	}
	if err := r.Host.Emit(ctx, []terret.Event{{Data: terret.SessionStart{
		Source: source, Agent: Name, AgentVersion: version(), NativeID: r.Session.ID, Model: name, Tools: names,
		Cwd: r.Session.Cwd, PermissionMode: r.Session.PermissionMode, MCPServers: a.states(),
	}}}, nil); err != nil {
		if a.servers != nil {
			err = errors.Join(err, a.servers.Close())
		}
		return nil, err
	}
	a.life, a.end = context.WithCancelCause(context.Background())
	return a, nil
}

// missing refuses a session that asks for what the agent cannot do, instead of silently
// ignoring it.
func missing(in terret.Settings) error {
	for name, asked := range map[terret.Capability]bool{
		terret.CanSubagents: len(in.Agents) > 0,
	} {
		if asked {
			return capabilities().Need(name)
		}
	}
	return nil
}

// sessionModel is model, for a session that may have a budget.
func (d *Driver) sessionModel(name string, in terret.Settings) (model, error) {
	m, err := d.model(name)
	if err == nil && in.MaxCostUSD > 0 && name != DemoModel {
		return nil, capabilities().Need(terret.CanBudget)
	}
	return m, err
}

// model makes the model of that name.
func (d *Driver) model(name string) (model, error) {
	if name == DemoModel {
		return demo{}, nil
	}
	p, rest, ok := d.cfg.find(name)
	if !ok {
		var names []string
		for _, p := range d.cfg.providers() {
			names = append(names, p.name+"/MODEL")
		}
		return nil, terret.Errorf(terret.CodeModelNotFound, "there is no model %q; use demo, or one of %s", name, strings.Join(names, ", "))
	}
	e, err := d.endpoint(p, rest)
	if err != nil {
		return nil, err
	}
	return p.speak(e), nil
}

// capabilities are those that do not depend on the model.
func capabilities() terret.Capabilities { return capabilitiesOf(false) }

// capabilitiesOf are those with a model that says by itself what it thinks, or not.
func capabilitiesOf(thinks bool) terret.Capabilities {
	c := terret.Capabilities{Oversight: terret.OversightAll, Abilities: map[terret.Capability]terret.Ability{}}
	for _, name := range []terret.Capability{
		terret.CanPermissions, terret.CanQuestions, terret.CanStream, terret.CanMultiTurn, terret.CanReconnect, terret.CanInterrupt,
		terret.CanEditInput, terret.CanSystemPrompt, terret.CanPlan, terret.CanSelectModel, terret.CanAttachments,
		terret.CanUndo, terret.CanRedo, terret.CanSteer, terret.CanCompact, terret.CanStructuredOutput, terret.CanMCP,
	} {
		c.Abilities[name] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	c.Abilities[terret.CanQueue] = terret.Ability{OK: true, By: terret.ByHarness}
	reasons := map[terret.Capability]string{
		terret.CanCost:      "providers do not report the cost of a call, and price tables go stale",
		terret.CanBudget:    "the cost of a call is unknown, so a budget cannot be enforced; use max_turns",
		terret.CanSubagents: "not yet",
		terret.CanReasoning: "Anthropic's models are not asked to think aloud yet",
	}
	if thinks {
		delete(reasons, terret.CanReasoning)
		c.Abilities[terret.CanReasoning] = terret.Ability{OK: true, By: terret.ByAgent}
	}
	for name, why := range reasons {
		c.Abilities[name] = terret.Ability{Reason: why}
	}
	return c
}

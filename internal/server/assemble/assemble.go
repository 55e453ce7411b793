// Package assemble puts a harness together: the store, the drivers, trust, personas,
// redaction, the files in project folders, and the engine on top. Package sdk uses it, and
// the command line and the server do through package installation, so that a session means
// the same everywhere.
//
// A [Harness] is made in steps, because many commands need only some of them: [New]
// touches no file, [Harness.Open] opens the store, [Harness.Start] starts the engine.
package assemble

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/all"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/project"
	"github.com/terret-dev/terret/internal/trust"
	"github.com/terret-dev/terret/internal/worktree"
	"github.com/terret-dev/terret/store/sqlite"
)

// Options says what to put together. The zero value keeps everything in memory and
// trusts nothing.
type Options struct {
	// Home is Terret's own folder. Empty keeps sessions in memory, without undo.
	Home string
	// Env is the environment: keys come from it, agents see parts of it, and its
	// secrets are kept out of everything that is stored.
	Env []string
	// Config is the configuration. If it names a store, OpenStore must be set.
	Config config.Config
	// OpenStore opens the store at an address.
	OpenStore func(ctx context.Context, address string, log *slog.Logger) (Store, error)
	// Key and MCPTokens give what a person has kept for the native agent: keys of models'
	// APIs, and sign-ins at MCP servers. Nil means that there is nothing.
	Key       func(provider string) (string, error)
	MCPTokens native.TokenStore
	// UserFile is the user's configuration file, to which agents can be added while the
	// harness runs. Empty: they cannot.
	UserFile string
	// Drivers replaces the default drivers.
	Drivers []terret.Driver
	// MockScript, if set, is the script file of the agent "mock".
	MockScript string
	// Product replaces "Terret" in system prompts.
	Product string
	// SandboxHelper, if set, is how to start this program as the helper of sandboxes.
	SandboxHelper []string
	// Files keeps Terret's files in project folders.
	Files bool
	// Log is for the operator; nil discards it.
	Log *slog.Logger
}

// Store is a store with its upkeep.
type Store interface {
	terret.Store
	terret.Maintainer
}

// Harness is what a frontend works with.
type Harness struct {
	Home   string
	Agents *Agents
	// Trust knows which folders a person trusts. It is nil without a home.
	Trust *trust.Store
	Roles *Roles
	// Watched has the sessions that people run in terminals of their own, by the agent's
	// name.
	Watched map[string]all.Watcher

	Store  Store          // set by Open
	Engine *engine.Engine // set by Start

	options Options
	files   *project.Files // nil unless they are kept
}

// New makes a harness. It touches no file.
func New(o Options) (*Harness, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	agents, err := newAgents(o)
	if err != nil {
		return nil, err
	}
	h := &Harness{Home: o.Home, Agents: agents, Watched: all.Watchers(), options: o}
	if o.Home != "" {
		h.Trust = OpenTrust(o.Home)
	}
	h.Roles = &Roles{Product: o.Product, Trusts: h.Trusts, Log: o.Log}
	if o.Files {
		h.files = project.New(project.Options{Redactor: redact.New(redact.FromEnv(o.Env)), Log: o.Log})
		h.Roles.Save = h.files.SavePrompt
	}
	return h, nil
}

// OpenTrust opens the decisions about folders. The files of every agent need one.
func OpenTrust(home string) *trust.Store {
	var places []trust.Place
	for _, f := range all.ProjectFiles() {
		places = append(places, trust.Place(f))
	}
	return trust.Open(home, places...)
}

// Trusts reports whether a person trusts the folder as it is now. A session's worktree
// is trusted if the folder it was made from is, with the same content.
func (h *Harness) Trusts(dir string) bool { return h.decision(dir) == trust.Trusted }

// mayRun reports whether a person may have their own git run in a folder, with what the
// repository's settings name: the folder is trusted, or nothing in it needs that.
func (h *Harness) mayRun(dir string) bool {
	d := h.decision(dir)
	return d == trust.Trusted || d == trust.Nothing
}

// decision is what a person decided about a folder. Without a store, or if it cannot be read,
// that is nothing.
func (h *Harness) decision(dir string) trust.Decision {
	if h.Trust == nil {
		return trust.Unknown
	}
	decision, _, err := h.Trust.Check(dir)
	if origin, ok := worktree.Origin(h.Home, dir); ok && err == nil && decision == trust.Unknown {
		decision, _, err = h.Trust.CheckCopy(dir, origin)
	}
	if err != nil {
		return trust.Unknown
	}
	return decision
}

// Open opens the store. The caller must Close the harness.
func (h *Harness) Open(ctx context.Context) error {
	if address := h.options.Config.Store; address != "" {
		s, err := h.options.OpenStore(ctx, address, h.options.Log)
		if err == nil {
			h.Store = s
		}
		return err
	}
	path := sqlite.Memory
	if h.Home != "" {
		path = filepath.Join(h.Home, "terret.db")
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{Log: h.options.Log})
	if err == nil {
		h.Store = s
	}
	return err
}

// Start starts the engine on the open store. Unattended means that nobody can be asked.
func (h *Harness) Start(ctx context.Context, unattended bool) (err error) {
	cfg := h.engineConfig()
	cfg.Unattended = cfg.Unattended || unattended
	h.Engine, err = engine.New(ctx, cfg)
	return err
}

func (h *Harness) engineConfig() engine.Config {
	o, c := h.options, h.options.Config
	timeouts := map[terret.Gate]time.Duration{}
	for gate, d := range c.Timeouts {
		timeouts[terret.Gate(gate)] = max(time.Duration(d), 0)
	}
	out := engine.Config{
		Store: h.Store, Drivers: h.Agents.fixed, Lookup: h.Agents.Lookup, Log: o.Log, Home: h.Home, Node: h.Node(), Env: o.Env,
		Trust: h.Trusts, Roles: h.Roles.For, Setup: h.setup, Title: h.title(), Secrets: redact.FromEnv(o.Env),
		IdleAfter: time.Duration(c.IdleAfter), Silence: time.Duration(c.SilentAfter), InterruptGrace: time.Duration(c.InterruptGrace), Timeouts: timeouts, Unattended: c.Unattended,
		Undo: engine.UndoLimits{Off: c.Undo.Off, MaxFiles: c.Undo.MaxFiles, MaxBytes: c.Undo.MaxBytes},
		Pool: engine.Pool{Size: c.Pool.Size, Keys: c.Pool.Keys, MaxMemory: c.Pool.MaxMemory},
	}
	out.Drivers = slices.Clone(out.Drivers)
	for _, w := range h.Watched {
		out.Drivers = append(out.Drivers, w)
	}
	if h.files != nil { // a nil *Files would not be a nil Recorder
		out.Recorder = h.files
	}
	return out
}

// Sessions creates sessions on the running engine. Defaults fills in what neither a
// person nor a persona sets; it may be nil.
func (h *Harness) Sessions(defaults func(context.Context, *terret.Session)) *Sessions {
	return &Sessions{Engine: h.Engine, Store: h.Store, Roles: h.Roles, Agents: h.Agents, Home: h.Home, Defaults: defaults, Worktree: h.worktreeOf, MayRun: h.mayRun, Env: h.options.Env}
}

// Close closes the engine and the store, if they are open, and ends what agents are
// asked. After the context ends it uses force.
func (h *Harness) Close(ctx context.Context) (err error) {
	h.Agents.Close()
	if h.Engine != nil {
		err = h.Engine.Close(ctx)
	}
	if h.Store != nil {
		err = errors.Join(err, h.Store.Close())
	}
	return err
}

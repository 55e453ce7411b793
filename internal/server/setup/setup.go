// Package setup does for a person with a browser what the commands keys, models, mcp and
// config do for one with a terminal, and installs agents: everything that must be there
// before an agent can work. What it keeps and changes is the same: both see it at once.
//
// Secrets go in and never come out: no value that it returns, and no error, holds a key, a
// token, or what a configuration keeps in headers.
//
// Whoever may use it may have this machine run programs: a configuration names programs,
// and an installer runs what it downloads. So it is for the holders of an admin token.
package setup

import (
	"context"
	"log/slog"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/keys"
)

// Options says what is set up.
type Options struct {
	// Keys and MCPTokens are what people keep for the native agent.
	Keys, MCPTokens *keys.Store
	// UserFile is the user's configuration file, which need not exist.
	UserFile string
	// Environ is the environment of the program: it may hold keys, and what is secret in it
	// is shown nowhere.
	Environ []string
	// Started is the configuration that the program works with, and Reload reads the same
	// places again; nil if they cannot be read again.
	Started config.Loaded
	Reload  func() (config.Loaded, error)
	// Dir is where installers run, and Owner marks their processes: those of an owner that is
	// gone are ended.
	Dir, Owner string
	// Agents are those of the program. They take over what is changed here.
	Agents *assemble.Agents
	// Log is for the operator; nil discards it.
	Log *slog.Logger
}

// Setup is safe for concurrent use.
type Setup struct {
	o      Options
	native *native.Driver // only asked: it opens no agent

	keeping sync.Mutex // held while a key is kept

	life    context.Context // of what runs
	end     context.CancelCauseFunc
	running sync.WaitGroup

	mu      sync.Mutex  // guards what follows
	install *installing // that runs, or the last one
	signing *signingIn  // likewise
	closed  bool
}

// New makes a Setup, which the caller must Close. It touches no file.
func New(o Options) *Setup {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Setup{o: o, native: native.New(native.Config{Getenv: getenv(o.Environ), Key: o.Keys.Get, MoreProviders: o.Agents.Providers})}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s
}

// Close ends what runs, and waits for it.
func (s *Setup) Close() {
	s.mu.Lock()
	s.closed = true
	if s.install != nil {
		s.install.cancel(errCancelled)
	}
	s.mu.Unlock()
	s.end(errCancelled)
	s.running.Wait()
	_ = s.native.Shutdown(context.Background()) // it only closes connections
}

var named = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,63}$`)

// checkName refuses what cannot be the name of a provider, as there may be a key of it.
func checkName(name string) error {
	if !named.MatchString(name) {
		return terret.Invalid("name", "%.64q cannot be the name of a provider; use letters, digits, dots, - and _", name)
	}
	return nil
}

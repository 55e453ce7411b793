// Package installation is Terret as it is installed on a machine, for the command line and
// the server. Beyond what package assemble puts together, its store may be a PostgreSQL
// database, it knows the keys that people keep, it has several agents work on one thing, it
// may be a node of a fleet, and it deletes what is old. Package sdk links none of that.
package installation

import (
	"context"
	"log/slog"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/keys"
	"github.com/terret-dev/terret/store/postgres"
	"github.com/terret-dev/terret/store/sqlite"
)

// Harness is a harness with all that an installation has.
type Harness struct {
	*assemble.Harness

	config config.Config
	log    *slog.Logger
}

// Sessions creates sessions as those of package assemble do. It also has agents work
// together, and deletes old sessions.
type Sessions struct{ assemble.Sessions }

// New makes a harness that may use PostgreSQL and the keys that people keep in the folder
// Config.Data. It touches no file.
func New(o assemble.Options) (*Harness, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.OpenStore = OpenStore
	if dir := o.Config.Data; dir != "" {
		o.Key, o.MCPTokens = keys.Open(dir).Get, keys.OpenMCP(dir)
	}
	h, err := assemble.New(o)
	if err != nil {
		return nil, err
	}
	return &Harness{h, o.Config, o.Log}, nil
}

// Sessions creates sessions on the running engine. Defaults fills in what neither a
// person nor a persona sets; it may be nil.
func (h *Harness) Sessions(defaults func(context.Context, *terret.Session)) *Sessions {
	return &Sessions{*h.Harness.Sessions(defaults)}
}

// OpenStore opens the store at an address: that of a PostgreSQL database, or the path of
// a file. The caller must Close it.
func OpenStore(ctx context.Context, address string, log *slog.Logger) (assemble.Store, error) {
	if postgres.IsURL(address) {
		s, err := postgres.Open(ctx, address, postgres.Options{Log: log})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	s, err := sqlite.Open(ctx, address, sqlite.Options{Log: log})
	if err != nil {
		return nil, err
	}
	return s, nil
}

package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine/internal/pool"
	"github.com/terret-dev/terret/internal/gitcmd"
)

// Defaults of Pool.
const (
	DefaultPoolKeys   = pool.DefaultKeys
	DefaultPoolMemory = pool.DefaultMaxMemory
)

// Pool says how many warm agents to keep, for the most recently used kinds of sessions.
// A kind is everything that is fixed when an agent starts, as its driver says. The zero
// value means none.
type Pool struct {
	Size int // warm agents of each kind
	// Keys bounds the kinds, zero means the default; the most recently used stay.
	Keys int
	// MaxMemory bounds the memory of all warm agents together, in bytes; zero means the
	// default, a negative value means no limit.
	MaxMemory int64
}

func (e *Engine) newPool() *pool.Pool {
	p := e.cfg.Pool
	return pool.New(pool.Config{
		Size: p.Size, Keys: p.Keys, MaxMemory: p.MaxMemory,
		IdleAfter: e.cfg.IdleAfter, CloseGrace: e.cfg.CloseGrace, Trusted: e.trusts, Log: e.log,
	})
}

// Prewarm starts an agent in the background for a session like s, which need not exist
// yet. It returns at once. A session that has begun needs none.
func (e *Engine) Prewarm(ctx context.Context, s terret.Session) error {
	s, err := e.complete(s)
	if err != nil || s.NativeID != "" {
		return err
	}
	d, err := e.driver(s.Agent)
	if err != nil {
		return err
	}
	w, ok := d.(terret.Prewarmer)
	if !ok {
		return terret.Errorf(terret.CodeUnsupported, "%s cannot be prewarmed", s.Agent)
	}
	if e.pool.Off() {
		return terret.Errorf(terret.CodeUnsupported, "prewarming is off; set pool.size to turn it on")
	}
	if e.isClosed() {
		return refused()
	}
	in, err := e.settingsFor(ctx, s, terret.TurnOptions{})
	if err != nil {
		return err
	}
	if !e.pool.Touch(w, e.openRequest(s, in.Settings, e.log)) {
		return terret.Errorf(terret.CodeUnsupported, "%s cannot be prewarmed with these options", s.Agent)
	}
	return nil
}

// shieldTimeout bounds how long git may take to say what a repository's settings are.
const shieldTimeout = 5 * time.Second

// openRequest is what a driver is told of a session, without what only the session's
// own agent needs.
func (e *Engine) openRequest(s terret.Session, in terret.Settings, log *slog.Logger) terret.OpenRequest {
	s.Options = terret.SessionOptions{}
	env, trusted := e.cfg.Env, e.trusts(s.Cwd)
	if !trusted && len(env) > 0 {
		ctx, cancel := context.WithTimeout(e.life, shieldTimeout)
		defer cancel()
		env = gitcmd.Shield(ctx, env, s.Cwd)
	}
	return terret.OpenRequest{Session: s, Settings: in, Trusted: trusted, Env: env, Owner: e.store.Worker(), Log: log}
}

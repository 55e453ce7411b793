package installation

import (
	"context"
	"log/slog"
	"time"

	"github.com/terret-dev/terret"
)

// When a server compacts its store and deletes old sessions: not while it starts, and
// then regularly.
const (
	firstCompact = time.Minute
	nextCompact  = time.Hour
	firstPrune   = 10 * time.Minute
	nextPrune    = 24 * time.Hour
)

// Maintain regularly drops streamed pieces that are older than keep_deltas, until the
// context ends. The store must stay open that long.
func (h *Harness) Maintain(ctx context.Context) {
	maintain(ctx, h.Store, time.Duration(h.config.KeepDeltas), h.log)
}

// maintain drops nothing if keep is negative or zero.
func maintain(ctx context.Context, m terret.Maintainer, keep time.Duration, log *slog.Logger) {
	if keep <= 0 {
		return
	}
	regularly(ctx, firstCompact, nextCompact, func() {
		switch n, err := m.Compact(ctx, time.Now().Add(-keep)); {
		case err != nil && ctx.Err() == nil:
			log.Warn("could not drop old pieces of text", "error", err)
		case n > 0:
			log.Info("dropped old pieces of text", "count", n)
		}
	})
}

// regularly does something after the first wait, then with the next one in between, until
// the context ends.
func regularly(ctx context.Context, first, next time.Duration, do func()) {
	wait := time.NewTimer(first)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		do()
		wait.Reset(next)
	}
}

// Retain deletes sessions that are older than keep_sessions once a day, until the context
// ends. Of a fleet's, each node deletes its own.
func (h *Harness) Retain(ctx context.Context, m *Sessions) {
	retain(ctx, m, time.Duration(h.config.KeepSessions), h.log)
}

// pruner is the part of [Sessions] that deletes old ones.
type pruner interface {
	Stale(ctx context.Context, o Prune) (Pruned, error)
	Prune(ctx context.Context, o Prune, stale Pruned) (Pruned, error)
}

// retain deletes nothing if keep is negative or zero.
func retain(ctx context.Context, m pruner, keep time.Duration, log *slog.Logger) {
	if keep <= 0 {
		return
	}
	regularly(ctx, firstPrune, nextPrune, func() {
		o := Prune{Before: time.Now().Add(-keep)}
		done, err := m.Stale(ctx, o)
		if err == nil {
			done, err = m.Prune(ctx, o, done)
		}
		if err != nil && ctx.Err() == nil {
			log.Warn("could not delete old sessions", "error", err)
		} else if n := len(done.Sessions); n > 0 {
			log.Info("deleted old sessions", "count", n, "events", done.Events, "older_than", keep)
		}
	})
}

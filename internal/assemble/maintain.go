package assemble

import (
	"context"
	"log/slog"
	"time"

	"github.com/terret-dev/terret"
)

// When a server compacts its store: not while it starts, and then regularly.
const (
	firstCompact = time.Minute
	nextCompact  = time.Hour
)

// Maintain regularly drops streamed pieces that are older than keep_deltas, until the
// context ends. The store must stay open that long.
func (h *Harness) Maintain(ctx context.Context) {
	maintain(ctx, h.Store, time.Duration(h.options.Config.KeepDeltas), h.options.Log)
}

// maintain drops nothing if keep is negative or zero.
func maintain(ctx context.Context, m terret.Maintainer, keep time.Duration, log *slog.Logger) {
	if keep <= 0 {
		return
	}
	wait := time.NewTimer(firstCompact)
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		switch n, err := m.Compact(ctx, time.Now().Add(-keep)); {
		case err != nil && ctx.Err() == nil:
			log.Warn("could not drop old pieces of text", "error", err)
		case n > 0:
			log.Info("dropped old pieces of text", "count", n)
		}
		wait.Reset(nextCompact)
	}
}

package assemble

import (
	"context"
	"log/slog"
	"time"

	"github.com/terret-dev/terret"
)

// When a server looks after its store: not while it starts, and then now and then.
const (
	firstCompact = time.Minute
	nextCompact  = time.Hour
)

// Maintain drops streamed pieces that are older than the configuration says, now and
// then, until the context ends. The store must be open for as long.
func (h *Harness) Maintain(ctx context.Context) {
	maintain(ctx, h.Store, time.Duration(h.options.Config.KeepDeltas), h.options.Log)
}

// maintain keeps everything if keep is negative, or nobody says how long.
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
			log.Warn("old pieces of text could not be dropped", "error", err)
		case n > 0:
			log.Info("old pieces of text were dropped", "count", n)
		}
		wait.Reset(nextCompact)
	}
}

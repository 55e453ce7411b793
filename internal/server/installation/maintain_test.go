package installation

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/terret-dev/terret"
)

// keeper notes with which cut-off it was compacted, and when.
type keeper struct {
	terret.Maintainer
	times []time.Duration // since the beginning
	kept  []time.Duration
	began time.Time
	err   error
}

func (k *keeper) Compact(_ context.Context, before time.Time) (int64, error) {
	k.times = append(k.times, time.Since(k.began))
	k.kept = append(k.kept, time.Since(before))
	return 3, k.err
}

func TestMaintain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep  time.Duration
		err   error
		times int
		logs  string
	}{
		"a day":   {keep: 24 * time.Hour, times: 3, logs: "dropped old pieces"},
		"never":   {keep: -1},
		"not set": {},
		"fails":   {keep: time.Hour, err: errors.New("disk full"), times: 3, logs: "disk full"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			k := &keeper{began: time.Now(), err: c.err}
			ctx, cancel := context.WithTimeout(t.Context(), firstCompact+2*nextCompact+time.Second)
			defer cancel()
			maintain(ctx, k, c.keep, slog.New(slog.NewTextHandler(&log, nil)))
			if len(k.times) != c.times {
				t.Fatalf("%s: compacted %d times, want %d", name, len(k.times), c.times)
			}
			for i := range k.times {
				if k.times[i] != firstCompact+time.Duration(i)*nextCompact || k.kept[i] != c.keep {
					t.Errorf("%s: after %v what was older than %v was dropped", name, k.times[i], k.kept[i])
				}
			}
			if got := log.String(); !strings.Contains(got, c.logs) || c.logs == "" && got != "" {
				t.Errorf("%s: the log says %q", name, got)
			}
		})
	}
}

package team

import (
	"fmt"
	"time"

	"github.com/terret-dev/terret"
)

// Defaults of Limits.
const (
	DefaultHops      = 32
	DefaultPerMinute = 60
	DefaultCost      = 5 * terret.USD
)

// Limits bounds a conversation: a message and everything that follows from it. When it
// reaches a limit, no agent's message is added to it, and the member who began it is told.
// Zero means the default, a negative value no limit.
type Limits struct {
	Hops      int         // messages in a row, each because of the one before
	PerMinute int         // messages by agents within a minute
	CostUSD   terret.Cost // of all turns together
}

func (l Limits) withDefaults() Limits {
	if l.Hops == 0 {
		l.Hops = DefaultHops
	}
	if l.PerMinute == 0 {
		l.PerMinute = DefaultPerMinute
	}
	if l.CostUSD == 0 {
		l.CostUSD = DefaultCost
	}
	return l
}

// talk is what is known about a conversation.
type talk struct {
	cost  terret.Cost
	times []time.Time // of messages by agents, within the last minute
}

// add counts an agent's message.
func (t *talk) add(at time.Time) {
	old := 0
	for old < len(t.times) && at.Sub(t.times[old]) >= time.Minute {
		old++
	}
	t.times = append(t.times[old:], at)
}

// exceeded says which limit one more message with that many hops would break; it is
// empty if none.
func (l Limits) exceeded(t talk, hops int, now time.Time) string {
	recent := 0
	for _, at := range t.times {
		if now.Sub(at) < time.Minute {
			recent++
		}
	}
	switch {
	case l.Hops > 0 && hops > l.Hops:
		return fmt.Sprintf("it has gone back and forth %d times", l.Hops)
	case l.PerMinute > 0 && recent >= l.PerMinute:
		return fmt.Sprintf("agents wrote %d messages within a minute", recent)
	case l.CostUSD > 0 && t.cost >= l.CostUSD:
		return fmt.Sprintf("it has cost $%s", t.cost)
	}
	return ""
}

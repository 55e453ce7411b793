package native

import (
	"time"

	"github.com/terret-dev/terret"
)

// SetStallLimit says how long nothing may come of an answer.
func (d *Driver) SetStallLimit(limit time.Duration) { d.net.limit = limit }

// DefaultBackoff is what Config.Backoff is by default.
var DefaultBackoff = backoff

// Price is what a call to the model costs, and whether that is known.
func (d *Driver) Price(model string, u terret.Usage) (terret.Cost, bool, error) {
	c, err := d.describe(model)
	if err != nil {
		return 0, false, err
	}
	return c.card.cost(u), c.priced, nil
}

// Awaited reports whether a prompt waits until the agent has done what it began by itself.
func Awaited(x terret.Agent) bool {
	a := x.(*agent)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.replaced
}

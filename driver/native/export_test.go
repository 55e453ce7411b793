package native

import "time"

// SetStallLimit says how long nothing may come of an answer.
func (d *Driver) SetStallLimit(limit time.Duration) { d.net.limit = limit }

// DefaultBackoff is what Config.Backoff is by default.
var DefaultBackoff = backoff

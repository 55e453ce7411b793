package team

import (
	"time"

	"github.com/terret-dev/terret"
)

// RestartPolicy says whether a failed agent is started again.
type RestartPolicy string

// The policies. The empty value means RestartOnFailure.
const (
	RestartNever     RestartPolicy = "never"
	RestartOnFailure RestartPolicy = "on-failure"
)

// Defaults of Restart.
const (
	DefaultRestarts   = 3
	DefaultBackoff    = time.Second
	DefaultMaxBackoff = 30 * time.Second
)

// Restart says what happens when an agent fails at a message. The zero value tries again
// three times, after one, two and four seconds.
type Restart struct {
	Policy RestartPolicy `json:"policy,omitempty"`
	// Limit is how often a message is tried again; zero means the default.
	Limit int `json:"limit,omitempty"`
	// BackoffMS is the first pause, in milliseconds; each further one is twice as long,
	// up to half a minute. Zero means the default.
	BackoffMS int `json:"backoff_ms,omitempty"`
}

// Validate rejects unknown policies and negative numbers.
func (r Restart) Validate() error {
	switch r.Policy {
	case "", RestartNever, RestartOnFailure:
	default:
		return terret.Invalid("restart.policy", "%q is not a policy; use never or on-failure", r.Policy)
	}
	if r.Limit < 0 || r.BackoffMS < 0 {
		return terret.Invalid("restart", "limit and backoff_ms cannot be negative")
	}
	return nil
}

// again reports whether to try again after that many failures, and after which pause.
func (r Restart) again(failures int) (time.Duration, bool) {
	limit := r.Limit
	if limit == 0 {
		limit = DefaultRestarts
	}
	if r.Policy == RestartNever || failures > limit {
		return 0, false
	}
	pause := time.Duration(r.BackoffMS) * time.Millisecond
	if pause == 0 {
		pause = DefaultBackoff
	}
	for range failures - 1 {
		if pause *= 2; pause >= DefaultMaxBackoff {
			break
		}
	}
	return min(pause, DefaultMaxBackoff), true
}

package engine

import (
	"time"

	"github.com/terret-dev/terret"
)

// leased is a store of which a worker owns sessions for a time only. If it cannot renew
// that, the channel is closed, and the store goes on as another worker.
type leased interface {
	Lost() <-chan struct{}
	Lease() time.Duration
}

// takeOverLoop looks for sessions of workers that died while we run, and ends what they
// have begun. Their agents need not be here for that: it is about the log. It looks
// several times in a lease, so that most of the wait is the lease itself.
func (e *Engine) takeOverLoop(lease time.Duration) {
	every := time.NewTicker(lease / 5)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-e.life.Done():
			return
		}
		if err := e.recover(e.life); err != nil && e.life.Err() == nil {
			e.log.Warn("cannot look for sessions of dead processes", "error", err)
		}
	}
}

// dropLost stops the agents of sessions that others may own by now: the store is no
// longer the worker that claimed them. It stops them at once, without a word in the log.
func (e *Engine) dropLost() {
	s, ok := e.store.(leased)
	if !ok {
		return
	}
	lost := false
	select {
	case <-s.Lost():
		lost = true
	default:
	}
	worker := e.store.Worker()
	for _, l := range e.lives() {
		l.mu.Lock()
		owner := l.session.Owner
		l.mu.Unlock()
		if lost || owner != worker {
			l.Failed(terret.ErrFenced)
		}
	}
}

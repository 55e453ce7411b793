package engine

import "github.com/terret-dev/terret"

// leased is a store of which a worker owns sessions for a time only. If it cannot renew
// that, the channel is closed, and the store goes on as another worker.
type leased interface{ Lost() <-chan struct{} }

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
			l.fail(nil, terret.ErrFenced)
		}
	}
}

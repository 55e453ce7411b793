package engine

import (
	"time"

	"github.com/terret-dev/terret"
)

// watchSilence stops a turn in which the agent says and asks nothing for too long. While
// somebody is asked, the agent may wait.
func (e *Engine) watchSilence(l *live, t *turn) {
	limit := e.cfg.Silence
	wait := time.NewTimer(limit)
	defer wait.Stop()
	for {
		select {
		case <-t.done:
			return
		case <-e.life.Done():
			return
		case <-wait.C:
		}
		left := l.silent(t, limit)
		if left <= 0 {
			return
		}
		wait.Reset(left)
	}
}

// silent stops the turn if its agent has been silent for that long. It returns how long
// it may go on being silent, or zero if there is nothing more to watch.
func (l *live) silent(t *turn, limit time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != t || t.stop != nil || l.phase == settling {
		return 0
	}
	if len(l.open) > 0 {
		return limit
	}
	if left := limit - time.Since(t.heard); left > 0 {
		return left
	}
	why := terret.Errorf(terret.CodeTimeout, "the agent said nothing for %s and was stopped; prompt the session to go on, or set silent_after", limit)
	out := l.put(nil, terret.Event{Data: terret.DiagWarning{Text: "the agent has said nothing for " + limit.String() + " and is stopped"}})
	l.write(l.stopFor(why, out), nil)
	return 0
}

// spoke notes that the agent gave a sign of life. l.mu must be held.
func (l *live) spoke(h *host) {
	if t := l.turn; t != nil && (t.host == nil || t.host == h) {
		t.heard = time.Now()
	}
}

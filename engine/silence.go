package engine

import (
	"time"

	"github.com/terret-dev/terret"
)

// watchSilence stops a turn in which the agent says and asks nothing for too long. While
// somebody is asked, the agent may wait. l.mu must be held.
func (l *live) watchSilence(t *turn) {
	if limit := l.e.cfg.Silence; limit > 0 {
		t.silence = time.AfterFunc(limit, func() { l.e.goBackground(func() { l.silent(t, limit) }) })
	}
}

// silent stops the turn if its agent has been silent for that long. Otherwise it sets the
// timer for the earliest time when it can have been.
func (l *live) silent(t *turn, limit time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != t || t.stop != nil || l.phase == settling {
		return
	}
	left := limit - time.Since(t.heard)
	if len(l.open) > 0 {
		left = limit
	}
	if left > 0 {
		t.silence.Reset(left)
		return
	}
	why := terret.Errorf(terret.CodeTimeout, "the agent said nothing for %s and was stopped; prompt the session to go on, or set silent_after", limit)
	out := l.put(nil, terret.Event{Data: terret.DiagWarning{Text: "the agent has said nothing for " + limit.String() + " and is stopped"}})
	l.write(l.stopFor(why, out), nil)
}

// spoke notes that the agent gave a sign of life. l.mu must be held.
func (l *live) spoke(h *host) {
	if t := l.turn; t != nil && (t.host == nil || t.host == h) {
		t.heard = time.Now()
	}
}

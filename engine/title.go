package engine

import (
	"context"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Bounds of what titles cost.
const (
	titleLimit = 30 * time.Second
	maxTitling = 2
)

// findTitle has a title found in the background for a session that is called by the first line
// of its prompt so far. l.mu must be held.
func (e *Engine) findTitle(l *live, line, prompt string) {
	if e.cfg.Title == nil {
		return
	}
	if l.secrets.known != nil {
		prompt = l.secrets.known.String(prompt)
	}
	e.goBackground(func() {
		ctx, cancel := context.WithTimeout(e.life, titleLimit)
		defer cancel()
		select {
		case e.titling <- struct{}{}:
		case <-ctx.Done():
			return
		}
		found, err := e.cfg.Title(ctx, prompt)
		<-e.titling
		if err != nil {
			if e.life.Err() == nil {
				l.log.Warn("the session keeps the first line of its prompt as its title", "error", err)
			}
			return
		}
		title := titleOf([]terret.Block{terret.Text(found)})
		title = strings.TrimRight(strings.Trim(title, "\"'`*# "), ".")
		l.mu.Lock()
		defer l.mu.Unlock()
		if title == "" || l.session.Title != line || l.unusable() != nil { // somebody was faster
			return
		}
		l.write(l.put(nil, terret.Event{Data: terret.SessionUpdated{Title: &title}}), nil)
	})
}

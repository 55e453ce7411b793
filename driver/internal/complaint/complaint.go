// Package complaint puts what an agent writes to its standard error into the log of its
// session.
package complaint

import (
	"context"
	"log/slog"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// Most is how many lines of one process the session's log gets: an agent that
// complains without end must not fill it. Terret's own log gets all of them.
const Most = 200

const enough = "The agent writes more to its standard error. Terret's own log has the rest."

// Log takes the lines of one process. Lines that come before there is a session are
// kept for it.
type Log struct {
	own    *slog.Logger
	redact *redact.Redactor

	mu    sync.Mutex
	host  terret.Host
	lines int
	early []terret.Event
}

// New returns a Log. own is Terret's own log.
func New(own *slog.Logger, r *redact.Redactor) *Log { return &Log{own: own, redact: r} }

// Line takes a line. It blocks only while the store does.
func (l *Log) Line(line string) {
	line = l.redact.String(line)
	l.own.Warn("the agent complains", "line", line)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.lines++; {
	case l.lines == Most+1:
		line = enough
	case l.lines > Most:
		return
	}
	l.early = append(l.early, terret.Event{Data: terret.DiagStderr{Text: line}})
	l.pass()
}

// To names the session's host. It is called once.
func (l *Log) To(host terret.Host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.host = host
	l.pass()
}

// pass gives the host what it has not had. l.mu must be held. A session that takes
// nothing more has its agent stopped by whoever reads its output.
func (l *Log) pass() {
	if l.host == nil || len(l.early) == 0 {
		return
	}
	_ = l.host.Emit(context.Background(), l.early, nil)
	l.early = nil
}

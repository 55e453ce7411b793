package seat

import (
	"context"
	"log/slog"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// mostStderr is how many lines of one process the session's log gets: an agent that
// complains without end must not fill it. Terret's own log gets all of them.
const mostStderr = 200

const enough = "The agent writes more to its standard error. Terret's own log has the rest."

// stderr puts what one process writes to its standard error into the log of its
// session. Lines that come before there is a session are kept for it.
type stderr struct {
	own    *slog.Logger // Terret's
	redact *redact.Redactor

	mu    sync.Mutex
	host  terret.Host
	lines int
	early []terret.Event
}

// line takes a line. It blocks only while the store does.
func (l *stderr) line(line string) {
	line = l.redact.String(line)
	l.own.Warn("the agent complains", "line", line)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.lines++; {
	case l.lines == mostStderr+1:
		line = enough
	case l.lines > mostStderr:
		return
	}
	l.early = append(l.early, terret.Event{Data: terret.DiagStderr{Text: line}})
	l.pass()
}

// to names the session's host. It is called once.
func (l *stderr) to(host terret.Host) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.host = host
	l.pass()
}

// pass gives the host what it has not had. l.mu must be held. A session that takes
// nothing more has its agent stopped by whoever reads its output.
func (l *stderr) pass() {
	if l.host == nil || len(l.early) == 0 {
		return
	}
	_ = l.host.Emit(context.Background(), l.early, nil)
	l.early = nil
}

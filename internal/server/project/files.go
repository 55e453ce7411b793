package project

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// maxLog is the size at which the log is rotated.
const maxLog = 10 << 20

// Options says how to keep files. The zero value is useful.
type Options struct {
	// Redactor removes secrets from everything that is written; nil means one that
	// knows what keys look like, but no values.
	Redactor *redact.Redactor
	// Log is for the operator; nil discards it.
	Log *slog.Logger
	// Off turns everything off: nothing is written.
	Off bool
}

// Files keeps the files of any number of projects. Its methods are safe for concurrent
// use; they do I/O and wait for each other.
type Files struct {
	redact *redact.Redactor
	log    *slog.Logger
	off    bool

	maxLog   int64
	lockWait time.Duration

	mu       sync.Mutex
	sessions map[string]*session
	removed  map[string]bool // removed sessions: nothing brings them back
	failing  map[string]bool // folders whose failure the operator knows
}

// session is what we know about a recorded session.
type session struct {
	stderr, parse *redact.Pieces
}

// New makes a Files.
func New(o Options) *Files {
	f := &Files{
		redact: o.Redactor, log: o.Log, off: o.Off, maxLog: maxLog, lockWait: lockWait,
		sessions: map[string]*session{}, removed: map[string]bool{}, failing: map[string]bool{},
	}
	if f.redact == nil {
		f.redact = redact.New(nil)
	}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	return f
}

// Record writes what was committed: lines of the log, and the session's file when the
// session is new here, its agent starts or ends, or a turn ends. The engine calls it,
// without entries when it has just created the session.
func (f *Files) Record(s terret.Session, entries []terret.Entry) {
	if f.off {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known, save := f.sessions[s.ID], false
	if known == nil {
		known = &session{stderr: f.redact.Pieces(), parse: f.redact.Pieces()}
		f.sessions[s.ID] = known
		save = true
	}
	var lines [][]byte
	deleted := false
	for _, entry := range entries {
		if !recorded[entry.Kind] {
			continue
		}
		ev, err := entry.Decode()
		if err != nil {
			f.log.Warn("cannot read an event", "session", s.ID, "seq", entry.Seq, "error", err)
			continue
		}
		lines = append(lines, f.lines(s, known, ev)...)
		save = save || changesSession(ev.Data)
		if end, ok := ev.Data.(terret.SessionEnd); ok {
			delete(f.sessions, s.ID)
			deleted = deleted || end.Reason == "deleted"
		}
	}
	save = save && !deleted && !f.removed[s.ID]
	if len(lines) > 0 || save {
		f.within(s, func(dir *os.Root) error {
			err := f.appendLines(dir, lines)
			if save {
				err = errors.Join(err, f.saveSession(dir, withTime(s, entries)))
			}
			return err
		})
	}
	if deleted {
		f.remove(s)
	}
}

// withTime sets a session's time to that of its last event.
func withTime(s terret.Session, entries []terret.Entry) terret.Session {
	if len(entries) == 0 {
		return s
	}
	if ev, err := entries[len(entries)-1].Decode(); err == nil && ev.Time.After(s.UpdatedAt.Time) {
		s.UpdatedAt = ev.Time
	}
	return s
}

// Remove removes the session's file and prompt for good: later records are logged, but
// do not bring them back.
func (f *Files) Remove(s terret.Session) {
	if f.off {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(s)
}

func (f *Files) remove(s terret.Session) {
	f.removed[s.ID] = true
	delete(f.sessions, s.ID)
	f.noted(s, removeFiles(s))
}

// within runs fn with the project's .terret, creating it if need be, and tells the
// operator if either fails.
func (f *Files) within(s terret.Session, fn func(dir *os.Root) error) {
	f.noted(s, inFolder(s.Cwd, fn))
}

// noted tells the operator about an error, once until something succeeds again in the
// same folder.
func (f *Files) noted(s terret.Session, err error) {
	if err == nil {
		delete(f.failing, s.Cwd)
		return
	}
	if !f.failing[s.Cwd] {
		f.failing[s.Cwd] = true
		f.log.Warn("cannot write project files; the session continues without them", "session", s.ID, "folder", s.Cwd, "error", err)
	}
}

func checkID(s terret.Session) error {
	if !terret.ValidID("", s.ID) {
		return fmt.Errorf("%q is not a session id", s.ID)
	}
	return nil
}

package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/files"
	"github.com/terret-dev/terret/work/team"
)

// Log keeps work that passes through several agents: each piece of it is a session in
// which no agent works, whose events say how it is defined and what became of it.
type Log struct {
	Host team.Host
	// List lists sessions; every [terret.Store] does.
	List func(ctx context.Context, f terret.SessionFilter) (terret.Page[terret.Session], error)
	// Home is where locks are kept; empty means that no other process does such work.
	Home string
}

// Open begins a log for work of that kind, and returns its id. The definition is kept as
// JSON.
func (l Log) Open(ctx context.Context, by, kind, name string, definition any) (string, error) {
	text, err := json.Marshal(definition)
	if err != nil {
		return "", err
	}
	id := terret.NewSessionID()
	if err := l.Host.Engine.OpenLogHere(ctx, id, kind+" "+name); err != nil {
		return "", err
	}
	return id, l.Note(ctx, id, by, terret.TaskStart{ID: id, Type: kind, Description: name}, terret.TaskUpdate{ID: id, Status: defined, Text: string(text)})
}

// Note adds to a log.
func (l Log) Note(ctx context.Context, id, by string, data ...terret.Data) error {
	return l.Host.Engine.Note(ctx, id, by, data...)
}

// Read returns the session of a log of that kind and what happened, and decodes the
// definition. If there is none, the error is not_found.
func (l Log) Read(ctx context.Context, kind, id string, definition any) (terret.Session, []terret.Data, error) {
	none := terret.Errorf(terret.CodeNotFound, "there is no %s %s", kind, id)
	s, err := l.Host.Store.Session(ctx, id)
	if errors.Is(err, terret.ErrSessionNotFound) || err == nil && s.Agent != engine.NoAgent {
		return s, nil, none
	}
	if err != nil {
		return s, nil, err
	}
	var out []terret.Data
	found := false
	for entry, err := range l.Host.Engine.Events(ctx, engine.EventQuery{Session: id}) {
		if err != nil {
			return s, nil, err
		}
		ev, err := entry.Decode()
		if err != nil {
			return s, nil, err
		}
		switch d := ev.Data.(type) {
		case terret.TaskStart:
			if d.ID == id && d.Type != kind {
				return s, nil, none
			}
		case terret.TaskUpdate:
			if d.ID == id && d.Status == defined && !found {
				found = true
				if err := json.Unmarshal([]byte(d.Text), definition); err != nil {
					return s, nil, err
				}
				continue
			}
		}
		out = append(out, ev.Data)
	}
	if !found {
		return s, nil, none
	}
	return s, out, nil
}

// Each calls fn for each log without an agent, the newest first, until it fails. Logs of
// another kind make [Log.Read] fail with not_found, which Each ignores.
func (l Log) Each(ctx context.Context, fn func(id string) error) error {
	for f := (terret.SessionFilter{Agent: engine.NoAgent, Sort: "created", Limit: 100}); ; {
		page, err := l.List(ctx, f)
		if err != nil {
			return err
		}
		for _, s := range page.Items {
			if err := fn(s.ID); err != nil && !errors.Is(err, terret.ErrNotFound) {
				return err
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" {
			return nil
		}
	}
}

// Lock makes this process the only one that works on something, until the file is closed.
// The process that ends the work removes the file first.
func (l Log) Lock(ctx context.Context, id string) (*os.File, error) {
	if node, err := l.elsewhere(ctx, id); err != nil {
		return nil, err
	} else if node != "" {
		return nil, terret.Errorf(terret.CodeConflict, "only node %s can work on %s: it has the folder", node, id)
	}
	dir := l.Home
	if dir == "" {
		dir = os.TempDir()
	}
	dir = filepath.Join(dir, folder)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	f, err := files.OpenLocked(wait, filepath.Join(dir, id+".lock"))
	if err != nil && ctx.Err() == nil && wait.Err() != nil {
		err = terret.Errorf(terret.CodeConflict, "another process works on %s", id)
	}
	return f, err
}

// folder holds the locks, in Terret's home.
const folder = "workflows"

// lockWait bounds the wait for a process that only looks whether the lock is free.
const lockWait = 500 * time.Millisecond

// elsewhere returns the node of a fleet that does the work, if it is not this one.
func (l Log) elsewhere(ctx context.Context, id string) (string, error) {
	s, err := l.Host.Store.Session(ctx, id)
	if err != nil {
		return "", err
	}
	return l.Host.Engine.Elsewhere(s), nil
}

// Alone reports whether nobody works on something. It waits a moment, because a process
// that is just being started holds the locks of its parent. What another node does is
// that node's to know.
func (l Log) Alone(ctx context.Context, id string) (bool, error) {
	if node, err := l.elsewhere(ctx, id); node != "" || err != nil {
		return false, err
	}
	if l.Home == "" {
		return false, nil // nobody can tell
	}
	wait, cancel := context.WithTimeout(ctx, aloneWait)
	defer cancel()
	f, err := files.OpenLocked(wait, filepath.Join(l.Home, folder, id+".lock"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil // nobody ever did
	case err != nil && ctx.Err() == nil && wait.Err() != nil:
		return false, nil
	case err != nil:
		return false, err
	}
	return true, f.Close()
}

// aloneWait is how long Alone waits.
const aloneWait = 100 * time.Millisecond

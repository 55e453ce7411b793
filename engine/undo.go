package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// undoer keeps the shadow repositories of folders.
type undoer struct {
	home   string // empty: undo is off
	limits checkpoint.Limits

	mu  sync.Mutex
	off map[string]string // folder to why undo is off
}

// repo opens the shadow repository of a folder, or says why undo is off.
func (u *undoer) repo(ctx context.Context, dir string) (*checkpoint.Repo, error) {
	if u.home == "" {
		return nil, &checkpoint.DisabledError{Dir: dir, Reason: "it is switched off, or there is no data folder"}
	}
	return checkpoint.Open(ctx, u.home, dir, u.limits)
}

// tellOnce reports whether the reason is news for that folder.
func (u *undoer) tellOnce(dir, reason string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.off[dir] == reason {
		return false
	}
	if u.off == nil {
		u.off = map[string]string{}
	}
	u.off[dir] = reason
	return true
}

// snapshotBefore records the folder before a turn. Without a snapshot the turn
// runs all the same, but cannot be undone, and the log says why.
func (e *Engine) snapshotBefore(l *live, t *turn, dir string) {
	if e.undo.home == "" {
		return
	}
	id, err := e.snapshot(t.ctx, dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != t || l.settling {
		return // it was killed meanwhile
	}
	if err != nil {
		if t.ctx.Err() == nil && e.undo.tellOnce(dir, err.Error()) {
			l.enqueue(&appending{events: l.stamp(nil, terret.Event{Data: terret.DiagWarning{Text: undoOff(err)}})})
		}
		return
	}
	t.before = id
	l.enqueue(&appending{events: l.stamp(nil, terret.Event{Data: terret.CheckpointCreated{
		CheckpointID: terret.NewID(terret.PrefixCheckpoint), MessageID: t.prompt.MessageID, OfTurn: t.id, Phase: "before", Snapshot: id,
	}})})
}

// snapshotAfter records the folder after a turn.
func (e *Engine) snapshotAfter(l *live, t *turn) *terret.CheckpointCreated {
	l.mu.Lock()
	before, dir := t.before, l.session.Cwd
	l.mu.Unlock()
	if before == "" {
		return nil
	}
	id, err := e.snapshot(context.Background(), dir)
	if err != nil {
		l.log.Warn("the folder could not be recorded after a turn", "error", err)
		return nil
	}
	return &terret.CheckpointCreated{
		CheckpointID: terret.NewID(terret.PrefixCheckpoint), MessageID: t.prompt.MessageID,
		OfTurn: t.id, Phase: "after", Snapshot: id, Changed: id != before,
	}
}

func undoOff(err error) string {
	if _, ok := errors.AsType[*checkpoint.DisabledError](err); ok {
		return err.Error() // says so itself
	}
	return "undo is off: " + err.Error()
}

func (e *Engine) snapshot(ctx context.Context, dir string) (string, error) {
	repo, err := e.undo.repo(ctx, dir)
	if err != nil {
		return "", err
	}
	s, err := repo.Snapshot(ctx)
	return string(s.ID), err
}

// Rewound is what undo or redo did.
type Rewound struct {
	Turn  string   `json:"turn"`
	Files []string `json:"files"`
	// Kept are files that are not as they were, because they were ignored or too
	// large to be recorded.
	Kept []string `json:"kept,omitempty"`
}

// Undo takes back what the last turn that is not undone changed in the folder, and
// the conversation too where the agent can do that. Files that somebody changed
// since are a conflict that names them, and nothing is changed then, unless forced.
func (e *Engine) Undo(ctx context.Context, session, by string, force bool) (Rewound, error) {
	return e.rewind(ctx, session, by, force, "undo")
}

// Redo brings back what the last Undo took.
func (e *Engine) Redo(ctx context.Context, session, by string, force bool) (Rewound, error) {
	return e.rewind(ctx, session, by, force, "redo")
}

func (e *Engine) rewind(ctx context.Context, session, by string, force bool, direction string) (Rewound, error) {
	var out Rewound
	err := e.on(ctx, session, func(l *live) error {
		done := make(chan struct{})
		l.mu.Lock()
		if err := l.unusable(); err != nil {
			l.mu.Unlock()
			return err
		}
		if l.turn != nil || l.rewinding != nil {
			l.mu.Unlock()
			return terret.Errorf(terret.KindSessionBusy, "a turn is running in session %s; stop it before you %s", session, direction)
		}
		l.rewinding = done
		l.mu.Unlock()
		defer func() {
			l.mu.Lock()
			l.rewinding = nil
			close(done)
			l.mu.Unlock()
			e.goBackground(func() { e.next(l) })
		}()
		var err error
		out, err = e.restore(ctx, l, by, force, direction)
		return err
	})
	return out, err
}

// restore is rewind while nothing else goes on in the session.
func (e *Engine) restore(ctx context.Context, l *live, by string, force bool, direction string) (Rewound, error) {
	l.mu.Lock()
	dir := l.session.Cwd
	l.mu.Unlock()
	repo, err := e.undo.repo(ctx, dir)
	if err != nil {
		return Rewound{}, terret.Errorf(terret.KindUnsupported, "%w", err)
	}
	t, err := e.rewindable(ctx, l.id, direction)
	if err != nil {
		return Rewound{}, err
	}
	from, to := checkpoint.ID(t.After), checkpoint.ID(t.Before)
	if direction == "redo" {
		from, to = to, from
	}
	changes, err := repo.Changes(ctx, from, to)
	if err != nil {
		return Rewound{}, terret.Errorf(terret.KindInternal, "compare the states of %s: %w", dir, err)
	}
	result, err := repo.Restore(ctx, from, to, checkpoint.RestoreOptions{Force: force})
	if conflict, ok := errors.AsType[*checkpoint.ConflictError](err); ok {
		return Rewound{}, terret.Errorf(terret.KindConflict, "these files were changed since, so nothing was touched: %v; use force to overwrite them", conflict.Paths)
	}
	if err != nil {
		return Rewound{}, terret.Errorf(terret.KindInternal, "%s in %s: %w", direction, dir, err)
	}
	return e.noteRewound(l, t, by, direction, changes, result)
}

// rewindable finds the turn that undo or redo is about.
func (e *Engine) rewindable(ctx context.Context, session, direction string) (terret.Turn, error) {
	turns, err := e.store.Turns(ctx, session)
	if err != nil {
		return terret.Turn{}, err
	}
	var found *terret.Turn
	for i := range turns {
		t := &turns[i]
		if !t.Changed || t.Before == "" || t.After == "" || t.Undone != (direction == "redo") {
			continue
		}
		if found == nil || direction == "undo" { // the last to undo, the first to redo
			found = t
		}
	}
	if found == nil {
		return terret.Turn{}, terret.Errorf(terret.KindConflict, "there is nothing to %s in session %s", direction, session)
	}
	return *found, nil
}

func (e *Engine) noteRewound(l *live, t terret.Turn, by, direction string, changes []checkpoint.Change, result checkpoint.Result) (Rewound, error) {
	out := Rewound{Turn: t.ID, Files: append([]string{}, result.Restored...)}
	for _, k := range result.Kept {
		out.Kept = append(out.Kept, k.Path)
	}
	data := terret.CheckpointRewound{CheckpointID: terret.NewID(terret.PrefixCheckpoint), Files: out.Files, Direction: direction, Turns: []string{t.ID}}
	for _, c := range changes {
		data.Insertions += c.Insertions
		data.Deletions += c.Deletions
	}
	l.mu.Lock()
	a := l.enqueue(&appending{events: l.stamp(nil, terret.Event{By: by, Data: data})})
	l.mu.Unlock()
	return out, a.wait()
}

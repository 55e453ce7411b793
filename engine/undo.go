package engine

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// snapshotsLate reports whether the folder can be recorded as late as the agent's first
// request to use a tool, because nothing changes before that. Commands may change files
// before they reach the model.
func snapshotsLate(a terret.Agent, p terret.Prompt) bool {
	return terret.CapabilitiesOf(a).Oversight == terret.OversightAll && !strings.HasPrefix(strings.TrimSpace(terret.TextOf(p.Blocks)), "/")
}

// snapshotBefore records the folder before the turn changes it, once.
func (e *Engine) snapshotBefore(l *live, t *turn) { t.beforeOnce.Do(func() { e.writeBefore(l, t) }) }

// writeBefore records the folder before a turn. Without a snapshot the turn still
// runs, but cannot be undone, and the log says why.
func (e *Engine) writeBefore(l *live, t *turn) {
	if e.repos.home == "" {
		return
	}
	l.mu.Lock()
	dir := l.session.Cwd
	l.mu.Unlock()
	id, err := e.snapshot(t.ctx, dir)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turn != t || l.phase == settling {
		return // it was killed meanwhile
	}
	if err != nil {
		if t.ctx.Err() == nil && l.noUndo != err.Error() {
			l.noUndo = err.Error()
			l.write(l.put(nil, terret.Event{Data: terret.DiagWarning{Text: whyNoUndo(err)}}), nil)
		}
		return
	}
	t.before, l.noUndo = id, ""
	l.write(l.put(nil, terret.Event{Data: terret.CheckpointCreated{
		CheckpointID: terret.NewID(terret.PrefixCheckpoint), MessageID: t.prompt.MessageID, OfTurn: t.id, Phase: "before", Snapshot: id,
	}}), nil)
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
		l.log.Warn("could not record the folder after a turn", "error", err)
		return nil
	}
	return &terret.CheckpointCreated{
		CheckpointID: terret.NewID(terret.PrefixCheckpoint), MessageID: t.prompt.MessageID,
		OfTurn: t.id, Phase: "after", Snapshot: id, Changed: id != before,
	}
}

func whyNoUndo(err error) string {
	if _, ok := errors.AsType[*checkpoint.DisabledError](err); ok {
		return err.Error() // it says so itself
	}
	return "undo is off: " + err.Error()
}

func (e *Engine) snapshot(ctx context.Context, dir string) (string, error) {
	repo, err := e.repos.repo(ctx, dir)
	if err != nil {
		return "", err
	}
	s, err := repo.Snapshot(ctx)
	return string(s.ID), err
}

func restoreError(err error, what, dir string) error {
	if conflict, ok := errors.AsType[*checkpoint.ConflictError](err); ok {
		return terret.Errorf(terret.CodeConflict, "these files were changed since, so nothing was touched: %s; use force to overwrite them, which keeps a copy", strings.Join(conflict.Paths, ", "))
	}
	if err != nil {
		return terret.Errorf(terret.CodeInternal, "%s in %s: %w", what, dir, err)
	}
	return nil
}

// repos keeps the shadow repositories of folders.
type repos struct {
	home   string // empty: undo is off
	limits checkpoint.Limits

	mu       sync.Mutex
	byFolder map[string]*checkpoint.Repo // they remember what they last saw
}

// repo opens the shadow repository of a folder, or says why undo is off.
func (r *repos) repo(ctx context.Context, dir string) (*checkpoint.Repo, error) {
	if r.home == "" {
		return nil, &checkpoint.DisabledError{Dir: dir, Reason: "it is switched off, or there is no data folder"}
	}
	r.mu.Lock()
	known := r.byFolder[dir]
	r.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := checkpoint.Open(ctx, r.home, dir, r.limits)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known = r.byFolder[dir]; known != nil {
		return known, nil
	}
	if r.byFolder == nil {
		r.byFolder = map[string]*checkpoint.Repo{}
	}
	r.byFolder[dir] = made
	return made, nil
}

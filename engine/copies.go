package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// Copy is what a forced undo or redo, or a taking back, overwrote. It belongs to the folder, and is dropped
// after 30 days, or when there are 100 newer ones or more than 256 MiB.
type Copy struct {
	ID    string       `json:"id"`
	Time  terret.Time  `json:"time"`
	For   string       `json:"for"` // what overwrote the files
	Files []CopiedFile `json:"files"`
}

// CopiedFile is a file of a Copy.
type CopiedFile struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Restored is what RestoreCopy did.
type Restored struct {
	Files []string `json:"files"`
	// Copy names the copy of what was overwritten by force, if anything was.
	Copy string `json:"copy,omitempty"`
}

// Copies lists what forced undos overwrote in the folder of a session, the newest first.
func (e *Engine) Copies(ctx context.Context, session string) ([]Copy, error) {
	s, err := e.store.Session(ctx, session)
	if err != nil {
		return nil, err
	}
	repo, err := e.undo.repo(ctx, s.Cwd)
	if err != nil {
		return nil, terret.Errorf(terret.CodeUnsupported, "%w", err)
	}
	found, err := repo.Copies(ctx)
	if err != nil {
		return nil, terret.Errorf(terret.CodeInternal, "%w", err)
	}
	list := []Copy{}
	for _, c := range found {
		out := Copy{ID: c.ID, Time: terret.TimeOf(c.Time), For: c.For, Files: []CopiedFile{}}
		for _, f := range c.Files {
			out.Files = append(out.Files, CopiedFile(f))
		}
		list = append(list, out)
	}
	return list, nil
}

// RestoreCopy puts the files of a copy back into the folder of a session. A file that
// was changed since the copy was made is a conflict, unless forced; then a copy of it is
// kept. The turns of the session stay as they are.
func (e *Engine) RestoreCopy(ctx context.Context, session, id, by string, force bool) (out Restored, err error) {
	err = e.quietly(ctx, session, "restore a copy", func(l *live) error {
		out, err = e.restoreCopy(ctx, l, id, by, force)
		return err
	})
	return out, err
}

func (e *Engine) restoreCopy(ctx context.Context, l *live, id, by string, force bool) (Restored, error) {
	dir := l.snapshot().Cwd
	repo, err := e.undo.repo(ctx, dir)
	if err != nil {
		return Restored{}, terret.Errorf(terret.CodeUnsupported, "%w", err)
	}
	result, err := repo.RestoreCopy(ctx, id, checkpoint.RestoreOptions{Force: force, For: "restore of copy " + id})
	if errors.Is(err, checkpoint.ErrUnknownCopy) {
		return Restored{}, terret.Errorf(terret.CodeNotFound, "there is no copy %q of files in %s", id, dir)
	}
	if err := restoreError(err, "restore copy "+id, dir); err != nil {
		return Restored{}, err
	}
	out := Restored{Files: append([]string{}, result.Restored...), Copy: result.Copy}
	l.mu.Lock()
	a := l.write(l.put(nil, terret.Event{By: by, Data: terret.CheckpointRewound{
		CheckpointID: terret.NewID(terret.PrefixCheckpoint), Files: out.Files, Direction: "restore", Copy: id,
	}}), nil)
	l.mu.Unlock()
	return out, a.Wait()
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

// tellLost says what undoing a turn does not take back. It is for people, so a failure
// is only logged: the files are back already.
func (e *Engine) tellLost(ctx context.Context, l *live, repo *checkpoint.Repo, t terret.Turn, out *Rewound) {
	lost, err := repo.Uncovered(ctx, checkpoint.ID(t.Before), checkpoint.ID(t.After), t.StartedAt.Time)
	if err != nil {
		l.log.Warn("could not find out what undo does not cover", "error", err)
	}
	for _, u := range lost {
		out.Lost = append(out.Lost, Lost(u))
	}
	ran := map[string]bool{} // commands, by the id of the call
	for entry, err := range e.hub.Entries(ctx, l.id, terret.KindToolPre, terret.KindToolFailure) {
		if err != nil {
			l.log.Warn("could not count the commands of a turn", "error", err)
			return
		}
		ev, err := entry.Decode()
		if err != nil || ev.Turn != t.ID {
			continue
		}
		switch d := ev.Data.(type) {
		case terret.ToolPre:
			if d.Class == terret.ClassExecute {
				ran[d.ToolID] = true
			}
		case terret.ToolFailure:
			if d.Denied {
				delete(ran, d.ToolID)
			}
		}
	}
	out.Commands = len(ran)
}

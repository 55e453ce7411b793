package engine

import (
	"context"
	"errors"
	"io/fs"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/checkpoint"
)

// Replacement is a file in a session's folder to change by hand: as it must be now, and as
// it shall be. Nil is no file.
type Replacement struct {
	Path        string // from the folder, with slashes
	Now, Wanted *File
	// Insertions and Deletions say by how many lines they differ, for the log.
	Insertions, Deletions int
}

// File is a file or symbolic link.
type File struct {
	Mode    fs.FileMode // 0o644, 0o755, or with fs.ModeSymlink for symbolic links
	Perm    fs.FileMode // permission bits; 0 keeps those that are there
	Content []byte      // of a symbolic link, its target
}

// TakeBack puts back a file, or a part of one, that a session changed. It waits for no
// turn: while one runs, the session is busy. A file that is not as the replacement says is
// a conflict, and nothing is touched. What was there is kept as a copy, which RestoreCopy
// puts back. Turns and the agent's conversation stay as they are.
func (e *Engine) TakeBack(ctx context.Context, session, by string, r Replacement) (out Restored, err error) {
	err = e.quietly(ctx, session, "take back a change", func(l *live) error {
		out, err = e.takeBack(ctx, l, by, r)
		return err
	})
	return out, err
}

func (e *Engine) takeBack(ctx context.Context, l *live, by string, r Replacement) (Restored, error) {
	dir := l.snapshot().Cwd
	repo, err := e.undo.repo(ctx, dir)
	if err != nil {
		return Restored{}, terret.Errorf(terret.CodeUnsupported, "%w", err)
	}
	result, err := repo.Replace(ctx, r.Path, (*checkpoint.File)(r.Now), (*checkpoint.File)(r.Wanted), "taking back changes of "+r.Path)
	if _, ok := errors.AsType[*checkpoint.ConflictError](err); ok {
		return Restored{}, terret.Errorf(terret.CodeConflict, "%s was changed since, so nothing was touched; look at all changes, and take back what is there now", r.Path)
	}
	if err := restoreError(err, "take back", dir); err != nil {
		return Restored{}, err
	}
	out := Restored{Files: append([]string{}, result.Restored...), Copy: result.Copy}
	data := terret.CheckpointRewound{CheckpointID: terret.NewID(terret.PrefixCheckpoint), Files: out.Files, Direction: undo, Copy: out.Copy}
	if len(out.Files) > 0 {
		data.Insertions, data.Deletions = r.Insertions, r.Deletions
	}
	l.mu.Lock()
	a := l.write(l.put(nil, terret.Event{By: by, Data: data}), nil)
	l.mu.Unlock()
	return out, a.Wait()
}

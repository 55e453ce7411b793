package engine

import (
	"context"
	"errors"
	"io/fs"

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
	repo, err := e.repos.repo(ctx, s.Cwd)
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
	dir := l.sessionCopy().Cwd
	repo, err := e.repos.repo(ctx, dir)
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
	dir := l.sessionCopy().Cwd
	repo, err := e.repos.repo(ctx, dir)
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

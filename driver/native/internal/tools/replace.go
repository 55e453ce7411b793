package tools

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// writeLimit is the size of a file that Write writes and Edit edits.
const writeLimit = 10 << 20

// replacement is a file and its prepared new content.
type replacement struct {
	env    Env
	place  place
	before state
	after  []byte
	diff   string
}

// writable fails for a file that is marked read-only; a rename would not care.
func (r *replacement) writable() error {
	if info := r.before.info; info != nil && info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("%s is read-only (mode %04o)", r.place.shown, info.Mode().Perm())
	}
	return nil
}

// known fails for a file that is not as the model has last seen it.
func (r *replacement) known() error {
	if r.env.State.changed(r.place.real, r.before) {
		return fmt.Errorf("%s has changed since you last read it; read it again before you change it", r.place.shown)
	}
	return nil
}

// stale is the error for a file that is no longer what was prepared for.
func (r *replacement) stale() error {
	return fmt.Errorf("%s was changed by someone else after this edit was prepared; nothing was written. Read it again and repeat the edit", r.place.shown)
}

// commit writes the new content beside the file and puts it in its place, if the
// file is still the one that it was prepared for. It writes all or nothing.
func (r *replacement) commit(ctx context.Context) (ChangeKind, error) {
	if err := r.env.relocate(r.place); err != nil {
		return "", err
	}
	root, err := os.OpenRoot(r.place.base)
	if err != nil {
		return "", problem(r.place, err)
	}
	defer func() { _ = root.Close() }()
	dir := filepath.Dir(r.place.rel())
	if r.before.info == nil {
		err = root.MkdirAll(dir, 0o755)
	} else {
		err = mayWrite(root, r.place.rel())
	}
	if err != nil {
		return "", cannotWrite(r.place, err)
	}
	temp := filepath.Join(dir, ".terret-"+rand.Text()+".tmp")
	if err := r.stage(root, temp); err != nil {
		_ = root.Remove(temp)
		return "", cannotWrite(r.place, err)
	}
	kind, err := r.swap(ctx, root, temp)
	if err != nil {
		_ = root.Remove(temp)
	} else {
		r.env.State.saw(r.place.real, sha256.Sum256(r.after))
	}
	return kind, err
}

// mayWrite fails when the user may not write the file. It changes nothing.
func mayWrite(root *os.Root, rel string) error {
	f, err := root.OpenFile(rel, os.O_WRONLY|openFlags, 0)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil // it is gone, or a program that runs: a rename will do or tell
}

// stage writes the new content to temp, with the mode that the file has.
func (r *replacement) stage(root *os.Root, temp string) (err error) {
	perm := fs.FileMode(0o644)
	if r.before.info != nil {
		perm = 0o600
	}
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(r.after); err != nil {
		return err
	}
	if r.before.info != nil {
		keepOwner(f, r.before.info)
		if err := f.Chmod(r.before.info.Mode().Perm()); err != nil {
			return err
		}
	}
	return f.Sync()
}

// swap looks at the file for a last time and puts temp in its place.
func (r *replacement) swap(ctx context.Context, root *os.Root, temp string) (ChangeKind, error) {
	rel := r.place.rel()
	unlock := lockFolder(ctx, root, filepath.Dir(rel))
	defer unlock()
	now, err := look(ctx, r.place, 0)
	if err != nil {
		return "", err
	}
	if !now.same(r.before) {
		return "", r.stale()
	}
	if r.before.info != nil {
		if err := root.Rename(temp, rel); err != nil {
			return "", cannotWrite(r.place, err)
		}
		return Modified, nil
	}
	// A link does not replace what somebody has put there in between.
	err = root.Link(temp, rel)
	switch {
	case err == nil:
		_ = root.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return "", r.stale()
	default: // no hard links here
		if err := root.Rename(temp, rel); err != nil {
			return "", cannotWrite(r.place, err)
		}
	}
	return Created, nil
}

func cannotWrite(p place, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s cannot be written: permission denied", p.shown)
	}
	return fmt.Errorf("%s cannot be written: %w", p.shown, reason(err))
}

package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// How long Lock waits between two tries.
const (
	firstPause = time.Millisecond
	maxPause   = 20 * time.Millisecond
)

// Lock locks an open file until it is closed. It waits for others until the context
// ends; then it returns the cause.
func Lock(ctx context.Context, f *os.File) error {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		if ok, err := tryLock(f, false); ok || err != nil {
			return err
		}
		again := time.NewTimer(pause)
		select {
		case <-again.C:
		case <-ctx.Done():
			again.Stop()
			return context.Cause(ctx)
		}
	}
}

// OpenLocked opens the file at path, creating it if it is missing, and locks it. Closing the
// file unlocks it; whoever has the lock may remove the file first.
func OpenLocked(ctx context.Context, path string) (*os.File, error) {
	return opened(path, func(f *os.File) (bool, error) {
		err := Lock(ctx, f)
		return err == nil, err
	})
}

// TryOpenLocked is OpenLocked without waiting: the file is nil if somebody else has the lock.
func TryOpenLocked(path string) (*os.File, error) {
	return opened(path, func(f *os.File) (bool, error) { return tryLock(f, false) })
}

// Locked reports whether somebody holds the lock of the file at path. Several may ask at
// once. Without the file nobody does.
func Locked(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	free, err := tryLock(f, true)
	return !free, errors.Join(err, f.Close())
}

func opened(path string, lock func(*os.File) (bool, error)) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, err
		}
		if ok, err := lock(f); !ok || err != nil {
			f.Close()
			return nil, err
		}
		mine, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return f, nil
		}
		f.Close() // whoever had it has removed the file: others would lock another
	}
}

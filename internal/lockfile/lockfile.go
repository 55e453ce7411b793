// Package lockfile is the one lock between processes: a kernel lock on an open file or
// folder. It is released when the file is closed, or when its holder dies; whoever
// inherits the file holds it too. Two opens of one file exclude each other even in one
// process.
package lockfile

import (
	"context"
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
		if ok, err := tryLock(f); ok || err != nil {
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

// Open opens the file at path, creating it if it is missing, and locks it. Closing the
// file unlocks it; whoever has the lock may remove the file first.
func Open(ctx context.Context, path string) (*os.File, error) {
	return opened(path, func(f *os.File) (bool, error) {
		err := Lock(ctx, f)
		return err == nil, err
	})
}

// TryOpen is Open without waiting: the file is nil if somebody else has the lock.
func TryOpen(path string) (*os.File, error) { return opened(path, tryLock) }

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

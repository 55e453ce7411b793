//go:build linux || darwin

package tools

import (
	"context"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/terret-dev/terret/internal/files"
)

// openFlags make an open return at once, whatever the file has become.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY

// lockPatience is how long a writer waits for another one in the same folder.
// Then it goes on: the check against the prepared state still holds.
const lockPatience = 5 * time.Second

// lockFolder excludes other writers of this package from the folder until unlock
// is called. Where there are no locks it does nothing.
func lockFolder(ctx context.Context, root *os.Root, dir string) (unlock func()) {
	f, err := root.OpenFile(dir, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	_ = files.Lock(ctx, f) // else without it: the file is looked at again all the same
	return func() { _ = f.Close() }
}

// keepOwner gives f the owner and group of old, as far as that is allowed.
func keepOwner(f *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	info, err := f.Stat()
	if !ok || err != nil {
		return
	}
	is, ok := info.Sys().(*syscall.Stat_t)
	if !ok || was.Uid == is.Uid && was.Gid == is.Gid {
		return
	}
	if f.Chown(int(was.Uid), int(was.Gid)) != nil {
		_ = f.Chown(-1, int(was.Gid))
	}
}

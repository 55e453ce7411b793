package persona

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/terret-dev/terret"
)

// cached is the beginning of a file as it was read.
type cached struct {
	info    fs.FileInfo
	at      time.Time
	content []byte
	more    bool // the file is longer
}

// settled is how long a file must be unchanged before its timestamps can be relied on:
// file system clocks are coarse.
const settled = 2 * time.Second

// maxCached bounds how many files are cached.
const maxCached = 1000

// fresh reports whether the file is unchanged.
func (c cached) fresh(now fs.FileInfo) bool {
	return c.info != nil && os.SameFile(c.info, now) && c.info.Size() == now.Size() && c.info.ModTime().Equal(now.ModTime()) &&
		c.at.Sub(now.ModTime()) > settled
}

// errOutside says that a link leads out of the project.
var errOutside = errors.New("it is a link that leads out of the project's folder")

// open opens a project's folder.
func open(dir string) (*os.Root, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		var root *os.Root
		if root, err = os.OpenRoot(abs); err == nil {
			return root, nil
		}
	}
	return nil, terret.Invalid("cwd", "cannot open the project's folder: %w", err)
}

// read returns at most limit bytes of a file in the project, and whether there is more.
// It does not read an unchanged file again.
func (l *Library) read(root *os.Root, name string, limit int) (content []byte, more bool, err error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, false, plainer(err)
	}
	if !info.Mode().IsRegular() {
		return nil, false, errors.New("not a regular file")
	}
	key := filepath.Join(root.Name(), name)
	l.mu.Lock()
	c := l.files[key]
	l.mu.Unlock()
	if c.fresh(info) {
		return c.content, c.more, nil
	}
	c, err = readFile(root, name, limit)
	if err != nil {
		return nil, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.files) >= maxCached {
		clear(l.files)
	}
	l.files[key] = c
	return c.content, c.more, nil
}

func readFile(root *os.Root, name string, limit int) (cached, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return cached{}, plainer(err)
	}
	defer f.Close()
	c := cached{at: time.Now()}
	if c.info, err = f.Stat(); err != nil {
		return cached{}, err
	}
	if !c.info.Mode().IsRegular() {
		return cached{}, errors.New("not a regular file")
	}
	c.content, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return cached{}, err
	}
	if c.more = len(c.content) > limit; c.more {
		c.content = c.content[:limit]
	}
	return c, nil
}

// plainer strips from a file error what the message already says.
func plainer(err error) error {
	inner, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok:
		return err
	case strings.Contains(inner.Err.Error(), "escapes"):
		return errOutside
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%w: %w", fs.ErrNotExist, inner.Err)
	}
	return inner.Err
}

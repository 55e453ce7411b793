// Package logfile writes a log to a file that stays bounded, even if several processes
// write to it.
package logfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/terret-dev/terret/internal/files"
)

// MaxSize is the size at which a log is rotated. One older file, with ".1" appended to
// its name, is kept.
const MaxSize = 5 << 20

// File is a log. Its file is opened at the first Write, so that a process that logs
// nothing leaves nothing behind. It is safe for concurrent use.
type File struct {
	path  string
	max   int64
	clean func([]byte) []byte

	mu   sync.Mutex
	file *os.File
}

// New names a log. Clean, if set, removes secrets from each line.
func New(path string, clean func([]byte) []byte) *File {
	return &File{path: path, max: MaxSize, clean: clean}
}

// Write appends a line, in one write. It implements io.Writer for log/slog handlers,
// which call it once for each record.
func (f *File) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := line
	if f.clean != nil {
		out = f.clean(line)
	}
	size, err := f.open()
	if err == nil && size > 0 && size+int64(len(out)) > f.max {
		err = f.rotate()
	}
	if err != nil {
		return 0, err
	}
	if _, err := f.file.Write(out); err != nil {
		return 0, err
	}
	return len(line), nil
}

// open makes sure that the file is the one that the path names, and returns its size.
// Another process may have started a new one.
func (f *File) open() (int64, error) {
	if f.file != nil {
		named, err := os.Stat(f.path)
		if err == nil {
			if ours, statErr := f.file.Stat(); statErr == nil && os.SameFile(named, ours) {
				return named.Size(), nil
			}
		}
		f.file.Close()
		f.file = nil
	}
	const flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE
	file, err := os.OpenFile(f.path, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(f.path), 0o700); err == nil {
			file, err = os.OpenFile(f.path, flags, 0o600)
		}
	}
	if err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return 0, err
	}
	f.file = file
	return info.Size(), nil
}

// rotate starts a new file, unless another process is about to or has just done so.
func (f *File) rotate() error {
	lock, err := files.TryOpenLocked(f.path + ".lock")
	if err != nil || lock == nil {
		return nil // then the file grows a little longer
	}
	defer func() { _ = lock.Close() }()
	if size, err := f.open(); err != nil || size < f.max/2 { // it is a new one
		return err
	}
	f.file.Close()
	f.file = nil
	if err := os.Rename(f.path, f.path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err = f.open()
	return err
}

// Close closes the file. A later Write opens it again.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// Package files is the only way in which Terret replaces its own files and locks them
// against other processes.
//
// At any moment a file that is replaced holds all of the old content or all of the new.
// Files are readable only by their owner. A symbolic link is replaced by the new file.
//
// A lock is a kernel lock on an open file or folder. It is released when the file is
// closed, or when its holder dies; whoever inherits the file holds it too. Two opens of
// one file exclude each other even in one process.
package files

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
)

// Write makes the file at path hold content, even if the power fails after it returned.
func Write(path string, content []byte) error { return at(path, content, true) }

// Swap is Write without waiting for the disk: if the power fails soon after, the file
// may be damaged. It is for what can be recreated.
func Swap(path string, content []byte) error { return at(path, content, false) }

// SwapIn is Swap for a file in a folder that is open.
func SwapIn(dir *os.Root, name string, content []byte) error {
	return in(dir, name, content, false)
}

func at(path string, content []byte, durable bool) error {
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	err = in(dir, filepath.Base(path), content, durable)
	return errors.Join(err, dir.Close())
}

func in(dir *os.Root, name string, content []byte, durable bool) (err error) {
	temporary := name + "." + rand.Text()[:8] + ".tmp"
	f, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = dir.Remove(temporary) // the first error counts
		}
	}()
	_, err = f.Write(content)
	if err == nil && durable {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := dir.Rename(temporary, name); err != nil {
		return err
	}
	if durable {
		syncFolder(dir)
	}
	return nil
}

// syncFolder makes a rename durable, if the system can.
func syncFolder(dir *os.Root) {
	if f, err := dir.Open("."); err == nil {
		_ = f.Sync()
		f.Close()
	}
}

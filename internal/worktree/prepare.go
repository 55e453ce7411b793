package worktree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of what is copied into a worktree.
const (
	maxCopies = 1000
	maxCopied = 256 << 20 // bytes of all
)

// Copy copies files that git does not know, such as .env, from one folder into another. A name
// may be a pattern, as of path.Match. What is missing is left out; names of what was copied
// are returned. Links are not followed out of either folder.
func Copy(from, to string, names []string) (copied []string, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenRoot(to)
	if err != nil {
		return nil, err
	}
	defer func() { _ = target.Close() }()
	room := int64(maxCopied)
	for _, name := range names {
		if !filepath.IsLocal(name) {
			return copied, fmt.Errorf("%s is not a file below the folder", name)
		}
		found, err := fs.Glob(source.FS(), filepath.ToSlash(filepath.Clean(name)))
		if err != nil {
			return copied, fmt.Errorf("%s is not a pattern for files: %w", name, err)
		}
		for _, file := range found {
			if len(copied) == maxCopies {
				return copied, fmt.Errorf("%s: more than %d files would be copied", name, maxCopies)
			}
			n, err := copyFile(source, target, file, room)
			if err != nil {
				return copied, fmt.Errorf("cannot copy %s: %w", file, err)
			}
			copied, room = append(copied, file), room-n
		}
	}
	return copied, nil
}

// copyFile copies one file, readable to its owner only, as environment files should be.
func copyFile(source, target *os.Root, name string, room int64) (int64, error) {
	if info, err := source.Stat(name); err != nil {
		return 0, err
	} else if !info.Mode().IsRegular() {
		return 0, errors.New("it is not a regular file; name the files in it, such as " + name + "/*")
	}
	in, err := source.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	if err := target.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return 0, err
	}
	out, err := target.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, room+1))
	if err == nil && n > room {
		err = fmt.Errorf("all files together are larger than %d MB", maxCopied>>20)
	}
	return n, errors.Join(err, out.Close())
}

// WantSetup remembers a command that is to be run in a worktree before its first turn. Who
// calls it knows that a person trusts the command.
func WantSetup(home, id, command string) error {
	return os.WriteFile(filepath.Join(home, folder, id, setupName), []byte(command), 0o600)
}

// Setup is the command that is still to be run in the worktree that holds the path, or "".
func Setup(home, path string) (command string) {
	_, id, ok := Find(home, path)
	if !ok {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(home, folder, id, setupName))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// SetupDone forgets that command.
func SetupDone(home, path string) error {
	_, id, ok := Find(home, path)
	if !ok {
		return nil
	}
	err := os.Remove(filepath.Join(home, folder, id, setupName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

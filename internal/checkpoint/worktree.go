package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/terret-dev/terret/internal/gitcmd"
)

// worktree is the folder, opened for a restore. Every path goes through an os.Root, so
// nothing outside the folder can be reached, and every parent is checked first, so no
// symbolic link inside it is followed either.
type worktree struct {
	root *os.Root
}

// present is what is at a path now.
type present struct {
	entry             // zero when there is no file or symbolic link
	info  fs.FileInfo // nil when there is nothing
	dir   bool        // it is a folder
	other bool        // it is neither file, symbolic link nor folder
	block string      // the parent that is not a folder, if any
}

// look returns what is at p. A path behind a symbolic link is not there.
func (w worktree) look(p string) (present, error) {
	for i, c := range p {
		if c != '/' {
			continue
		}
		info, err := w.lstat(p[:i])
		if err != nil || info == nil {
			return present{}, err
		}
		if !info.IsDir() {
			return present{block: p[:i]}, nil
		}
	}
	info, err := w.lstat(p)
	if err != nil || info == nil {
		return present{}, err
	}
	now := present{info: info}
	switch mode := info.Mode(); {
	case mode.IsDir():
		now.dir = true
	case mode.Type() == fs.ModeSymlink:
		target, err := w.root.Readlink(local(p))
		if err != nil {
			return present{}, err
		}
		now.entry = entry{Mode: gitcmd.ModeLink, ID: gitcmd.BlobID(gitcmd.Digits, []byte(filepath.ToSlash(target)))}
	case mode.IsRegular():
		now.Mode = gitcmd.ModeFile
		if mode&0o100 != 0 {
			now.Mode = gitcmd.ModeExec
		}
		now.ID, err = w.hash(p, info)
		return now, err
	default:
		now.other = true
	}
	return now, nil
}

// lstat is Lstat, with nil for what does not exist.
func (w worktree) lstat(p string) (fs.FileInfo, error) {
	info, err := w.root.Lstat(local(p))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	return info, err
}

// is reports whether the path holds exactly e. Windows has no executable bit.
func (n present) is(e entry) bool {
	if e == (entry{}) {
		return n.info == nil
	}
	sameMode := n.Mode == e.Mode || runtime.GOOS == "windows" && n.Mode != gitcmd.ModeLink && e.Mode != gitcmd.ModeLink
	return n.ID == e.ID && sameMode
}

// has reports whether the path holds exactly e with these permission bits, if they are
// known.
func (n present) has(e entry, perm fs.FileMode) bool {
	return n.is(e) && (perm == 0 || n.info.Mode().Perm() == perm)
}

// hash returns the object id of a file.
func (w worktree) hash(p string, info fs.FileInfo) (string, error) {
	f, err := w.root.OpenFile(local(p), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := sameOpen(f, info); err != nil {
		return "", err
	}
	h := gitcmd.NewBlob(gitcmd.Digits, info.Size())
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return h.ID(), nil
}

// unchanged reports whether what is at p is still what was seen.
func (w worktree) unchanged(p string, seen present) (bool, error) {
	info, err := w.lstat(p)
	if err != nil {
		return false, err
	}
	if info == nil || seen.info == nil {
		return info == nil && seen.info == nil, nil
	}
	if seen.dir {
		return info.IsDir(), nil
	}
	return sameFile(info, seen.info), nil
}

// mkdirs makes the parents of p, and refuses one that is not a folder.
func (w worktree) mkdirs(p string) error {
	for i, c := range p {
		if c != '/' {
			continue
		}
		info, err := w.lstat(p[:i])
		if err != nil {
			return err
		}
		if info != nil && !info.IsDir() {
			return fmt.Errorf("%q is in the way: it is not a folder", p[:i])
		}
		if info == nil {
			if err := w.root.Mkdir(local(p[:i]), 0o777); err != nil {
				return err
			}
		}
	}
	return nil
}

// nearest returns the deepest parent of p that is a folder; "." is the root.
func (w worktree) nearest(p string) (string, error) {
	dir := "."
	for i, c := range p {
		if c != '/' {
			continue
		}
		info, err := w.lstat(p[:i])
		if err != nil {
			return "", err
		}
		if info == nil || !info.IsDir() {
			break
		}
		dir = p[:i]
	}
	return dir, nil
}

// prune removes the parents of p that are empty, deepest first.
func (w worktree) prune(p string) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		info, err := w.lstat(dir)
		if err != nil || info == nil || !info.IsDir() {
			return
		}
		if w.root.Remove(local(dir)) != nil { // not empty
			return
		}
	}
}

// local is a slash path as the system writes it.
func local(p string) string { return filepath.FromSlash(p) }

// openRegular opens the file that info was taken of.
func openRegular(path string, info fs.FileInfo) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if err := sameOpen(f, info); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func sameOpen(f *os.File, info fs.FileInfo) error {
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !sameFile(now, info) {
		return fmt.Errorf("%s changed while it was being read", f.Name())
	}
	return nil
}

// safePath reports whether a path of a tree may be written to: inside the
// folder, and in no .git.
func safePath(p string) bool {
	if !filepath.IsLocal(local(p)) || path.Clean(p) != p || strings.Contains(p, "\x00") {
		return false
	}
	return storable(p, 0)
}

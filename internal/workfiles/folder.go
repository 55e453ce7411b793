package workfiles

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/terret-dev/terret"
)

// Folder is the folder of a session, opened to be looked at. It is safe for
// concurrent use. Close it when done.
type Folder struct {
	dir  string // real path
	root *os.Root
	home home
	// within is where its repository may lead; none means anywhere.
	within []string
}

// home is Terret's own folder, which is not shown. The zero home is none.
type home struct {
	path string
	info fs.FileInfo
}

// worktrees is where in Terret's home folders may be that sessions work in.
const worktrees = "worktrees"

// Open opens the folder at dir, an absolute path. terretHome is Terret's own
// folder, which is never shown; it may be empty. Roots are the folders that its
// repository may lead to, by a .git that is no folder or by objects of another one; none
// means anywhere.
func Open(dir, terretHome string, roots ...string) (*Folder, error) {
	h, err := openHome(terretHome)
	if err != nil {
		return nil, err
	}
	real, err := realFolder(dir)
	if err != nil {
		return nil, err
	}
	if h.holds(real) {
		return nil, terret.Errorf(terret.CodeForbidden, "%s is where Terret keeps its own data, and is not shown", dir)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, problem(dir, err)
	}
	f := &Folder{dir: real, root: root, home: h}
	for _, dir := range roots {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			f.within = append(f.within, real)
		}
	}
	return f, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

func openHome(dir string) (home, error) {
	if dir == "" {
		return home{}, nil
	}
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return home{}, nil // then there is nothing to hide
	}
	if err != nil {
		return home{}, problem(dir, err)
	}
	info, err := os.Stat(real)
	return home{real, info}, err
}

// holds reports whether a real path is Terret's home or in it, except for the folders
// that sessions work in. It compares the folders themselves, because a file system may
// know one under several spellings.
func (h home) holds(real string) bool {
	if h.info == nil {
		return false
	}
	below := ""
	for at := real; ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, h.info) {
			return !strings.EqualFold(below, worktrees) || filepath.Dir(real) == at
		}
		if at == filepath.Dir(at) {
			return false
		}
		below = filepath.Base(at)
	}
}

// realFolder resolves an absolute path to a folder.
func realFolder(dir string) (string, error) {
	if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", terret.Invalid("path", "%q is not an absolute path", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", problem(dir, err)
	}
	return real, isFolder(real, dir)
}

// isFolder checks a path without links. Errors name it as they gave it.
func isFolder(real, given string) error {
	info, err := os.Stat(real)
	if err != nil {
		return problem(given, err)
	}
	if !info.IsDir() {
		return terret.Invalid("path", "%s is not a folder", given)
	}
	return nil
}

// local checks a path that a caller gave, relative to the folder and with
// slashes, and returns it clean. The folder itself is "" or ".".
func local(p string) (string, error) {
	if p == "" {
		return ".", nil
	}
	if strings.ContainsRune(p, 0) || !filepath.IsLocal(filepath.FromSlash(p)) {
		return "", terret.Errorf(terret.CodeForbidden, "%q is not a path inside the folder", p)
	}
	return path.Clean(filepath.ToSlash(p)), nil
}

// hidden reports whether a path in the folder is one that is not shown.
func hidden(rel string) bool {
	parts := strings.Split(filepath.ToSlash(rel), "/")
	for i, part := range parts {
		if strings.EqualFold(part, ".git") {
			return true
		}
		if i > 0 && strings.EqualFold(parts[i-1], ".terret") {
			switch strings.ToLower(part) {
			case "logs", "prompts", "sessions":
				return true
			}
		}
	}
	return false
}

// secret reports whether a path in the folder is one that is not shown, by its
// name. What links lead to is looked at when it is opened.
func (f *Folder) secret(rel string) bool {
	if hidden(rel) {
		return true
	}
	in, err := filepath.Rel(f.dir, f.home.path)
	if err != nil || !filepath.IsLocal(in) {
		return false
	}
	below, ok := strings.CutPrefix(rel+"/", filepath.ToSlash(in)+"/")
	return ok && !strings.HasPrefix(below, worktrees+"/")
}

func notShown(rel string) error {
	return terret.Errorf(terret.CodeForbidden, "%s is not shown: it belongs to git or Terret", rel)
}

// open opens a file or folder for reading. rel is clean. Symbolic links are
// followed inside the folder. It never waits for another program.
func (f *Folder) open(rel string) (*os.File, fs.FileInfo, error) {
	if hidden(rel) {
		return nil, nil, notShown(rel)
	}
	// Some devices act on being opened, so look first.
	info, err := f.root.Stat(filepath.FromSlash(rel))
	if err == nil {
		err = plain(rel, info)
	}
	if err != nil {
		return nil, nil, problem(rel, err)
	}
	file, err := f.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, problem(rel, err)
	}
	if info, err = file.Stat(); err == nil {
		err = f.permitted(rel, file, info)
	}
	if err != nil {
		file.Close()
		return nil, nil, problem(rel, err)
	}
	return file, info, nil
}

// permitted refuses an open file that is not to be shown, whatever it was called.
func (f *Folder) permitted(rel string, file *os.File, info fs.FileInfo) error {
	if err := plain(rel, info); err != nil {
		return err
	}
	if madeUp(file) {
		return terret.Errorf(terret.CodeForbidden, "%s is in a virtual file system, and is not shown", rel)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(f.dir, filepath.FromSlash(rel)))
	if err != nil {
		return err
	}
	at, err := os.Stat(real)
	if err != nil {
		return err
	}
	in, err := filepath.Rel(f.dir, real)
	switch {
	case err != nil || !filepath.IsLocal(in) || !os.SameFile(at, info):
		return terret.Errorf(terret.CodeConflict, "%s changed while it was being read; try again", rel)
	case hidden(in) || f.home.holds(real):
		return notShown(rel)
	}
	return nil
}

// plain fails for what is neither a regular file nor a folder.
func plain(rel string, info fs.FileInfo) error {
	if info.Mode().IsRegular() || info.IsDir() {
		return nil
	}
	what := "is not a regular file"
	switch t := info.Mode().Type(); {
	case t&fs.ModeNamedPipe != 0:
		what = "is a named pipe"
	case t&fs.ModeSocket != 0:
		what = "is a socket"
	case t&fs.ModeDevice != 0:
		what = "is a device"
	}
	return terret.Invalid("path", "%s %s; only files and folders are shown", rel, what)
}

// problem is err as callers should read it: with the path that they gave and no
// other.
func problem(rel string, err error) error {
	if _, ok := errors.AsType[*terret.Error](err); ok {
		return err
	}
	reason := err
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		reason = pe.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return terret.Errorf(terret.CodeNotFound, "there is no %s", rel)
	case errors.Is(err, fs.ErrPermission):
		return terret.Errorf(terret.CodeForbidden, "%s: permission denied", rel)
	case strings.Contains(reason.Error(), "escapes"): // of os.Root, which exports no error for it
		return terret.Errorf(terret.CodeForbidden, "%s leads out of the folder", rel)
	}
	if errors.Is(err, syscall.ELOOP) || strings.Contains(reason.Error(), "too many links") { // of filepath, which exports no error for it
		return terret.Invalid("path", "%s leads through too many links, or in a circle", rel)
	}
	return terret.Invalid("path", "%s: %w", rel, reason)
}

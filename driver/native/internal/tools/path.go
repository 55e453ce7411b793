package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links a path may lead over, as on Linux.
const maxLinks = 40

// place is where a path leads.
type place struct {
	asked  string // absolute and clean, links as they were asked for
	real   string // links resolved; what does not exist yet is appended
	base   string // resolved folder that file operations are confined to
	shown  string // for people and models: relative when inside the session's folder
	inside bool
}

// rel is the path within base.
func (p place) rel() string {
	rel, err := filepath.Rel(p.base, p.real)
	if err != nil {
		return p.real // not local, so os.Root refuses it
	}
	return rel
}

// locate finds out where path leads. field names it in errors. It fails for
// paths that can never be used, whoever allows it.
func (e Env) locate(field, path string) (place, error) {
	switch {
	case path == "":
		return place{}, fmt.Errorf("%s is empty; give a path, absolute or relative to %s", field, e.Dir)
	case strings.ContainsRune(path, 0):
		return place{}, fmt.Errorf("%s contains a NUL character", field)
	case !filepath.IsAbs(e.Dir):
		return place{}, fmt.Errorf("the session's folder %q is not absolute", e.Dir)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.Dir, path)
	}
	p := place{asked: filepath.Clean(path)}
	var err error
	if p.real, err = resolve(p.asked); err != nil {
		return place{}, fmt.Errorf("%s %s: %w", field, plain(path), reason(err))
	}
	if ofProcess(p.real) {
		return place{}, fmt.Errorf("%s %s leads to processes in /proc, which is not allowed", field, plain(path))
	}
	p.base = existing(filepath.Dir(p.real))
	for _, root := range e.roots() {
		if within(root, p.real) {
			p.base = root
			p.inside = !gitOwned(p, root, append([]string{e.Dir}, e.Roots...))
			break
		}
	}
	p.shown = e.show(p.real)
	return p, nil
}

// existing is the folder or the nearest one above it that exists. Outside, file
// operations are confined to that: an os.Root must be able to read its folders,
// which those above may forbid.
func existing(folder string) string {
	for {
		above := filepath.Dir(folder)
		if _, err := os.Lstat(folder); err == nil || above == folder {
			return folder
		}
		folder = above
	}
}

// relocate finds the place again, and fails when it is another by now.
func (e Env) relocate(p place) error {
	now, err := e.locate("the path", p.asked)
	if err != nil {
		return err
	}
	if now.real != p.real || now.inside != p.inside {
		return fmt.Errorf("%s leads elsewhere since this was prepared (a symbolic link changed); nothing was done", p.shown)
	}
	return nil
}

// roots are the folders that count as inside, resolved. Unresolvable ones are ignored.
func (e Env) roots() []string {
	var roots []string
	for _, r := range append([]string{e.Dir}, e.Roots...) {
		if !filepath.IsAbs(r) {
			continue
		}
		if real, err := resolve(filepath.Clean(r)); err == nil {
			roots = append(roots, real)
		}
	}
	return roots
}

// show is the path as people and models see it.
func (e Env) show(real string) string {
	if dir, err := resolve(filepath.Clean(e.Dir)); err == nil && within(dir, real) {
		if rel, err := filepath.Rel(dir, real); err == nil {
			return plain(rel)
		}
	}
	return plain(real)
}

// gitOwned reports whether the place, which is below the resolved root, belongs
// to git: it has a component .git below root or below one of the folders as they
// are named, or it is in what root's .git leads to.
func gitOwned(p place, root string, named []string) bool {
	if hasGit(p.real[len(root):]) {
		return true
	}
	for _, r := range named {
		if r = filepath.Clean(r); within(r, p.asked) && hasGit(p.asked[len(r):]) {
			return true
		}
	}
	git, err := resolve(filepath.Join(root, ".git"))
	return err == nil && git != root && within(git, p.real)
}

// hasGit reports whether some file system may read a component of the path as .git.
func hasGit(path string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(path, isSeparator), isGit)
}

func isSeparator(r rune) bool { return r == '/' || r == filepath.Separator }

// isGit reports whether a name is .git, also where case, trailing dots and
// spaces, short names or characters that are not shown do not count.
func isGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// within reports whether path is folder or below it. Both are clean.
func within(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, folder)
	return ok && (rest == "" || os.IsPathSeparator(rest[0]) || os.IsPathSeparator(folder[len(folder)-1]))
}

// ofProcess reports whether a resolved path is in the folder of a process, or is
// the folder of them all.
func ofProcess(real string) bool {
	rest, ok := strings.CutPrefix(real+"/", "/proc/")
	return runtime.GOOS == "linux" && ok && (rest == "" || rest[0] >= '0' && rest[0] <= '9')
}

var (
	errLinks     = errors.New("it leads through too many symbolic links; is there a loop?")
	errNotFolder = errors.New("a part of it is a file, not a folder")
)

// resolve resolves all symbolic links of an absolute, clean path. It keeps what does
// not exist, so that a path to be created can be resolved, and a dangling link gives
// what it would create.
func resolve(path string) (string, error) {
	volume := filepath.VolumeName(path)
	real := volume + string(filepath.Separator)
	rest := strings.FieldsFunc(path[len(volume):], isSeparator)
	links := 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case info.Mode().Type() == fs.ModeSymlink:
			if links++; links > maxLinks {
				return "", errLinks
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", err
			}
			if v := filepath.VolumeName(target); filepath.IsAbs(target) {
				real, target = v+string(filepath.Separator), target[len(v):]
			}
			rest = append(strings.FieldsFunc(target, isSeparator), rest...)
			continue
		case !info.IsDir() && len(rest) > 0:
			return "", errNotFolder
		}
		real = next
	}
	return real, nil
}

// reason is an error without the path that the system put in front of it.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

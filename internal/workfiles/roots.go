package workfiles

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/worktree"
)

// Roots are the folders in which sessions may be opened. It is safe for
// concurrent use.
type Roots struct {
	list []string // real paths
	home string   // Terret's own
}

// NewRoots makes Roots of absolute paths of folders. terretHome is never part of
// them; it may be empty.
func NewRoots(dirs []string, terretHome string) (*Roots, error) {
	r := &Roots{home: terretHome}
	for _, dir := range dirs {
		real, err := realFolder(dir)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(r.list, real) {
			r.list = append(r.list, real)
		}
	}
	return r, nil
}

// Root is a folder that sessions may be opened in, or below which.
type Root struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// List returns the roots.
func (r *Roots) List() []Root {
	list := make([]Root, 0, len(r.list))
	for _, p := range r.list {
		list = append(list, Root{Name: filepath.Base(p), Path: p})
	}
	return list
}

// Resolve returns the real path of a folder that is in one of the roots, after
// all symbolic links. The error is forbidden for a folder elsewhere, whether it
// exists or not.
func (r *Roots) Resolve(path string) (string, error) {
	real, _, err := r.resolve(path)
	return real, err
}

func (r *Roots) resolve(path string) (real, root string, err error) {
	if origin, ok := worktree.Origin(r.home, path); ok {
		return r.resolveTree(path, origin)
	}
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", "", terret.Invalid("path", "%q is not an absolute path", path)
	}
	real, err = filepath.EvalSymlinks(path)
	if err == nil {
		root = r.rootOf(real)
	} else if r.rootOf(filepath.Clean(path)) != "" {
		return "", "", problem(path, err)
	}
	if root == "" {
		return "", "", terret.Errorf(terret.CodeForbidden, "%q is not in a folder that sessions may be opened in; choose one of %s, or start the server with --root", path, strings.Join(r.list, ", "))
	}
	if err := isFolder(real, path); err != nil {
		return "", "", err
	}
	h, err := openHome(r.home)
	if err != nil {
		return "", "", err
	}
	if h.holds(real) {
		return "", "", terret.Errorf(terret.CodeForbidden, "%s is where Terret keeps its own data; choose another folder", path)
	}
	return real, root, nil
}

// resolveTree resolves a folder in a worktree that Terret has made: it may be opened
// where the folder may that it was made for.
func (r *Roots) resolveTree(path, origin string) (real, root string, err error) {
	if _, root, err = r.resolve(origin); err != nil {
		return "", "", err
	}
	if real, err = realFolder(path); err != nil {
		return "", "", err
	}
	_, before, _ := worktree.Find(r.home, path)
	if _, after, ok := worktree.Find(r.home, real); !ok || after != before {
		return "", "", terret.Errorf(terret.CodeForbidden, "%q leads out of its worktree", path)
	}
	return real, root, nil
}

// rootOf returns the root that a path is in; the longest, if there are several.
func (r *Roots) rootOf(path string) string {
	best := ""
	for _, root := range r.list {
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) && len(root) > len(best) {
			best = root
		}
	}
	return best
}

// Subfolder is a folder in a folder.
type Subfolder struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Hidden bool   `json:"hidden,omitempty"` // its name begins with a dot
	Git    bool   `json:"git,omitempty"`    // it is a git work tree
}

// Subfolders are the folders in a folder, for choosing one.
type Subfolders struct {
	Path      string      `json:"path"`
	Parent    string      `json:"parent,omitempty"` // empty at a root
	Items     []Subfolder `json:"items"`
	Truncated bool        `json:"truncated,omitempty"`
}

// Dirs lists the folders in a folder that is in one of the roots.
func (r *Roots) Dirs(ctx context.Context, path string) (Subfolders, error) {
	real, root, err := r.resolve(path)
	if err != nil {
		return Subfolders{}, err
	}
	f, err := Open(root, r.home)
	if err != nil {
		return Subfolders{}, err
	}
	defer func() { _ = f.Close() }()
	rel, err := filepath.Rel(root, real)
	if err != nil {
		return Subfolders{}, err
	}
	if hidden(rel) {
		return Subfolders{}, notShown(path)
	}
	found, more, err := f.readDir(filepath.ToSlash(rel), maxEntries)
	if err != nil {
		return Subfolders{}, err
	}
	out := Subfolders{Path: real, Items: []Subfolder{}, Truncated: more}
	if real != root {
		out.Parent = filepath.Dir(real)
	}
	for _, e := range found {
		if ctx.Err() != nil {
			return Subfolders{}, ctx.Err()
		}
		in := filepath.Join(rel, e.Name())
		if hidden(in) || f.isHome(filepath.ToSlash(in), e) || !utf8.ValidString(e.Name()) || !f.isFolder(in, e) {
			continue
		}
		_, err := f.root.Lstat(filepath.Join(in, ".git"))
		out.Items = append(out.Items, Subfolder{
			Name: e.Name(), Path: filepath.Join(real, e.Name()), Hidden: strings.HasPrefix(e.Name(), "."), Git: err == nil,
		})
	}
	slices.SortFunc(out.Items, func(a, b Subfolder) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// isFolder reports whether an entry is a folder, or a link to one in the root.
func (f *Folder) isFolder(rel string, e fs.DirEntry) bool {
	if e.Type()&os.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := f.root.Stat(rel)
	return err == nil && info.IsDir()
}

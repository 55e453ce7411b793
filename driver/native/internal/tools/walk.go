package tools

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// walkBatch is how many names of a folder are read at once.
const walkBatch = 1024

// errEnough ends a walk without an error.
var errEnough = errors.New("enough")

// walk visits what is below a folder, each folder in the order of its names. It
// never follows a symbolic link. Skipped folders are not entered.
type walk struct {
	root  *os.Root
	base  string                                    // path of root
	skip  func(name string) bool                    // by name, of files too
	depth int                                       // levels below root to enter; negative is all
	visit func(rel string, entry fs.DirEntry) error // rel has slashes

	unreadable int // folders that could not be read
}

// run walks everything, until visit returns an error or ctx ends.
func (w *walk) run(ctx context.Context) error {
	err := w.folder(ctx, ".", 0)
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (w *walk) folder(ctx context.Context, rel string, level int) error {
	entries, err := w.entries(ctx, rel)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		w.unreadable++ // what was read of it is still visited
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		name := path.Join(rel, e.Name())
		if w.skip(e.Name()) || level == 0 && w.isKernel(name) {
			continue
		}
		if err := w.visit(name, e); err != nil {
			return err
		}
		if e.IsDir() && (w.depth < 0 || level < w.depth) {
			if err := w.folder(ctx, name, level+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// entries returns what is in a folder, sorted by name.
func (w *walk) entries(ctx context.Context, rel string) ([]fs.DirEntry, error) {
	f, err := w.root.OpenFile(filepath.FromSlash(rel), os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []fs.DirEntry
	for ctx.Err() == nil {
		var batch []fs.DirEntry
		batch, err = f.ReadDir(walkBatch)
		all = append(all, batch...)
		if err != nil {
			break
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, err
}

// isKernel reports whether a path of one component is one of the folders that
// are views of the system, where a search may hang or show the harness's secrets.
func (w *walk) isKernel(rel string) bool {
	return w.base == "/" && (rel == "proc" || rel == "sys" || rel == "dev")
}

// unlessNamed returns a test for the names .git, .terret and node_modules, which does not
// hold for one that the pattern names, nor for node_modules if the folder that is
// searched is in one. That folder itself is never put to the test.
func unlessNamed(folder, pattern string) func(name string) bool {
	git := hasGit(pattern)
	named := strings.FieldsFunc(folder+"/"+pattern, isSeparator)
	modules, own := slices.Contains(named, "node_modules"), slices.Contains(named, ".terret")
	return func(name string) bool {
		return isGit(name) && !git || name == "node_modules" && !modules || name == ".terret" && !own
	}
}

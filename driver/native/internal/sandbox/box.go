package sandbox

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// Box says what a command may change. All paths are absolute; those that do not exist
// count for nothing.
type Box struct {
	Write   []string // folders that it may write to
	Protect []string // folders below them that it may not write to after all
}

// mount is a folder, and whether it may be written to.
type mount struct {
	path  string
	write bool
}

// mounts are the folders of the box without symbolic links, each before those that lie in
// it, so that the last one that holds a path counts.
func (b Box) mounts() []mount {
	var out []mount
	add := func(paths []string, write bool) {
		for _, p := range paths {
			real, err := filepath.EvalSymlinks(p)
			if err == nil && filepath.IsAbs(real) {
				out = append(out, mount{real, write})
			}
		}
	}
	add(b.Write, true)
	add(b.Protect, false)
	slices.SortStableFunc(out, func(a, b mount) int { return cmp.Compare(len(a.path), len(b.path)) })
	return out
}

// MayWrite reports whether a command in the box may change the file, whose path is
// absolute and without symbolic links.
func (b Box) MayWrite(path string) bool {
	may := false
	for _, m := range b.mounts() {
		if within(path, m.path) {
			may = m.write
		}
	}
	return may
}

// excepted is a protected folder inside one that may be written to; empty if there is
// none.
func (b Box) excepted() string {
	mounts := b.mounts()
	for i, m := range mounts {
		if m.write {
			continue
		}
		for _, outer := range mounts[:i] {
			if outer.write && within(m.path, outer.path) {
				return m.path
			}
		}
	}
	return ""
}

// within reports whether a path is the folder, or lies in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

package workfiles

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/terret-dev/terret"
)

// Type is what something in a folder is.
type Type string

// The types. A symbolic link is what it leads to, if that is in the folder.
const (
	File  Type = "file"
	Dir   Type = "dir"
	Other Type = "other" // not to be opened: a device, a link that leads out, ...
)

// Entry is a file or folder in a list.
type Entry struct {
	Name       string      `json:"name"`
	Path       string      `json:"path"` // from the session's folder, with slashes
	Type       Type        `json:"type"`
	Link       bool        `json:"link,omitempty"` // it is a symbolic link
	Size       int64       `json:"size,omitempty"` // bytes of a file
	ModifiedAt terret.Time `json:"modified_at,omitzero"`
	Ignored    bool        `json:"ignored,omitempty"` // by git's rules
	// Change is what has happened to a file; a folder in which something has is
	// modified.
	Change Kind `json:"change,omitempty"`
}

// Listing is what is in one folder: folders first, each kind by name.
type Listing struct {
	Path      string  `json:"path"` // "" for the session's folder itself
	Items     []Entry `json:"items"`
	Truncated bool    `json:"truncated,omitempty"` // there are more
}

const maxEntries = 5000

// List lists one level: the folder at p, or the session's folder if p is empty.
// marks are the changes to be marked, and may be nil.
func (f *Folder) List(ctx context.Context, p string, marks []Change) (Listing, error) {
	rel, err := local(p)
	if err != nil {
		return Listing{}, err
	}
	found, more, err := f.readDir(rel, maxEntries)
	if err != nil {
		return Listing{}, err
	}
	list := Listing{Path: strings.TrimPrefix(rel, "."), Items: []Entry{}, Truncated: more}
	if rel != "." {
		list.Path = rel
	}
	for _, e := range found {
		if name := path.Join(rel, e.Name()); !hidden(name) && !f.isHome(name, e) {
			list.Items = append(list.Items, f.entry(name, e))
		}
	}
	slices.SortFunc(list.Items, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(order(a.Type), order(b.Type)), cmp.Compare(a.Name, b.Name))
	})
	f.markIgnored(ctx, list.Items)
	markChanged(list.Items, marks)
	return list, ctx.Err()
}

func order(t Type) int {
	if t == Dir {
		return 0
	}
	return 1
}

// readDir returns at most limit entries of a folder, and whether there are more.
func (f *Folder) readDir(rel string, limit int) (list []fs.DirEntry, more bool, err error) {
	dir, info, err := f.open(rel)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	if !info.IsDir() {
		return nil, false, terret.Invalid("path", "%s is not a folder", rel)
	}
	list, err = dir.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, problem(rel, err)
	}
	return list[:min(len(list), limit)], len(list) > limit, nil
}

// isHome reports whether an entry is Terret's home.
func (f *Folder) isHome(rel string, e fs.DirEntry) bool {
	return f.home.info != nil && e.IsDir() && f.home.holds(filepath.Join(f.dir, filepath.FromSlash(rel)))
}

func (f *Folder) entry(rel string, e fs.DirEntry) Entry {
	out := Entry{Name: e.Name(), Path: rel, Type: Other, Link: e.Type()&fs.ModeSymlink != 0}
	info, err := e.Info()
	if out.Link {
		info, err = f.root.Stat(filepath.FromSlash(rel)) // fails if it leads out
	}
	if err == nil {
		out.ModifiedAt = terret.TimeOf(info.ModTime())
		switch {
		case info.IsDir():
			out.Type = Dir
		case info.Mode().IsRegular():
			out.Type, out.Size = File, info.Size()
		}
	}
	if !utf8.ValidString(rel) { // JSON cannot carry it back
		out.Type, out.Name, out.Path = Other, valid(e.Name()), valid(rel)
	}
	return out
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func markChanged(items []Entry, marks []Change) {
	at := map[string]*Entry{}
	for i := range items {
		at[items[i].Path] = &items[i]
	}
	for _, c := range marks {
		if e := at[c.Path]; e != nil {
			e.Change = c.Kind
			continue
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if e := at[dir]; e != nil {
				e.Change = Modified
				break
			}
		}
	}
}

package plugin

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// maxPlugins bounds the programs that are taken from a folder.
const maxPlugins = 50

// Found is a program that is a plugin.
type Found struct {
	Name string // of the file, without its ending
	Path string // absolute
}

// named is the name of a plugin: it becomes part of the names of its tools.
var named = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,31}$`)

// Find lists the executable files in a folder, in the order of their names. Files with
// other names, and links that lead out of the folder, are left out.
func Find(dir string) []Found {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil // most have none
	}
	defer func() { _ = root.Close() }() // it is only read
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil
	}
	var out []Found
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
		info, err := root.Stat(e.Name())
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0 || !named.MatchString(name) || len(out) == maxPlugins {
			continue
		}
		out = append(out, Found{name, filepath.Join(dir, e.Name())})
	}
	return out
}

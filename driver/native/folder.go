package native

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxTexts = 200       // files in a folder of commands and the like
	maxText  = 256 << 10 // bytes of one
)

// folder is a place where people put files for the agent.
type folder struct {
	dir string   // the project's, or the user's own
	in  []string // below dir, with slashes; the last one counts most
}

// folders are those that take effect, the last one counts most: the user's own, and in a
// trusted project those for us and for Claude Code.
func (a *agent) folders(kind string) []folder {
	var out []folder
	if own := a.driver.cfg.UserDir; own != "" {
		out = append(out, folder{own, []string{kind}})
	}
	if a.req.Trusted {
		out = append(out, folder{a.req.Session.Cwd, []string{".claude/" + kind, ".terret/" + kind}})
	}
	return out
}

// texts reads the Markdown files in the folder, by their path without the ending. What
// is not a regular file, or lies elsewhere, is left out.
func (f folder) texts(depth int) map[string][]byte {
	out := map[string][]byte{}
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return out // most have none
	}
	defer func() { _ = root.Close() }() // it is only read
	for _, dir := range f.in {
		_ = fs.WalkDir(root.FS(), dir, func(name string, d fs.DirEntry, err error) error { // it returns no error
			rest := strings.TrimPrefix(strings.TrimPrefix(name, dir), "/")
			switch {
			case err != nil:
				return nil // what cannot be read is left out
			case d.IsDir() && strings.Count(rest, "/") >= depth:
				return fs.SkipDir
			case d.IsDir() || path.Ext(name) != ".md":
				return nil
			case len(out) == maxTexts:
				return fs.SkipAll
			}
			if text, err := readText(root, filepath.FromSlash(name)); err == nil {
				out[strings.TrimSuffix(rest, ".md")] = text
			}
			return nil
		})
	}
	return out
}

// readText reads a regular file that is not too long.
func readText(root *os.Root, name string) ([]byte, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case info.Size() > maxText:
		return nil, errors.New("too long")
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it is only read
	return io.ReadAll(io.LimitReader(file, maxText))
}

// sorted are the keys of a map in order.
func sorted[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

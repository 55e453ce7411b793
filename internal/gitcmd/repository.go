package gitcmd

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Repository is where things are of a user's repository. Only the content of files counts:
// nothing in the repository is run, and none of its configuration is read. The zero
// Repository is none.
type Repository struct {
	Top    string // the work tree
	Dir    string // its git directory
	Common string // the one that it shares with other work trees
}

// At is the repository whose work tree has its top there: with a folder .git, or a file .git
// that names one, as worktrees and submodules have it.
func At(top string) (Repository, bool) {
	at := filepath.Join(top, ".git")
	info, err := os.Stat(at)
	if err != nil {
		return Repository{}, false
	}
	if !info.IsDir() {
		to, ok := strings.CutPrefix(FirstLine(at), "gitdir: ")
		if !ok {
			return Repository{}, false
		}
		at = From(top, to)
	}
	r := Repository{Top: top, Dir: at, Common: at}
	if to := FirstLine(filepath.Join(at, "commondir")); to != "" {
		r.Common = From(at, to)
	}
	return r, true
}

// Index is the file of the index.
func (r Repository) Index() string { return r.file(r.Dir, "index") }

// Exclude is the file of what is ignored.
func (r Repository) Exclude() string { return r.file(r.Common, "info", "exclude") }

// Objects is the folder of objects.
func (r Repository) Objects() string { return r.file(r.Common, "objects") }

func (r Repository) file(parts ...string) string {
	if r.Dir == "" {
		return ""
	}
	return filepath.Join(parts...)
}

// From is a path that stands in a file of dir.
func From(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// FirstLine is the first line of a small file; empty if there is none.
func FirstLine(file string) string {
	line, _, _ := strings.Cut(string(ReadRegular(file, 64<<10)), "\n")
	return strings.TrimRight(line, "\r")
}

// ReadRegular returns up to limit bytes of a regular file, and nothing for anything else: a
// missing file is normal, and a pipe must not block.
func ReadRegular(file string, limit int64) []byte {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(file, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	content, _ := io.ReadAll(io.LimitReader(f, limit)) // a part is as good as none
	return content
}

// EscapeGlob makes a filepath.Glob pattern that matches p literally. Windows paths cannot
// hold what would need it.
func EscapeGlob(p string) string {
	if filepath.Separator != '/' {
		return p
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(p)
}

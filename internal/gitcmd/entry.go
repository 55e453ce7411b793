package gitcmd

import (
	"fmt"
	"io/fs"
	"strings"
)

// Entry is a file as git records it. The zero Entry is no file.
type Entry struct {
	Mode string // ModeFile, ModeExec or ModeLink
	ID   string
}

// Modes of entries.
const (
	ModeFile = "100644"
	ModeExec = "100755"
	ModeLink = "120000" // a symbolic link
	ModeRepo = "160000" // a repository inside of another
)

// FileMode is 0o644 or 0o755 for files, with fs.ModeSymlink for symbolic links.
func (e Entry) FileMode() fs.FileMode {
	switch e.Mode {
	case ModeFile:
		return 0o644
	case ModeExec:
		return 0o755
	case ModeLink:
		return fs.ModeSymlink | 0o777
	}
	return 0
}

// Plain reports whether it is a file, a symbolic link, or nothing.
func (e Entry) Plain() bool { return e == Entry{} || e.FileMode() != 0 }

// ParseRaw parses ":oldmode newmode oldid newid status".
func ParseRaw(rec string) (before, after Entry, err error) {
	f := strings.Fields(strings.TrimPrefix(rec, ":"))
	if len(f) != 5 {
		return Entry{}, Entry{}, fmt.Errorf("read changes: unexpected record %q", rec)
	}
	for i, e := range []*Entry{&before, &after} {
		if f[i] != "000000" {
			*e = Entry{Mode: f[i], ID: f[i+2]}
		}
	}
	return before, after, nil
}

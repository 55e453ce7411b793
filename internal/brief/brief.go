// Package brief makes what an agent says fit into a title that people decide by: one
// line, short, with nothing in it that could mislead them.
package brief

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// limit is how many characters of a text fit in a title.
const limit = 200

// Line is s on one line. The ends of lines stay visible, so that what follows the first
// line is not hidden; characters that do not print, which could reorder or erase text,
// are replaced.
func Line(s string) string {
	out := Cut(s, limit)
	if len(out) < len(s) {
		out += "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '↵'
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, out)
}

// Cut is the first n characters of s, as valid UTF-8.
func Cut(s string, n int) string {
	if len(s) > n*utf8.UTFMax {
		s = s[:n*utf8.UTFMax]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Path is a path for people: relative if it is below the folder.
func Path(path, cwd string) string {
	if path == "" || cwd == "" || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

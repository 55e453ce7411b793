package textdiff

import (
	"strconv"
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// File is the part of a diff that is about one file.
type File struct {
	Path                  string
	Text                  string       // of the diff, as it is
	Lines                 map[int]bool // of the new file, those that the diff shows
	Insertions, Deletions int
}

var hunk = lazyregexp.New(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// Parse splits a diff of git. What it does not understand it leaves out: no diff is an
// error, and what one shows of a file is in its text in any case.
func Parse(diff string) []File {
	var out []File
	for _, part := range split(diff) {
		out = append(out, parse(part))
	}
	return out
}

func parse(part string) File {
	f := File{Text: part, Lines: map[int]bool{}}
	next, head := 0, true
	for line := range strings.Lines(part) {
		line = strings.TrimSuffix(line, "\n")
		m := hunk.FindStringSubmatch(line)
		switch {
		case m != nil:
			head = false
			next, _ = strconv.Atoi(m[2]) // digits
		case head:
			if name, ok := strings.CutPrefix(line, "+++ "); ok && name != None {
				f.Path = pathOf(name)
			}
			if name, ok := strings.CutPrefix(line, "--- "); ok && f.Path == "" && name != None {
				f.Path = pathOf(name)
			}
		case strings.HasPrefix(line, "+"):
			f.Insertions++
			f.Lines[next] = true
			next++
		case strings.HasPrefix(line, " "):
			f.Lines[next] = true
			next++
		case strings.HasPrefix(line, "-"):
			f.Deletions++
			f.Lines[max(next, 1)] = true // where it was
		}
	}
	if f.Path == "" { // a binary file, or one with another mode only
		f.Path = headPath(part)
	}
	return f
}

// split cuts a diff into its files.
func split(text string) []string {
	const head = "diff --git "
	var out []string
	begin, at := -1, 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, head) {
			if begin >= 0 {
				out = append(out, text[begin:at])
			}
			begin = at
		}
		at += len(line)
	}
	if begin >= 0 {
		out = append(out, text[begin:])
	}
	return out
}

// pathOf is the path in a head line, which git may have quoted.
func pathOf(name string) string {
	name = strings.TrimSuffix(name, "\t")
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	_, name, _ = strings.Cut(name, "/")
	return name
}

// headPath is the path in the first line of a file's diff.
func headPath(part string) string {
	line, _, _ := strings.Cut(part, "\n")
	line = strings.TrimPrefix(line, "diff --git ")
	if half := len(line) / 2; half > 0 { // the same path twice, with a/ and b/
		return pathOf(line[:half])
	}
	return line
}

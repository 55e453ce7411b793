package review

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// maxDiff bounds the diff that an agent gets, in bytes.
const maxDiff = 200 << 10

// change is a diff, file by file.
type change struct {
	files []changedFile
}

type changedFile struct {
	path  string
	text  string
	lines map[int]bool // of the new file, those that the diff shows
}

var hunk = lazyregexp.New(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)

// parseDiff splits a unified diff of git, without the files that the rule excludes.
func parseDiff(text string, rule DiffRule) change {
	var out change
	for _, part := range split(text) {
		f := changedFile{text: part, lines: map[int]bool{}}
		next, head := 0, true
		for line := range strings.Lines(part) {
			line = strings.TrimSuffix(line, "\n")
			m := hunk.FindStringSubmatch(line)
			switch {
			case m != nil:
				head = false
				next, _ = strconv.Atoi(m[2]) // digits
			case head:
				if name, ok := strings.CutPrefix(line, "+++ "); ok && name != "/dev/null" {
					f.path = pathOf(name)
				}
				if name, ok := strings.CutPrefix(line, "--- "); ok && f.path == "" && name != "/dev/null" {
					f.path = pathOf(name)
				}
			case strings.HasPrefix(line, "+"), strings.HasPrefix(line, " "):
				f.lines[next] = true
				next++
			case strings.HasPrefix(line, "-"):
				f.lines[max(next, 1)] = true // where it was
			}
		}
		if f.path == "" { // a binary file, or one with another mode only
			f.path = headPath(part)
		}
		if !rule.excluded(f.path) {
			out.files = append(out.files, f)
		}
	}
	return out
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

// prompt is the diff as the agent gets it, and the files that did not fit.
func (c change) prompt() (text string, left []string) {
	var out strings.Builder
	for _, f := range c.files {
		if out.Len()+len(f.text) > maxDiff {
			left = append(left, f.path)
			continue
		}
		out.WriteString(f.text)
	}
	text = "<diff>\n" + strings.ReplaceAll(out.String(), "</diff", "<\\/diff") + "</diff>"
	if len(left) > 0 {
		text += fmt.Sprintf("\nThese files have changed, too; their diffs are too large to be shown: %s", strings.Join(left, ", "))
	}
	return text, left
}

// shows reports whether the diff shows that line of a file; line 0 is the file itself.
func (c change) shows(file string, line int) bool {
	for _, f := range c.files {
		if f.path == file {
			return line == 0 || f.lines[line]
		}
	}
	return false
}

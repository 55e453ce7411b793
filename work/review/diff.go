package review

import (
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/textdiff"
)

// maxDiff bounds the diff that an agent gets, in bytes.
const maxDiff = 200 << 10

// change is a diff, file by file.
type change struct {
	files []textdiff.File
}

// parseDiff splits a unified diff of git, without the files that the rule excludes.
func parseDiff(text string, rule DiffRule) change {
	return change{slices.DeleteFunc(textdiff.Parse(text), func(f textdiff.File) bool { return rule.excluded(f.Path) })}
}

// prompt is the diff as the agent gets it, and the files that did not fit.
func (c change) prompt() (text string, left []string) {
	var out strings.Builder
	for _, f := range c.files {
		if out.Len()+len(f.Text) > maxDiff {
			left = append(left, f.Path)
			continue
		}
		out.WriteString(f.Text)
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
		if f.Path == file {
			return line == 0 || f.Lines[line]
		}
	}
	return false
}

package workfiles

import (
	"bytes"
	"strings"

	"github.com/terret-dev/terret/internal/textdiff"
)

// change compares what was at a path with what is. It is not changed if they
// differ only in line endings that git converts. lines is how many may still be
// compared, and becomes less.
func change(rel string, old, now present, lines *int) (c Change, changed bool) {
	c = Change{Path: valid(rel), Kind: Modified, State: stateOf(old.entry, now.entry), NowMode: now.Mode}
	if now.ID != tooLarge {
		c.NowID = now.ID
	}
	switch {
	case old.Mode == "" && now.Mode == "":
		return c, false // it came and went
	case old.Mode == "":
		c.Kind = Created
	case now.Mode == "":
		c.Kind, now.whole = Deleted, true
	case old.Mode != now.Mode:
		c.OldMode, c.NewMode = modeName(old.FileMode()), modeName(now.FileMode())
	}
	if isBinary(old.content) || isBinary(now.content) {
		c.Binary = true
		return c, true
	}
	if !old.whole || !now.whole {
		c.TooLarge = true
		return c, true
	}
	from, to := string(old.content), string(now.content)
	if converts(old.content, now.content) {
		to = strings.ReplaceAll(to, "\r\n", "\n")
	}
	if from == to && c.Kind == Modified && c.OldMode == "" {
		return c, false
	}
	both := strings.Count(from, "\n") + strings.Count(to, "\n")
	if both > maxDiffLines || both > *lines {
		c.TooLarge = true
		return c, true
	}
	*lines -= both
	c.Diff, c.Insertions, c.Deletions = unified(c, from, to)
	c.TooLarge = len(c.Diff) > maxDiff
	return c, true
}

// converts reports whether a text looks like one whose line endings git converts: they
// are LF in the repository and CRLF in the folder.
func converts(old, now []byte) bool {
	crlf := bytes.Count(now, []byte("\r\n"))
	return crlf > 0 && !bytes.Contains(old, []byte("\r\n")) && bytes.Count(now, []byte("\n")) == crlf
}

// unified makes the diff of a text as git writes it, and counts its lines.
func unified(c Change, from, to string) (diff string, insertions, deletions int) {
	a, b := "a/"+c.Path, "b/"+c.Path
	switch c.Kind {
	case Created:
		a = textdiff.None
	case Deleted:
		b = textdiff.None
	case Modified:
	}
	return textdiff.Counted(a, b, from, to)
}

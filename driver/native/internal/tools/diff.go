package tools

import "github.com/terret-dev/terret/internal/textdiff"

// unified is the diff of a file before and after a change. It is empty if there
// is none; where a diff would be of no use, it says so in its place.
func unified(p place, before state, after []byte) string {
	from, to := textdiff.Names(p.shown)
	if before.info == nil {
		from = textdiff.None
	}
	switch {
	case isBinary(before.content) || isBinary(after):
		return textdiff.Binary(from, to)
	case !before.whole:
		return textdiff.TooLarge(from, to, before.info.Size(), int64(len(after)))
	}
	return textdiff.Between(from, to, string(before.content), string(after))
}

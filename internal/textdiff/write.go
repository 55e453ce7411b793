// Package textdiff writes and reads unified diffs.
package textdiff

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// MaxInput is how many bytes on either side Between compares, and MaxDiff how many bytes of
// a diff it returns.
const (
	MaxInput = 2 << 20
	MaxDiff  = 256 << 10
)

// None is the name of a file that is not there.
const None = "/dev/null"

// Names are the names of a file before and after a change.
func Names(path string) (from, to string) {
	name := strings.TrimPrefix(filepath.ToSlash(path), "/")
	name = strings.NewReplacer("\n", "\\n", "\r", "\\r").Replace(name)
	return "a/" + name, "b/" + name
}

// Between is the diff of a file before and after a change. It is empty if there is none;
// where a diff would be of no use, it says so in its place.
func Between(from, to, before, after string) string {
	switch {
	case before == after:
		return ""
	case strings.ContainsRune(before, 0) || strings.ContainsRune(after, 0):
		return Binary(from, to)
	case len(before) > MaxInput || len(after) > MaxInput:
		return TooLarge(from, to, int64(len(before)), int64(len(after)))
	}
	diff, _, _ := Counted(from, to, before, after)
	return Bounded(diff)
}

// Binary stands for the diff of files that are no text.
func Binary(from, to string) string { return fmt.Sprintf("Binary files %s and %s differ\n", from, to) }

// TooLarge stands for the diff of files of so many bytes.
func TooLarge(from, to string, before, after int64) string {
	return fmt.Sprintf("--- %s\n+++ %s\n[too large for a diff: %d bytes become %d]\n", from, to, before, after)
}

// Bounded cuts a diff at the end of a line.
func Bounded(diff string) string {
	if len(diff) <= MaxDiff {
		return diff
	}
	end := strings.LastIndexByte(diff[:MaxDiff], '\n') + 1
	return fmt.Sprintf("%s[... %d bytes of the diff cut ...]\n", strings.ToValidUTF8(diff[:end], ""), len(diff)-end)
}

// Counted is the diff of two texts, as valid UTF-8, and how many lines it adds and removes.
// It has no bounds.
func Counted(from, to, before, after string) (diff string, insertions, deletions int) {
	u, err := udiff.ToUnifiedDiff(from, to, before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil { // edits of its own always apply
		return fmt.Sprintf("--- %s\n+++ %s\n[no diff: %v]\n", from, to, err), 0, 0
	}
	for _, h := range u.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Insert:
				insertions++
			case udiff.Delete:
				deletions++
			case udiff.Equal:
			}
		}
	}
	return strings.ToValidUTF8(u.String(), "\uFFFD"), insertions, deletions
}

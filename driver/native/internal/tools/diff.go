package tools

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

const (
	diffInput = 2 << 20   // bytes on either side of which a diff is made
	diffLimit = 256 << 10 // bytes of a diff
)

// unified is the diff of a file before and after a change. It is empty if there
// is none; where a diff would be of no use, it says so in its place.
func unified(p place, before state, after []byte) string {
	name := filepath.ToSlash(strings.TrimPrefix(p.shown, string(filepath.Separator)))
	from, to := "a/"+name, "b/"+name
	if before.info == nil {
		from = "/dev/null"
	}
	old, now := string(before.content), string(after)
	switch {
	case before.whole && before.info != nil && old == now:
		return ""
	case isBinary(before.content) || isBinary(after):
		return fmt.Sprintf("Binary files %s and %s differ\n", from, to)
	case !before.whole || len(old) > diffInput || len(now) > diffInput:
		return fmt.Sprintf("--- %s\n+++ %s\n[too large for a diff: %d bytes become %d]\n", from, to, size(before), len(now))
	}
	diff, err := udiff.ToUnified(from, to, old, udiff.Lines(old, now), udiff.DefaultContextLines)
	if err != nil {
		return fmt.Sprintf("--- %s\n+++ %s\n[no diff: %v]\n", from, to, err)
	}
	diff = strings.ToValidUTF8(diff, "\uFFFD")
	if len(diff) <= diffLimit {
		return diff
	}
	end := strings.LastIndexByte(diff[:diffLimit], '\n') + 1
	return fmt.Sprintf("%s[... %d bytes of the diff cut ...]\n", strings.ToValidUTF8(diff[:end], ""), len(diff)-end)
}

func size(s state) int64 {
	if s.info == nil {
		return 0
	}
	return s.info.Size()
}

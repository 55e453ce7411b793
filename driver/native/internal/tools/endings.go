package tools

import (
	"bytes"
	"slices"
	"strings"
)

// unfolded is a text with LF in the place of CRLF, and the way back.
type unfolded struct {
	plain   []byte
	removed []int // where in plain a CR was taken out, before the LF that is there
	crlf    int   // lines that ended with CRLF
	lf      int   // lines that ended with LF alone
}

// unfold takes CR before LF out of b. Without any, plain is b itself.
func unfold(b []byte) unfolded {
	u := unfolded{crlf: bytes.Count(b, []byte("\r\n"))}
	u.lf = bytes.Count(b, []byte("\n")) - u.crlf
	if u.crlf == 0 {
		u.plain = b
		return u
	}
	u.plain = make([]byte, 0, len(b)-u.crlf)
	u.removed = make([]int, 0, u.crlf)
	for i, c := range b {
		if c == '\r' && i+1 < len(b) && b[i+1] == '\n' {
			u.removed = append(u.removed, len(u.plain))
			continue
		}
		u.plain = append(u.plain, c)
	}
	return u
}

// folded is the offset in the text of an offset in plain. That of a line ending
// is the offset of its CR.
func (u unfolded) folded(at int) int {
	n, _ := slices.BinarySearch(u.removed, at)
	return at + n
}

// fold gives new the line endings of the part of the text that it replaces.
func (u unfolded) fold(new string, replaced []byte) string {
	crlf := u.crlf > u.lf
	if bytes.IndexByte(replaced, '\n') >= 0 {
		crlf = bytes.Contains(replaced, []byte("\r\n"))
	}
	if u.crlf == 0 || !crlf {
		return new
	}
	return strings.ReplaceAll(new, "\n", "\r\n")
}

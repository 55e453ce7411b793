package tools

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes text of what a program printed: valid UTF-8 without control
// characters and terminal sequences, lines ended by "\n". A lone carriage return
// ends a line as well.
func clean(b []byte) string {
	text, _ := cleanPart(b, true)
	return text
}

// cleanPart is clean for a piece of a stream: unless it is the last one, it
// leaves what may go on in the next piece. It returns how much it has used.
func cleanPart(b []byte, last bool) (text string, used int) {
	var out strings.Builder
	out.Grow(len(b))
	i := 0
	for i < len(b) {
		var n int
		whole := true
		switch c := b[i]; {
		case c == 0x1b:
			n, whole = sequence(b[i:])
		case c == '\r':
			n, whole = lineEnd(b[i:])
			if whole || last {
				out.WriteByte('\n')
			}
		case c == '\n' || c == '\t' || c >= 0x20 && c < 0x7f:
			out.WriteByte(c)
			n = 1
		case c < 0x80:
			n = 1
		default:
			var r rune
			r, n = utf8.DecodeRune(b[i:])
			whole = utf8.FullRune(b[i:])
			if (whole || last) && !unicode.IsControl(r) {
				out.WriteRune(r)
			}
		}
		if !whole && !last {
			break
		}
		i += n
	}
	return out.String(), i
}

// lineEnd measures carriage returns and the line feed behind them.
func lineEnd(b []byte) (n int, whole bool) {
	for n < len(b) && b[n] == '\r' {
		n++
	}
	if n == len(b) {
		return n, false
	}
	if b[n] == '\n' {
		n++
	}
	return n, true
}

// sequence measures the terminal sequence that b begins with. One that is not
// whole reaches to the end of b.
func sequence(b []byte) (n int, whole bool) {
	if len(b) < 2 {
		return len(b), false
	}
	switch c := b[1]; {
	case c == '[':
		return span(b, 0x20, 0x3f)
	case bytes.IndexByte([]byte("]PX^_"), c) >= 0:
		return stringSequence(b)
	case c >= 0x20 && c <= 0x2f:
		return span(b, 0x20, 0x2f)
	case c >= 0x30 && c <= 0x7e:
		return 2, true
	}
	return 1, true
}

// span measures a sequence whose third and further bytes are from lo to hi, with
// one final byte behind them. A byte that cannot be one ends it and is not part
// of it.
func span(b []byte, lo, hi byte) (n int, whole bool) {
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] >= lo && b[i] <= hi:
		case b[i] > hi && b[i] <= 0x7e:
			return i + 1, true
		default:
			return i, true
		}
	}
	return len(b), false
}

// stringSequence measures a sequence that holds a string: to its terminator, or
// to the end of the line, which no honest one goes beyond.
func stringSequence(b []byte) (n int, whole bool) {
	for i := 2; i < len(b); i++ {
		switch b[i] {
		case 0x07:
			return i + 1, true
		case '\n':
			return i, true
		case 0x1b:
			if i+1 == len(b) {
				return len(b), false
			}
			if b[i+1] == '\\' {
				return i + 2, true
			}
			return i, true
		}
	}
	return len(b), false
}

// titleLimit is how many characters of a command or path a title shows.
const titleLimit = 120

// brief is s on one line, cut, for a title.
func brief(s string) string { return cutEnd(plain(s), titleLimit, "…") }

// plain is s on one line, with nothing in it that a terminal or a reader could
// be misled by. Text that is harmless stays as it is.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '↵'
		case r == '\t':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

// cutEnd keeps the first limit characters of s and puts mark behind them if
// there were more.
func cutEnd(s string, limit int, mark string) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i] + mark
		}
		n++
	}
	return s
}

// valid makes text of a line of a file: valid UTF-8 without NUL.
func valid(line []byte) string {
	s := strings.ToValidUTF8(string(line), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// count is "1 file" or "2 files".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

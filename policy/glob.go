package policy

import (
	"slices"
	"strings"
)

// Texts to match are strings in which some control characters, which no judged input
// may contain, have a special meaning.
const (
	anyText = "\x00" // any text, even none
	wordSep = "\x01" // separates two words of a command
	anyByte = '\x00'

	// maybeWords is no word at all, or wordSep and any text. Only mayMatch knows it,
	// and only in the text.
	maybeWords = "\x02"
)

// covers reports whether the pattern matches the text whatever its unknown parts turn
// out to be: only unknown parts of the pattern match those.
func covers(pattern, text string) bool { return overlap(pattern, text, false) }

// mayMatch reports whether some text is an instance of both.
func mayMatch(pattern, text string) bool { return overlap(pattern, text, true) }

// overlap decides both questions in time proportional to the product of the lengths,
// and with memory for one row.
func overlap(pattern, text string, either bool) bool {
	// row[i] says whether pattern[:i] matches the text read so far.
	row := make([]bool, len(pattern)+1)
	row[0] = true
	for i := 0; i < len(pattern) && pattern[i] == anyByte; i++ {
		row[i+1] = true
	}
	for j := range len(text) {
		alive := false
		if text[j] == maybeWords[0] {
			none := slices.Clone(row)
			step(row, pattern, wordSep[0], either)
			step(row, pattern, anyByte, either)
			for i := range row {
				row[i] = row[i] || none[i]
				alive = alive || row[i]
			}
		} else {
			alive = step(row, pattern, text[j], either)
		}
		if !alive {
			return false
		}
	}
	return row[len(pattern)]
}

// step reads one more byte of the text. It reports whether any of the pattern still
// matches.
func step(row []bool, pattern string, c byte, either bool) (alive bool) {
	unknown := c == anyByte
	diagonal := row[0]
	row[0] = row[0] && unknown && either
	alive = row[0]
	for i := range len(pattern) {
		above := row[i+1]
		switch {
		case pattern[i] == anyByte:
			row[i+1] = row[i] || above || diagonal
		case unknown && either:
			row[i+1] = above || row[i] // the unknown text absorbs pattern[i], or ends
		case unknown:
			row[i+1] = false
		default:
			row[i+1] = diagonal && pattern[i] == c
		}
		alive = alive || row[i+1]
		diagonal = above
	}
	return alive
}

// coarse turns a file glob into a pattern for mayMatch that matches at least what the
// glob matches.
func coarse(glob string) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*', '?':
			b.WriteByte(anyByte)
		case '[', '{':
			// Classes and alternatives are rare: what follows may be anything.
			b.WriteByte(anyByte)
			return b.String()
		case '\\':
			i++
			if i < len(glob) {
				b.WriteByte(glob[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return strings.ReplaceAll(b.String(), "/"+anyText+anyText+"/", anyText)
}

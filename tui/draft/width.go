package draft

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Cluster returns the bytes of the first character of text as people see it, such as a
// letter with its accents or a family of joined emoji, and how many columns it takes.
func Cluster(text string) (bytes, columns int) {
	first, bytes := utf8.DecodeRuneInString(text)
	columns = runeColumns(first)
	if unicode.IsControl(first) { // a line break stays one, whatever follows
		return bytes, columns
	}
	for last := first; bytes < len(text); {
		r, n := utf8.DecodeRuneInString(text[bytes:])
		flag := isRegional(last) && isRegional(r) && bytes == utf8.RuneLen(first)
		if !extends(r) && !flag && (last != joiner || columns < 2 || unicode.IsControl(r)) {
			break
		}
		if r == emojiStyle {
			columns = 2
		}
		bytes, last = bytes+n, r
	}
	return bytes, columns
}

const (
	joiner     = '\u200d'
	emojiStyle = '\ufe0f'
)

func isRegional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

// extends reports whether a rune belongs to the one before it.
func extends(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) || r == joiner || r == '\u200c' ||
		r >= 0x1f3fb && r <= 0x1f3ff || // colours of skin
		r >= 0xe0020 && r <= 0xe007f || // tags of flags
		r >= 0x1160 && r <= 0x11ff // vowels and ends of Hangul syllables
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case isRegional(r):
		return 2
	}
	if kind := width.LookupRune(r).Kind(); kind == width.EastAsianWide || kind == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// Columns is how many columns a text without line breaks takes.
func Columns(text string) int {
	all := 0
	for text != "" {
		n, w := Cluster(text)
		all, text = all+w, text[n:]
	}
	return all
}

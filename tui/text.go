package tui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const tab = "    "

// safe makes a text fit to be shown: what could act on the terminal or hide what a text
// says becomes visible, and every character has one width that terminals agree on. Only
// line breaks are left of control characters. It is the only way for text to the screen.
func safe(text string) string {
	if plainASCII(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 8)
	last := "" // what was written last: it must not melt into one with what follows
	for text != "" {
		if n := asciiRun(text); n > 1 { // its last character may carry an accent
			b.WriteString(text[:n-1])
			last, text = text[n-2:n-1], text[n-1:]
			continue
		}
		cluster, _ := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		if cluster == "" { // never, but a loop must end
			_, n := utf8.DecodeRuneInString(text)
			cluster = text[:n]
		}
		text = text[len(cluster):]
		if len(cluster) <= maxCluster && utf8.ValidString(cluster) && strings.IndexFunc(cluster, hidden) < 0 && stands(last, cluster) {
			b.WriteString(cluster)
			last = cluster
			continue
		}
		for _, r := range cluster { // what terminals disagree about is shown by its parts
			part := partOf(r)
			if part != "" && part != "\n" && !stands(last, part) {
				if part = string(utf8.RuneError); unicode.In(r, unicode.Mn, unicode.Me) || isTone(r) {
					continue // an accent too many
				}
			}
			b.WriteString(part)
			if part != "" {
				last = part
			}
		}
	}
	return b.String()
}

// stands reports whether terminals agree on how wide a character is, alone and after the
// one before it.
func stands(last, s string) bool {
	n := ansi.StringWidth(s)
	if n != ansi.StringWidthWc(s) || n == 0 {
		return false
	}
	both := ansi.StringWidth(last + s)
	return last == "\n" || both == ansi.StringWidthWc(last+s) && both == ansi.StringWidth(last)+n
}

// partOf is what is shown of a rune that cannot be shown within its character.
func partOf(r rune) string {
	switch {
	case r == '\n':
		return "\n"
	case r == '\t':
		return tab
	case r == '\r', r == 0x200d, unicode.Is(unicode.Variation_Selector, r): // they join and style only
		return ""
	case r < ' ':
		return string('␀' + r)
	case r == 0x7f:
		return "␡"
	case hidden(r):
		return string(utf8.RuneError)
	}
	return string(r)
}

// isTone reports a colour of skin.
func isTone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// maxCluster is the longest character, in bytes: a letter can carry a thousand accents.
const maxCluster = 32

// hidden reports a rune that acts, or says nothing that can be seen.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp)
}

// asciiRun counts the letters at the start that are plain.
func asciiRun(text string) int {
	n := 0
	for n < len(text) && text[n] >= ' ' && text[n] < 0x7f {
		n++
	}
	return n
}

func plainASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= 0x7f || c < ' ' && c != '\n' {
			return false
		}
	}
	return true
}

// oneLine is text in one line, without space at its ends.
func oneLine(text string) string { return strings.Join(strings.Fields(safe(text)), " ") }

// width is how many columns safe text takes.
func width(text string) int {
	if plainASCII(text) {
		return len(text)
	}
	return ansi.StringWidth(text)
}

// cut shortens safe text to that many columns, with an ellipsis.
func cut(text string, columns int) string {
	if columns <= 0 {
		return ""
	}
	if (line{{text, plain}}).fits(columns) {
		return text
	}
	return prefix(text, columns-1) + "…"
}

// cutLeft keeps the end of safe text.
func cutLeft(text string, columns int) string {
	w := width(text)
	if w <= columns || columns <= 0 {
		return text
	}
	return ansi.TruncateLeft(text, w-columns+1, "…")
}

// withoutColours removes what commands print to colour their output, and of lines that
// they print over what was there before.
func withoutColours(text string) string {
	if !strings.ContainsAny(text, "\x1b\r") {
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	for line := range strings.Lines(text) {
		body, end := strings.TrimSuffix(line, "\n"), ""
		if len(body) < len(line) {
			end = "\n"
		}
		body = strings.TrimRight(body, "\r")
		body = body[strings.LastIndexByte(body, '\r')+1:]
		b.WriteString(withoutSGR(body) + end)
	}
	return b.String()
}

func withoutSGR(line string) string {
	var b strings.Builder
	for {
		at := strings.Index(line, "\x1b[")
		if at < 0 {
			b.WriteString(line)
			return b.String()
		}
		end := at + 2
		for end < len(line) && (line[end] >= '0' && line[end] <= '9' || line[end] == ';' || line[end] == ':') {
			end++
		}
		b.WriteString(line[:at])
		if end < len(line) && (line[end] == 'm' || line[end] == 'K') {
			line = line[end+1:]
			continue
		}
		b.WriteString(line[at : at+2])
		line = line[at+2:]
	}
}

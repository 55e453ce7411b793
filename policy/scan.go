package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What the shell parser gets is bounded, since the parser is recursive and a stack
// overflow ends the process.
const (
	maxSource  = 64 << 10 // bytes
	maxNesting = 200
)

// unreadable says what in a text a person would see differently from the shell or the
// file system; it is empty for ordinary text.
func unreadable(s string) string {
	if !utf8.ValidString(s) {
		return "bytes that are not UTF-8"
	}
	for _, r := range s {
		switch {
		case r >= ' ' && r <= '~' || r == '\n' || r == '\t':
		case r == 0:
			return "a NUL"
		case r == utf8.RuneError:
			return "an unreadable character"
		case unicode.IsControl(r):
			return "a control character"
		case unicode.In(r, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point),
			unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return "an invisible character"
		}
	}
	return ""
}

// scan says why a command must not be parsed; it is empty for ordinary ones.
func scan(source string) string {
	if len(source) > maxSource {
		return "it is longer than 64 KB"
	}
	if reason := unreadable(source); reason != "" {
		return "it contains " + reason
	}
	if nesting(source) > maxNesting {
		return "it is nested too deeply"
	}
	return ""
}

var (
	openers = map[string]bool{"if": true, "while": true, "until": true, "for": true, "case": true, "select": true}
	closers = map[string]bool{"fi": true, "done": true, "esac": true}
)

// nesting is a rough upper bound on how deeply a command nests. It ignores quotes: text
// that looks nested counts.
func nesting(source string) int {
	brackets, keywords, deepest := 0, 0, 0
	run, longest, backquotes := 0, 0, 0
	word := 0 // start of the current word
	for i := 0; i <= len(source); i++ {
		c := byte(' ')
		if i < len(source) {
			c = source[i]
		}
		if c >= 'a' && c <= 'z' {
			run = 0
			continue
		}
		switch w := source[min(word, i):i]; {
		case openers[w]:
			keywords++
		case closers[w]:
			keywords = max(keywords-1, 0)
		}
		word = i + 1
		switch c {
		case '(', '{', '[':
			brackets++
		case ')', '}', ']':
			brackets = max(brackets-1, 0)
		case '`':
			backquotes++
		case '!', '-', '+', '~':
			run++ // stacked operators
		case ' ', '\t', '\n', '\\':
		default:
			run = 0
		}
		deepest, longest = max(deepest, brackets+keywords), max(longest, run)
	}
	prefixes := max(strings.Count(source, "time "), strings.Count(source, "coproc "))
	return max(deepest, longest, prefixes, strings.Count(source, `\`+"`"), backquotes/4, strings.Count(source, "<<")/2)
}

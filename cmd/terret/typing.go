package main

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Names of keys that terminals send as sequences of bytes, and of those that are sent
// as control characters, the way Emacs and readline use them.
var (
	sequences = map[string]string{
		"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end",
		"1~": "home", "7~": "home", "4~": "end", "8~": "end", "3~": "delete",
		"1;5C": "word right", "1;3C": "word right", "1;5D": "word left", "1;3D": "word left",
	}
	controls = map[byte]string{
		0x01: "home", 0x02: "left", 0x03: "leave", 0x04: "end of input", 0x05: "end", 0x06: "right", 0x08: "backspace",
		'\n': "enter", '\r': "enter", 0x0b: "cut right", 0x0c: "clear", 0x0e: "down", 0x10: "up", 0x15: "cut left",
		0x17: "cut to space", 0x19: "paste", 0x1f: "undo", 0x7f: "backspace",
	}
	alts = map[byte]string{
		'\n': "new line", '\r': "new line", 'b': "word left", 'f': "word right", 'd': "cut word right",
		0x7f: "cut word left", 0x08: "cut word left", '_': "redo",
	}
)

const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
	longestKey  = 32 // no sequence is longer
)

// key is a key that was pressed, or text that was typed or pasted. The tab is both.
type key struct {
	name string
	text string
}

// nextKey reads the first key, and says how many bytes it took. None means that the rest
// of it is still to come.
func nextKey(in []byte) (k key, n int) {
	switch {
	case in[0] == 0x1b:
		return escaped(in)
	case in[0] == '\t':
		return key{name: "tab", text: "\t"}, 1
	case in[0] < ' ' || in[0] == 0x7f:
		return key{name: controls[in[0]]}, 1
	}
	for n < len(in) && in[n] >= ' ' && in[n] != 0x7f && utf8.FullRune(in[n:]) {
		_, size := utf8.DecodeRune(in[n:])
		n += size
	}
	return key{text: valid(in[:n])}, n
}

func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

// escaped reads a key that begins with an escape.
func escaped(in []byte) (k key, n int) {
	if bytes.HasPrefix(in, []byte(pasteBegins)) {
		text, _, all := bytes.Cut(in[len(pasteBegins):], []byte(pasteEnds))
		if !all {
			return key{}, 0
		}
		lines := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(valid(text))
		return key{text: lines}, len(pasteBegins) + len(text) + len(pasteEnds)
	}
	if len(in) == 1 {
		return key{}, 0
	}
	switch in[1] {
	case '[', 'O':
		for n = 2; n < len(in) && n < longestKey; n++ {
			switch {
			case in[n] == '[' && n == 2: // F1 to F5 of Linux without windows: one more comes
			case in[n] >= '@' && in[n] <= '~':
				return key{name: sequences[string(in[2:n+1])]}, n + 1
			case in[n] < ' ' || in[n] > '~': // this is no key, and the next one begins
				return key{}, n
			}
		}
		if n == longestKey {
			return key{}, n
		}
		return key{}, 0
	case 0x1b:
		return key{}, 1
	}
	if !utf8.FullRune(in[1:]) {
		return key{}, 0
	}
	_, size := utf8.DecodeRune(in[1:])
	return key{name: alts[in[1]]}, 1 + size
}

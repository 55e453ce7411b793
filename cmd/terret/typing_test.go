package main

import (
	"slices"
	"testing"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]key{
		"ab\n":                         {{text: "ab"}, {name: "enter"}},
		"é日👍":                          {{text: "é日👍"}},
		"\xff":                         {{text: "\uFFFD"}},
		"\x1b[A\x1bOB\x1b[1;5C":        {{name: "up"}, {name: "down"}, {name: "word right"}},
		"\x1b\x7fx":                    {{name: "cut word left"}, {text: "x"}},
		"\x1b\r":                       {{name: "new line"}},
		"\x1b[99;99~a":                 {{}, {text: "a"}},
		"\x1bé":                        {{}},
		"\x1b[200~a\r\nb\rc\x1b[201~":  {{text: "a\nb\nc"}},
		"\x1b[200~\x1b[A\x03\x1b[201~": {{text: "\x1b[A\x03"}},
		"\x1b[[Ax":                     {{}, {text: "x"}},
		"\x1b[\x03":                    {{}, {name: "leave"}},
		"\x1b[1\x1b[A":                 {{}, {name: "up"}},
		"a\tb\x00":                     {{text: "a"}, {name: "tab", text: "\t"}, {text: "b"}, {}},
	} {
		var got []key
		var rest []byte
		for i := range len(in) { // one byte at a time, as from a slow line
			rest = append(rest, in[i])
			if i < len(in)-1 && in[0] != 0x1b {
				continue
			}
			for len(rest) > 0 {
				k, n := nextKey(rest)
				if n == 0 {
					break
				}
				got, rest = append(got, k), rest[n:]
			}
		}
		if !slices.Equal(got, want) || len(rest) > 0 {
			t.Errorf("%q is %q, want %q; left %q", in, got, want, rest)
		}
	}
	for _, part := range []string{"\xe6\x97", "\x1b", "\x1b[", "\x1b[1;5", "\x1b[200~all that\x1b[201"} {
		if k, n := nextKey([]byte(part)); n != 0 {
			t.Errorf("%q is %q, and %d bytes of it", part, k, n)
		}
	}
}

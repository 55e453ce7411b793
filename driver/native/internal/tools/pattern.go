package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/glob"
)

const patternLength = 1000 // bytes of a path pattern

// compilePattern reads a path pattern. It fails for one that is wrong or too long.
func compilePattern(p string) (*glob.Glob, error) {
	switch {
	case p == "":
		return nil, errors.New("it is empty")
	case len(p) > patternLength:
		return nil, fmt.Errorf("it is longer than %d bytes", patternLength)
	case strings.ContainsRune(p, 0):
		return nil, errors.New("it contains a NUL character")
	}
	g, err := glob.Compile(p)
	if err == nil && slices.Contains(strings.Split(p, "/"), "..") {
		err = errors.New(`".." may only stand at its beginning; use path for the folder to search`)
	}
	return g, err
}

var unescape = strings.NewReplacer(`\*`, "*", `\?`, "?", `\[`, "[", `\]`, "]", `\{`, "{", `\}`, "}")

// splitPattern cuts a pattern before its first part with a star or another special
// character. What is before is a path like any other.
func splitPattern(p string) (folder, rest string) {
	cut := -1
scan:
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '/':
			cut = i
		case '*', '?', '[', '{':
			break scan
		}
	}
	switch {
	case cut < 0:
		return ".", p
	case cut == 0:
		return "/", p[1:]
	}
	return unescape.Replace(p[:cut]), p[cut+1:]
}

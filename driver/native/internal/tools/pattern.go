package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	patternLength = 1000 // bytes of a path pattern
	patternWays   = 1024 // alternatives that its braces may multiply to
)

// checkPattern fails for a path pattern that is wrong, or that would take too
// long to match: a match cannot be interrupted.
func checkPattern(p string) error {
	switch {
	case p == "":
		return errors.New("it is empty")
	case len(p) > patternLength:
		return fmt.Errorf("it is longer than %d bytes", patternLength)
	case strings.ContainsRune(p, 0):
		return errors.New("it contains a NUL character")
	case !doublestar.ValidatePattern(p):
		return errors.New("a bracket or brace is not closed, or it ends with a backslash")
	case ways(p) > patternWays:
		return fmt.Errorf("its braces give more than %d alternatives", patternWays)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return errors.New(`".." may only stand at its beginning; use path for the folder to search`)
	}
	return nil
}

// ways is an upper bound for what the braces of a pattern multiply to, or
// patternWays+1 when it is more than that.
func ways(p string) int {
	total := 1
	var open []int // alternatives of each brace that is open
	for _, c := range p {
		switch {
		case c == '{':
			open = append(open, 1)
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			total = min(total*open[len(open)-1], patternWays+1)
			open = open[:len(open)-1]
		}
	}
	return total
}

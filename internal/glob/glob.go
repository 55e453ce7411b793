// Package glob matches paths with patterns, in time proportional to the product of their
// lengths whatever the pattern is.
//
// A star matches any text without a slash, a question mark one character, and [a-z], [!a]
// or [^a] one of a class. Two stars that are a whole part of the path match any number of
// parts, none included: dir/** also matches dir. {a,b} is one of its alternatives, which
// may be patterns. A backslash takes away a character's meaning. Patterns mean what they
// mean in the package doublestar, whose time is exponential in the number of braces.
package glob

import (
	"errors"
	"strings"
	"sync"
	"unicode/utf8"
)

// ErrBad is the error for a pattern that nobody can read.
var ErrBad = errors.New("a bracket or brace is not closed, or it ends with a backslash")

// Glob is a pattern to match with. It is safe for concurrent use.
type Glob struct {
	nodes []node
	// empty says whether what begins at a node matches where the name has ended, and
	// behind the same if a star is before it.
	empty, behind []bool
	runs          sync.Pool
}

type kind uint8

const (
	end   kind = iota
	one        // the character char
	any1       // any character but a slash
	class      // a character of ranges, or none of them
	star
	fork // goes on at each of alternatives
	jump // goes on at next
)

// node is a character or a sign of the pattern.
type node struct {
	kind         kind
	escaped      bool // one: it stood after a backslash
	not          bool // class
	char         rune
	next         int // where the pattern goes on
	ranges       [][2]rune
	alternatives []int
}

// Compile reads a pattern. The error is ErrBad.
func Compile(pattern string) (*Glob, error) {
	g := &Glob{nodes: make([]node, 0, len(pattern)+1)}
	type brace struct {
		fork  int
		jumps []int
	}
	var open []brace
	for i := 0; i < len(pattern); {
		at := len(g.nodes)
		n := node{next: at + 1}
		c := pattern[i]
		switch {
		case c == '*':
			n.kind = star
			i++
		case c == '?':
			n.kind = any1
			i++
		case c == '[':
			used := n.readClass(pattern[i:])
			if used == 0 {
				return nil, ErrBad
			}
			i += used
		case c == '{':
			n.kind, n.alternatives = fork, []int{at + 1}
			open = append(open, brace{fork: at})
			i++
		case c == ',' && len(open) > 0:
			n.kind = jump
			in := &open[len(open)-1]
			in.jumps = append(in.jumps, at)
			g.nodes[in.fork].alternatives = append(g.nodes[in.fork].alternatives, at+1)
			i++
		case c == '}':
			if len(open) == 0 {
				return nil, ErrBad
			}
			n.kind = jump
			for _, j := range open[len(open)-1].jumps {
				g.nodes[j].next = at + 1
			}
			open = open[:len(open)-1]
			i++
		default:
			if c == '\\' {
				n.escaped = true
				i++
			}
			if i == len(pattern) {
				return nil, ErrBad
			}
			var size int
			n.kind = one
			n.char, size = utf8.DecodeRuneInString(pattern[i:])
			i += size
		}
		g.nodes = append(g.nodes, n)
	}
	if len(open) > 0 {
		return nil, ErrBad
	}
	g.nodes = append(g.nodes, node{kind: end})
	g.findEmpty()
	return g, nil
}

// readClass reads the class that s begins with, and returns how long it is, or 0 if it is
// bad.
func (n *node) readClass(s string) int {
	n.kind = class
	i := 1
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		n.not = true
		i++
	}
	if i >= len(s) || s[i] == ']' {
		return 0
	}
	next := func() rune {
		if s[i] == '\\' {
			i++
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		i += size
		return r
	}
	for low := rune(-1); i < len(s) && s[i] != ']'; {
		if s[i] == '-' && low >= 0 && i+1 < len(s) && s[i+1] != ']' {
			i++
			n.ranges = append(n.ranges, [2]rune{low, next()})
			low = -1
			continue
		}
		low = next()
		n.ranges = append(n.ranges, [2]rune{low, low})
	}
	if i >= len(s) {
		return 0
	}
	return i + 1
}

func (n *node) matches(r rune) bool {
	switch n.kind {
	case one:
		return r == n.char
	case any1:
		return r != '/'
	case class:
		for _, x := range n.ranges {
			if x[0] <= r && r <= x[1] {
				return !n.not
			}
		}
		return n.not
	case end, star, fork, jump:
	}
	return false
}

func (n *node) slash() bool { return n.kind == one && n.char == '/' && !n.escaped }

// rest is what of a pattern has been read behind the end of a name. Where the name ends the
// pattern may go on with *, **, /**, **/ or /**/.
type rest uint8

const (
	restNone rest = iota
	restStar
	restStars
	restStarsSlash
	restSlash
	restSlashStar
	restSlashStars
	restSlashStarsSlash
	restBehindStar // nothing, but a star is before it and has taken all stars that follow
	rests
)

func (r rest) follow(n *node) (rest, bool) {
	switch {
	case n.kind == star && (r == restNone || r == restStar || r == restSlash || r == restSlashStar):
		return r + 1, true
	case n.slash() && (r == restNone || r == restBehindStar):
		return restSlash, true
	case n.slash() && (r == restStars || r == restSlashStars):
		return r + 1, true
	}
	return 0, false
}

// findEmpty fills g.empty from the end: a node goes on only at later ones.
func (g *Glob) findEmpty() {
	good := make([][rests]bool, len(g.nodes))
	for i := len(g.nodes) - 1; i >= 0; i-- {
		n := &g.nodes[i]
		for r := range rests {
			switch n.kind {
			case end:
				good[i][r] = r != restSlash && r != restSlashStar
			case fork:
				for _, j := range n.alternatives {
					good[i][r] = good[i][r] || good[j][r]
				}
			case jump:
				good[i][r] = good[n.next][r]
			case one, any1, class, star:
				if to, ok := r.follow(n); ok {
					good[i][r] = good[n.next][to]
				}
			}
		}
	}
	g.empty, g.behind = make([]bool, len(g.nodes)), make([]bool, len(g.nodes))
	for i := range good {
		g.empty[i], g.behind[i] = good[i][restNone], good[i][restBehindStar]
	}
}

// Match reports whether the pattern matches the whole name.
func (g *Glob) Match(name string) bool { return g.run(name, false) }

// MatchUp reports whether the pattern matches the name or a folder above it. The name is a
// clean path.
func (g *Glob) MatchUp(name string) bool {
	return g.run(name, true) || !strings.HasPrefix(name, "/") && name != "." && g.Match(".")
}

func (g *Glob) run(name string, up bool) bool {
	r, _ := g.runs.Get().(*run)
	if r == nil {
		r = &run{glob: g, seen: make([]uint32, len(g.nodes)*int(ways))}
	}
	defer g.runs.Put(r)
	r.start()
	for i := 0; i < len(name); {
		c, size := utf8.DecodeRuneInString(name[i:])
		// Before a slash ends a folder's name; after the first ends the root's.
		if up && i > 0 && (c == '/' || i == 1 && name[0] == '/') && r.ends() {
			return true
		}
		if r.spread(); r.all {
			return true
		}
		if r.step(c); len(r.places) == 0 {
			return false
		}
		i += size
	}
	return r.ends()
}

package policy

import (
	"slices"
	"strings"
)

// findCommand reads the expression of find: each primary with as many words as the
// table says, and the commands of -exec and similar actions.
func findCommand(r *reader, c *call) {
	row := table()["find"]
	var roots []word
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		k := row.options[w.text]
		switch {
		case !w.mayBeFlag() && !isFindOperator(w.text):
			if len(roots) < i-1 && !findGlobals(c.words[1:i]) {
				c.opaque("a word of find is neither a folder nor a test")
				return
			}
			roots = append(roots, w)
		case isFindOperator(w.text), k == kindFlag:
		case !w.literal():
			c.opaque("a computed argument may be an action of find")
			return
		case k == kindCommands:
			if i = r.findExec(c, i); i < 0 {
				return
			}
		case k == kindDeletes:
			c.opaque("find deletes what it finds")
			r.findRoots(c, row, roots, kindTouches)
			return
		case k.takesWord():
			i = r.findValue(c, row, i)
		default:
			c.opaque(w.text + " of find is not known to be harmless")
			return
		}
		if c.doubt != "" {
			return
		}
	}
	c.read = true
	r.findRoots(c, row, roots, kindSearches)
}

func isFindOperator(w string) bool { return w == "(" || w == ")" || w == "!" || w == "," }

// findGlobals reports whether all of the words may stand before the folders.
func findGlobals(words []word) bool {
	for _, w := range words {
		switch w.text {
		case "-H", "-L", "-P", "-E", "-X", "-s", "-d", "-x", "-O1", "-O2", "-O3":
		default:
			if w.mayBeFlag() || isFindOperator(w.text) {
				return false
			}
		}
	}
	return true
}

// findRoots records where find looks, or what it deletes.
func (r *reader) findRoots(c *call, row *row, roots []word, k kind) {
	if len(roots) == 0 {
		roots = literals(".")
	}
	for _, w := range roots {
		r.useWord(c, row, k, w)
	}
}

// findValue reads a primary with its value, and returns where it ends.
func (r *reader) findValue(c *call, row *row, i int) int {
	if i+1 >= len(c.words) {
		c.opaque("find ends in the middle of a test")
		return i
	}
	value := c.words[i+1]
	if !value.literal() && value.splits {
		c.opaque("a computed argument may be an action of find")
		return i
	}
	r.useWord(c, row, row.options[c.words[i].text], value)
	return i + 1
}

// findExec judges the command of -exec at i, and returns where it ends, or a negative
// number if that is unknown.
func (r *reader) findExec(c *call, i int) int {
	end := i + 1
	for end < len(c.words) && c.words[end].text != ";" && (c.words[end].text != "+" || c.words[end-1].text != "{}") {
		if w := c.words[end]; !w.literal() { // it may be the end of -exec, and the start of another
			c.opaque("a computed argument may be an action of find")
		}
		end++
	}
	if end >= len(c.words) || end == i+1 || r.inners == maxInner {
		c.opaque("the end of the command of " + c.words[i].text + " is unknown")
	}
	words := slices.Clone(c.words[i+1 : end])
	for k, arg := range words {
		words[k].text = strings.ReplaceAll(arg.text, "{}", anyText)
	}
	if len(words) > 0 && r.inners < maxInner {
		cwds := r.cwds
		if strings.HasSuffix(c.words[i].text, "dir") {
			r.cwds = nil // it runs where the file is
		}
		r.inners++
		r.command(words)
		r.inners--
		r.cwds = cwds
	}
	if c.doubt != "" {
		return -1
	}
	return end
}

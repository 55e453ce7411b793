package policy

import (
	"path"
	"slices"
	"strings"
)

// nameLetters are the letters of command names.
const nameLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+@:%,-"

// command adds a simple command, and what it starts in turn. It returns the call.
func (r *reader) command(words []word) call {
	c := call{words: words, cwds: slices.Clone(r.cwds)}
	name := words[0].text
	switch {
	case len(words) > maxWords:
		c.opaque("a command has more than two thousand words")
	case !words[0].literal():
		c.opaque("the name of a command is computed")
	case name != "[" && strings.Trim(name, nameLetters) != "":
		c.opaque("the name of a command is not in plain letters")
	default:
		r.known(program(name), &c)
		if strings.Contains(name, "/") {
			r.elsewhere(name, &c)
		}
	}
	r.operands(&c)
	r.out.calls = append(r.out.calls, c)
	return c
}

// elsewhere corrects what we assume about a program that is named by its path: it may
// be any program, and a relative path in a rule means the one in the session's own
// folder.
func (r *reader) elsewhere(name string, c *call) {
	if !slices.Contains(systemDirs, path.Dir(name)) {
		c.vouched = false
	}
	if c.doubt == "" && r.copied(name, c.cwds) {
		c.doubt = name + " is a copy of, or a link to, another program"
	}
	home := len(r.cwds) == 1 && path.Clean(r.cwds[0]) == path.Clean(r.subject.Cwd)
	if !path.IsAbs(name) && !home {
		c.pin = len(c.words) + 1
	}
}

// copied reports whether the script itself has put a program there before.
func (r *reader) copied(name string, cwds []string) bool {
	return slices.ContainsFunc(r.out.operands, func(f fileUse) bool {
		if !f.write || f.by != "ln" && f.by != "cp" && f.by != "mv" && f.by != "install" {
			return false
		}
		return len(f.cwds) == 0 || !f.path.literal() || slices.ContainsFunc(f.cwds, func(dir string) bool {
			to := path.Clean(join(dir, f.path.text))
			return slices.ContainsFunc(cwds, func(cwd string) bool { return inside(path.Clean(join(cwd, name)), to) })
		})
	})
}

// known applies what the table knows about the program.
func (r *reader) known(name string, c *call) {
	if handle := builtin(name); handle != nil {
		handle(r, c)
	} else if row, i := lookUp(name, c.words); row != nil {
		r.program(c, row, i)
	} else {
		c.doubt, c.loose = hides(name, c.words[1:]), true
	}
}

// lookUp finds the row of a program, and where its words begin. A subcommand whose
// program reads no options before it has its own row.
func lookUp(name string, words []word) (*row, int) {
	row := table()[name]
	if len(words) > 1 && (row == nil || len(row.args) == 0 || row.args[0].kind != kindSub) {
		if inner := table()[name+" "+words[1].text]; inner != nil {
			return inner, 2
		}
	}
	return row, 1
}

// opaque says that the call may run something we do not see: a rule must name all of
// it.
func (c *call) opaque(why string) {
	c.doubt, c.pin, c.exact = why, len(c.words), true
}

// readsInput says that the call runs what it reads from its standard input, which no
// rule can name.
func (c *call) readsInput() {
	c.opaque(c.words[0].text + " runs what it reads from its standard input")
	c.pin++
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] > '~' {
			return false
		}
	}
	return true
}

// systemDirs are folders where a path names the same program as its last part.
var systemDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"}

// program is the name under which a command is looked up: without its folder, case,
// .exe and version.
func program(name string) string {
	base := strings.TrimSuffix(strings.ToLower(path.Base(name)), ".exe")
	if isKnown(base) {
		return base
	}
	if short := strings.TrimRight(base, "0123456789.-"); isKnown(short) {
		return short
	}
	return base
}

func isKnown(name string) bool {
	return interpreters[name] || hiding[name] || builtin(name) != nil || table()[name] != nil
}

// spellings lists the ways in which a deny rule may name the command of a call.
func (c call) spellings(s Subject) [][]word {
	name := c.words[0].text
	names := []string{name, strings.ToLower(path.Base(name)), program(name)}
	if strings.Contains(name, "/") {
		for _, cwd := range c.cwds {
			if target, err := s.resolve(join(cwd, name)); err == nil {
				names = append(names, path.Base(target))
			}
		}
	}
	slices.Sort(names)
	var all [][]word
	for _, n := range slices.Compact(names) {
		words := append([]word{{text: n}}, c.words[1:]...)
		all = append(all, words)
		if c.sub > 1 {
			all = append(all, append([]word{{text: n}}, c.words[c.sub:]...))
		}
	}
	return all
}

// plainName reduces the name of a program from a system folder to its last part, which
// is how allow rules name it.
func plainName(words []word) []word {
	name := words[0].text
	if !slices.Contains(systemDirs, path.Dir(name)) {
		return words
	}
	return append([]word{{text: path.Base(name)}}, words[1:]...)
}

// inner adds a command that c starts with its words from i on. If the call is
// transparent, the inner command is judged in its place; otherwise a rule for the call
// must name the inner command.
func (r *reader) inner(c *call, i int, words []word, transparent bool) {
	if r.inners == maxInner {
		c.opaque("it wraps commands in too many others")
		return
	}
	first := len(r.out.calls)
	r.inners++
	started := r.command(words)
	r.inners--
	c.pin, c.exact = i+max(1, started.pin), started.exact
	if transparent {
		c.vouched = len(c.needs) == 0
		return
	}
	c.needs = append(c.needs, started.needs...)
	for k := range r.out.calls[first:] {
		r.out.calls[first+k].denyOnly = true
	}
}

// operands records the words of a call that was not read with the table: each may name
// files that it reads or writes.
func (r *reader) operands(c *call) {
	if len(c.words) > maxWords || c.read {
		return
	}
	for _, w := range c.words[1:] {
		r.nameFiles(c, w, "*?", true)
	}
}

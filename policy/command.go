package policy

import (
	"path"
	"slices"
	"strings"
)

// command notes a simple command, and what it starts in turn. It returns the
// call that it noted.
func (r *reader) command(words []word) call {
	c := call{words: words, cwds: slices.Clone(r.cwds)}
	name := words[0].text
	switch {
	case !words[0].literal():
		c.opaque("the name of a command is computed")
	case !isASCII(name):
		c.opaque("the name of a command is not in plain letters")
	default:
		r.known(program(name), &c)
	}
	r.out.calls = append(r.out.calls, c)
	r.operands(c)
	return c
}

// known applies what is known of the program.
func (r *reader) known(name string, c *call) {
	sub := ""
	if len(c.words) > 1 {
		sub = name + " " + c.words[1].text
	}
	if w, ok := wrappers[sub]; ok {
		r.wrapper(c, w, 2)
		return
	}
	if w, ok := wrappers[name]; ok {
		r.wrapper(c, w, 1)
		return
	}
	if handle, ok := handlers[name]; ok {
		handle(r, c)
		return
	}
	if in, ok := interpreters[name]; ok {
		in.read(c)
		return
	}
	if risky, ok := riskyFlags[name]; ok {
		risky.check(c)
		return
	}
	if why, ok := opaquePrograms[name]; ok {
		c.opaque(why)
		return
	}
	c.loose = !plainPrograms[name]
}

// opaque says that the call may run what is not seen: a rule must name all of it.
func (c *call) opaque(why string) {
	c.doubt, c.pin = why, len(c.words)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > '~' }) < 0
}

// systemDirs are where a path names the same program as its last part.
var systemDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin", "/opt/homebrew/bin"}

// program is the name under which a command is looked up: without its folder,
// case, .exe and version.
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
	if _, ok := wrappers[name]; ok {
		return true
	}
	if _, ok := handlers[name]; ok {
		return true
	}
	if _, ok := interpreters[name]; ok {
		return true
	}
	if _, ok := riskyFlags[name]; ok {
		return true
	}
	_, ok := opaquePrograms[name]
	return ok || plainPrograms[name]
}

// spellings are the ways in which a deny rule may name the command of a call.
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
		if n == "git" {
			all = append(all, append([]word{{text: n}}, afterGitOptions(c.words)...))
		}
	}
	return all
}

// plainName returns the words with the name of a program from a system folder
// reduced to its last part, which is how allow rules name it.
func plainName(words []word) []word {
	name := words[0].text
	if !slices.Contains(systemDirs, path.Dir(name)) {
		return words
	}
	return append([]word{{text: path.Base(name)}}, words[1:]...)
}

// inner notes a command that c starts with its words from i on. Where the call
// is transparent, the inner command is judged in its place; otherwise a rule for
// the call must name the inner command.
func (r *reader) inner(c *call, i int, words []word, transparent bool) {
	first := len(r.out.calls)
	started := r.command(words)
	c.pin = i + max(1, started.pin)
	if transparent {
		c.vouched = true
		return
	}
	for k := range r.out.calls[first:] {
		r.out.calls[first+k].denyOnly = true
	}
}

// operands notes the files that a call names, for rules about files.
func (r *reader) operands(c call) {
	name := program(c.words[0].text)
	access, ok := fileAccess[name]
	add := func(w word) {
		if w.text == "" || devices[w.text] || !ok && !w.literal() {
			return
		}
		r.out.operands = append(r.out.operands, fileUse{
			path: w, cwds: c.cwds, write: access == writes, search: ok, doubtful: !ok, by: name,
		})
	}
	recursive := access == searches
	for _, w := range c.words[1:] {
		flag, value, isPair := strings.Cut(w.text, "=")
		if strings.HasPrefix(w.text, "-") {
			recursive = recursive || access == reads && !strings.HasPrefix(w.text, "--") && strings.ContainsAny(flag, "rR")
			if isPair {
				add(word{text: value, splits: w.splits})
			}
			continue
		}
		add(w)
		if isPair {
			add(word{text: value, splits: w.splits})
		}
	}
	if recursive && (access == searches || name == "grep") {
		add(word{text: "."})
	}
}

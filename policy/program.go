package policy

import (
	"path"
	"slices"
	"strings"
)

// program applies the table's row for a program to a call, from its words at i on.
func (r *reader) program(c *call, row *row, i int) {
	if row.opaque != "" {
		c.opaque(row.name + " " + row.opaque)
		return
	}
	if why := row.marked(c.words[i:]); why != "" {
		c.opaque(why)
		return
	}
	p := row.parse(c.words, i, r.gnu)
	for _, g := range p.options {
		if g.kind == kindRuns && p.doubt == "" {
			p.doubt = "with " + show([]word{{text: g.name}}) + ", " + row.name + " may run something else"
		}
	}
	if p.doubt != "" {
		c.opaque(p.doubt)
		c.guess = row.usesFiles()
		return
	}
	if len(row.with) > 0 && !p.has(row.with) && (len(p.operands) == 0 || table()[row.name+" "+p.operands[0].text] == nil) {
		c.opaque(row.name + " changes what later commands do")
		return
	}
	if len(row.args) > 0 && row.args[0].kind == kindSub && len(p.operands) > 0 && !p.has(row.with) {
		r.subcommand(c, row, &p)
		return
	}
	c.read, c.star = true, row.star && i <= 2
	r.use(c, &p)
	if c.doubt == "" {
		r.readLanguage(c, &p)
	}
}

// usesFiles reports whether the operands of a program other than git are files.
func (r *row) usesFiles() bool {
	return !strings.HasPrefix(r.name, "git ") && slices.ContainsFunc(r.args, func(o operand) bool {
		switch o.kind {
		case kindReads, kindSearches, kindWrites, kindInto, kindTouches, kindPrefix:
			return true
		default:
			return false
		}
	})
}

// marked returns the word that makes the program run something, wherever it stands.
func (r *row) marked(words []word) string {
	if len(r.words) == 0 && len(r.parts) == 0 {
		return ""
	}
	for _, w := range words {
		bad := r.words[w.text]
		for _, part := range r.parts {
			bad = bad || strings.Contains(w.text, part)
		}
		if bad {
			return "with " + show([]word{w}) + ", " + r.name + " may run something else"
		}
	}
	return ""
}

// subcommand continues with the subcommand that the first operand names.
func (r *reader) subcommand(c *call, outer *row, p *parsed) {
	name, at := p.operands[0], p.at[0]
	inner := table()[outer.name+" "+name.text]
	if inner == nil && name.literal() {
		inner = table()[outer.name+" *"]
	}
	c.sub = at
	if inner == nil {
		c.opaque(outer.name + " " + show([]word{name}) + " is unknown, or runs something else")
		return
	}
	r.use(c, &parsed{row: outer, options: p.options})
	if c.doubt != "" {
		return
	}
	if outer.repository {
		if why := r.foreignRepository(c.cwds, r.out.operands); why != "" {
			c.opaque(why)
			c.pin++ // a rule names the command, not the folder
			return
		}
	}
	r.program(c, inner, at+1)
}

// use records the files that a call uses and the command that it runs.
func (r *reader) use(c *call, p *parsed) {
	args, implied := p.effective()
	for _, g := range p.options {
		r.useOption(c, p.row, g)
	}
	if len(args) > 0 && args[len(args)-1].kind == kindCommand {
		r.wrapped(c, p, args)
		return
	}
	every := kindsOf(args, p.operands)
	for i, w := range p.operands {
		for _, k := range every[i] {
			r.useWord(c, p.row, k, w)
		}
	}
	for _, u := range implied {
		r.useWord(c, p.row, u.kind, word{text: u.path})
		if u.kind == kindTouches {
			r.out.operands[len(r.out.operands)-1].fills = true
		}
	}
	r.useCopies(c, p, every)
}

// useCopies notes files that programs take orders from by their names, wherever
// they are put: a file keeps its name in the folder that it is copied to.
func (r *reader) useCopies(c *call, p *parsed, every [][]kind) {
	var into, from []word
	for _, g := range p.options {
		if g.kind == kindInto && g.has {
			into = append(into, g.value)
		}
	}
	for i, w := range p.operands {
		switch {
		case slices.Contains(every[i], kindInto):
			into = append(into, w)
		case slices.Contains(every[i], kindSearches) || slices.Contains(every[i], kindTouches):
			from = append(from, w)
		}
	}
	for _, dir := range into {
		for _, w := range from {
			name := path.Base(w.text)
			to := strings.TrimSuffix(dir.text, "/") + "/" + name
			if w.literal() && (r.subject.guardedPart(name) != "" || r.subject.guardsEnd(to)) {
				copied := fileUse{path: word{text: to, splits: dir.splits}, cwds: c.cwds, write: true, by: p.row.name}
				c.needs = append(c.needs, need{file: copied, outside: p.row.roams})
			}
		}
	}
}

func (r *reader) useOption(c *call, row *row, g given) {
	if !g.has {
		return
	}
	switch g.kind {
	case kindUnlisted: // of an open program
		r.useWord(c, row, kindReads, g.value)
	case kindSetting:
		if !gitSetting(g.value) {
			c.opaque("with " + g.name + " " + show([]word{g.value}) + ", " + row.name + " may run something else")
		}
	case kindInside:
		if !r.insideRoots(g.value) || strings.HasPrefix(g.value.text, "-") || strings.HasPrefix(g.value.text, "/dev/") {
			c.opaque(g.name + " names something outside the project")
		}
	case kindSuffix:
		if !plainSuffix(g.value) {
			c.opaque(g.name + " may lead to another folder")
		}
	case kindFolder:
		for _, cwd := range slices.Clone(c.cwds) {
			if g.value.literal() {
				c.cwds = append(c.cwds, path.Clean(join(cwd, g.value.text)))
			}
		}
		if !r.insideRoots(g.value) {
			c.opaque(row.name + " works in a folder outside the project")
		}
	case kindToolflags:
		if !plainToolFlags(g.value) {
			c.opaque("with " + g.name + " " + show([]word{g.value}) + ", " + row.name + " may run something else, or write a file")
		}
	case kindFormat:
		if strings.Contains(g.value.text, "%output{") || !g.value.literal() {
			c.opaque(g.name + " may write a file")
		}
		r.useWord(c, row, kindAtFile, g.value)
	default:
		r.useWord(c, row, g.kind, g.value)
	}
}

// plainSuffix reports whether a suffix leaves a file where it is. GNU's sed replaces a
// star with the name of the file.
func plainSuffix(w word) bool { return w.literal() && !strings.ContainsAny(w.text, "/*") }

// useWord records what a word of a call is used for.
func (r *reader) useWord(c *call, row *row, k kind, w word) {
	file := fileUse{path: w, cwds: c.cwds, by: row.name}
	switch k {
	case kindReads:
		if _, below, ok := strings.Cut(w.text, ":"); ok && row.name != "git" && strings.HasPrefix(row.name, "git ") && below != "" {
			r.noteFile(fileUse{path: word{text: below}, cwds: c.cwds, by: row.name}) // a file of a revision
		}
	case kindSearches:
		file.search = true
	case kindNames:
		if !w.literal() {
			return
		}
		file.doubtful = true
	case kindTouches:
		file.write, file.search = true, true
	case kindLists:
		r.noteFile(file)
		file.path = unknown
	case kindPrefix:
		file.write = true
		c.needs = append(c.needs, need{file: file, always: row.looks, outside: row.roams})
		file.path.text += anyText
	case kindWrites, kindInto:
		file.write, file.search, file.fills = true, k == kindInto, k == kindInto
		if w.text != "-" && !devices[w.text] {
			c.needs = append(c.needs, need{file: file, always: row.looks, outside: row.roams})
		}
	case kindAtFile:
		_, name, ok := strings.Cut(w.text, "@")
		if !ok {
			if _, name, ok = strings.Cut(w.text, "=<"); !ok {
				return
			}
		}
		name, _, _ = strings.Cut(name, ";")
		file.path.text = name
	case kindAddress, kindSaved:
		r.useAddress(c, row, k, w)
		return
	case kindPairs:
		key, value, _ := strings.Cut(w.text, "=")
		if key == "if" {
			r.useWord(c, row, kindReads, word{text: value, splits: w.splits})
		} else if key == "of" || strings.Contains(key, anyText) {
			r.useWord(c, row, kindWrites, word{text: value, splits: w.splits})
		}
		return
	default:
		return
	}
	r.noteFile(file)
}

// useAddress checks an address: some schemes run a program, or read a file.
func (r *reader) useAddress(c *call, row *row, k kind, w word) {
	scheme, _, helper := strings.Cut(w.text, "::")
	if helper && !strings.ContainsAny(scheme, "/:@.") || strings.HasPrefix(w.text, anyText) && strings.HasPrefix(row.name, "git ") {
		c.opaque("git may run a program for this address")
		return
	}
	if len(w.text) > 5 && strings.EqualFold(w.text[:5], "file:") {
		for _, name := range []string{w.text[5:], "/" + strings.TrimLeft(w.text[5:], "/")} {
			r.noteFile(fileUse{path: word{text: name}, cwds: c.cwds, by: row.name, search: true})
		}
	}
	if k == kindSaved {
		name, _, _ := strings.Cut(w.text, "?")
		r.useWord(c, row, kindWrites, word{text: path.Base(name), splits: w.splits})
	}
}

func (r *reader) noteFile(f fileUse) {
	if f.path.text == "" || f.path.text == "-" || devices[f.path.text] {
		return
	}
	r.out.operands = append(r.out.operands, f)
}

// wrapped judges the command that a program runs with its last operands.
func (r *reader) wrapped(c *call, p *parsed, args []operand) {
	words, at := p.operands, p.at
	for _, o := range args {
		switch o.kind {
		case kindAssigns:
			for len(words) > 0 {
				variable, _, isPair := strings.Cut(words[0].text, "=")
				if !isPair || strings.Contains(variable, anyText) {
					break
				}
				r.assigned(variable, true)
				words, at = words[1:], at[1:]
			}
		case kindCommand:
		default:
			if len(words) > 0 && !words[0].literal() {
				c.opaque("which command " + p.row.name + " runs is computed")
				return
			}
			words, at = words[min(1, len(words)):], at[min(1, len(at)):]
		}
	}
	if len(words) == 0 {
		if p.row.adds {
			words, at = literals("echo"), []int{len(c.words)} // what xargs runs by default
		} else {
			c.vouched = p.row.name == "exec" // then it only redirects
			return
		}
	}
	r.inner(c, at[0], p.replaced(words), !p.row.named)
}

// replaced puts unknown text where the program adds or replaces words.
func (p *parsed) replaced(words []word) []word {
	words = slices.Clone(words)
	mark := ""
	for _, g := range p.options {
		switch {
		case g.kind == kindReplaces || g.kind == kindReplaced && g.has:
			mark = g.value.text
		case g.kind == kindReplaced:
			mark = "{}"
		}
	}
	if mark == "" {
		if p.row.adds {
			words = append(words, unknown)
		}
		return words
	}
	for k, arg := range words {
		words[k].text = strings.ReplaceAll(arg.text, mark, anyText)
	}
	if p.has([]string{"-L", "-l", "--max-lines", "-n", "--max-args"}) {
		words = append(words, unknown) // a later one cancels -I
	}
	return words
}

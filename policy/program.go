package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// program applies the table's row for a program to a call, from its words at i on.
func (r *reader) program(c *call, row *row, i int) {
	if row.opaque != "" {
		c.opaque(row.name + " " + row.opaque)
		return
	}
	p := row.parse(c.words, i, r.gnu)
	if p.doubt != "" {
		c.opaque(p.doubt)
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
	c.read, c.star, c.loose = true, row.star && i <= 2, row.passes
	r.use(c, &p)
	if c.doubt == "" {
		r.readLanguage(c, &p)
	}
	c.vouched = c.vouched || c.doubt == "" && p.filters()
}

// filters reports whether a pure program reads nothing but its standard input.
func (p *parsed) filters() bool {
	args, implied := p.effective()
	reads := slices.ContainsFunc(args, func(o operand) bool { return o.kind == kindReads }) || p.row.name == "tr"
	named := slices.ContainsFunc(p.options, func(g given) bool {
		return g.has && g.kind != kindText && strings.Trim(g.value.text, "0123456789") != ""
	})
	return p.row.pure && reads && !named && len(implied) == 0 && !slices.ContainsFunc(slices.Concat(kindsOf(args, p.operands)...), func(k kind) bool { return k != kindText })
}

// suffixes are what programs add to a name of which there is no file.
var suffixes = map[string]string{"unzip": ".zip", "zcat": ".gz", "bzcat": ".bz2", "xzcat": ".xz", "zip": ".zip"}

// subcommand continues with the subcommand that the first operand names.
func (r *reader) subcommand(c *call, outer *row, p *parsed) {
	name, at := p.operands[0], p.at[0]
	inner := table()[outer.name+" "+name.text]
	if inner == nil && name.literal() {
		inner = table()[outer.name+" *"]
	}
	c.sub = at
	if inner == nil {
		c.opaque(outer.name + " " + show([]word{name}) + " is not known to be harmless")
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
		case slices.Contains(every[i], kindSearches) || slices.Contains(every[i], kindTouches) || slices.Contains(every[i], kindMoves):
			from = append(from, w)
		}
	}
	for _, dir := range into {
		for _, w := range from {
			if p.row.name == "ln" { // what a link leads to is seen from where it is
				for _, at := range []string{path.Dir(dir.text), dir.text} {
					r.noteFile(fileUse{path: word{text: join(at, w.text), splits: w.splits, glob: w.glob}, cwds: c.cwds, search: true, doubtful: true, by: "ln"})
				}
			}
			name := path.Base(w.text[strings.LastIndexByte(w.text, ':')+1:])
			to := strings.TrimSuffix(dir.text, "/") + "/" + name
			if w.literal() && (r.subject.guardedPart(name) != "" || r.subject.guardsEnd(to)) {
				copied := fileUse{path: word{text: to, splits: dir.splits}, cwds: c.cwds, write: true, by: p.row.name}
				c.needs = append(c.needs, need{file: copied})
			}
		}
	}
}

func (r *reader) useOption(c *call, row *row, g given) {
	if !g.has {
		return
	}
	switch g.kind {
	case kindSetting:
		if !gitSetting(g.value) {
			c.opaque(g.name + " " + show([]word{g.value}) + " of " + row.name + " is not known to be harmless")
		}
	case kindFolder:
		before := slices.Clone(c.cwds)
		for _, cwd := range before {
			if g.value.literal() {
				c.cwds = append(c.cwds, path.Clean(join(cwd, g.value.text)))
			}
		}
		if !r.insideRoots(g.value, c.cwds) {
			c.opaque(row.name + " works in a folder outside the project")
		}
	case kindToolflags:
		if !plainToolFlags(g.value) {
			c.opaque(g.name + " " + show([]word{g.value}) + " of " + row.name + " is not known to be harmless")
		}
	case kindFormat:
		if strings.Contains(g.value.text, "%output{") || strings.HasPrefix(g.value.text, "@") || !g.value.literal() {
			c.opaque(g.name + " may write a file")
		}
		r.useWord(c, row, kindWords, g.value)
	default:
		r.useWord(c, row, g.kind, g.value)
	}
}

// plainSuffix reports whether a suffix leaves a file where it is. GNU's sed replaces a
// star with the name of the file.
func plainSuffix(w word) bool { return w.literal() && !strings.ContainsAny(w.text, "/*") }

var (
	plainWord = lazyregexp.New(`^[A-Za-z0-9_.,-]+$`)
	lintWord  = lazyregexp.New(`^(-[DWAF])?[a-z_:]*$`)
	testWord  = lazyregexp.New(`^[A-Za-z0-9_:=.,-]+$`)
)

// useWord records what a word of a call is used for.
func (r *reader) useWord(c *call, row *row, k kind, w word) {
	file := fileUse{path: w, cwds: c.cwds, by: row.name}
	switch k {
	case kindReads, kindRevs:
		if name, ok := strings.CutPrefix(w.text, "@"); ok {
			r.noteFile(fileUse{path: word{text: name}, cwds: c.cwds, doubtful: true, by: row.name})
			if row.responds {
				c.opaque(show([]word{w}) + " holds options, which are not known to be harmless")
			}
		}
		if suffix := suffixes[row.name]; suffix != "" && w.literal() {
			r.noteFile(fileUse{path: word{text: w.text + suffix}, cwds: c.cwds, by: row.name})
		}
		if _, below, ok := strings.Cut(w.text, ":"); ok && k == kindRevs {
			r.noteFile(fileUse{path: word{text: below}, cwds: c.cwds, by: row.name}) // a file of a revision
		}
		if k == kindRevs {
			r.nameFiles(c, w, "*?[", false)
		}
	case kindWords:
		r.nameFiles(c, w, "", false)
		return
	case kindPlain, kindLints, kindTests:
		known := map[kind]*lazyregexp.Regexp{kindPlain: plainWord, kindLints: lintWord, kindTests: testWord}[k]
		if !known.MatchString(w.text) {
			c.opaque(show([]word{w}) + " is not known to be harmless to " + row.name)
		}
		return
	case kindPackages:
		r.nameFiles(c, w, "", false)
		isPath := strings.HasPrefix(w.text, "/") || strings.HasPrefix(w.text, ".") || strings.HasPrefix(w.text, "file:") || strings.Contains(w.text, "..") || !w.literal()
		if isPath && !r.insideRoots(w, c.cwds) || strings.HasPrefix(w.text, "-test.") {
			c.opaque(show([]word{w}) + " is not known to be inside the project")
		}
		return
	case kindInside:
		if !r.insideRoots(w, c.cwds) || strings.ContainsAny(w.text, "={@") || strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "/dev/") {
			c.opaque(show([]word{w}) + " is not known to be inside the project")
		}
	case kindSearches:
		file.search = true
	case kindNames:
		if !w.literal() {
			return
		}
		file.doubtful = true
	case kindTouches, kindMoves:
		if k == kindMoves {
			r.noteFile(fileUse{path: w, cwds: c.cwds, search: true, by: row.name}) // and then has another name
		}
		file.write, file.search = true, true
		if w.literal() {
			c.needs = append(c.needs, need{file: file, always: r.guardsName(r.subject.relative(w.text))})
		}
		if strings.HasPrefix(row.name, "git ") {
			r.nameFiles(c, w, "*?[", true)
		}
	case kindPrefix:
		file.write = true
		c.needs = append(c.needs, need{file: file})
		file.path.text += anyText
		if strings.HasPrefix(path.Base(w.text), ".") {
			c.needs[len(c.needs)-1].file.path = file.path // what is added may make it the name of a guarded file
		}
	case kindWrites, kindInto:
		if row.name == "curl" && strings.Contains(w.text, "#") {
			file.path = unknown // curl replaces #1 with a part of the address
		}
		file.write, file.search, file.fills = true, k == kindInto, k == kindInto
		if w.text != "-" && !devices[w.text] {
			c.needs = append(c.needs, need{file: file, always: row.looks})
		}
	case kindAddress, kindSaved:
		r.useAddress(c, row, k, w)
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
	if scheme, _, _ := strings.Cut(w.text, ":"); !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		if strings.EqualFold(scheme, "file") {
			for _, name := range []string{w.text[5:], "/" + strings.TrimLeft(w.text[5:], "/")} {
				r.noteFile(fileUse{path: word{text: name}, cwds: c.cwds, by: row.name, search: true})
			}
		}
		if strings.ContainsAny(w.text, "{}[]%") || strings.EqualFold(scheme, "file") && !strings.HasPrefix(w.text[5:], "///") {
			r.noteFile(fileUse{path: unknown, cwds: c.cwds, by: row.name}) // as the program decodes it
		}
		if row.name == "git push" && (strings.EqualFold(scheme, "file") || scheme == w.text && strings.ContainsAny(w.text, "/.~")) {
			c.opaque("git runs the hooks of the repository that it pushes to")
		}
	}
	if k == kindSaved {
		name := word{text: path.Base(w.text), splits: w.splits}
		if strings.ContainsAny(w.text, "{}[]%#?") || !strings.Contains(w.text, "://") {
			name = unknown // which names the program makes of these is not followed
		}
		r.useWord(c, row, kindWrites, name)
	}
}

// between are the characters that separate the names of files within words: those of
// languages, of lists and of other options.
const between = " \t\n=,:;@#!&|<>(){}\"'`$^"

// nameFiles records what a word may name: it and its parts, each of which may be a file
// that is read or, if so, written. Those with one of the stars may be patterns of names.
func (r *reader) nameFiles(c *call, w word, stars string, writes bool) {
	seen := map[string]bool{"": true}
	add := func(text string) {
		name := word{text: text, splits: w.splits, glob: w.glob}
		if i := strings.IndexAny(text, stars); i >= 0 {
			name = word{text: strings.NewReplacer("*", anyText, "?", anyText).Replace(text), glob: true, splits: true}
			if i := strings.IndexByte(text, '['); i >= 0 && strings.Contains(stars, "[") {
				name.text, name.cut = text[:i]+anyText, true
			}
		}
		if !seen[text] && (name.literal() || name.glob) {
			seen[text] = true
			r.noteFile(fileUse{path: name, cwds: c.cwds, doubtful: true, by: program(c.words[0].text)})
			if writes && (r.guardsName(r.subject.relative(text)) || !name.literal() && mayBeGuarded(name.text)) {
				c.needs = append(c.needs, need{file: fileUse{path: name, cwds: c.cwds, write: true, by: c.words[0].text}, always: true})
			}
		}
	}
	add(w.text)
	if strings.HasPrefix(w.text, "-") && len(w.text) > 2 {
		add(w.text[2:]) // the value of an option
	}
	for part := range strings.FieldsFuncSeq(w.text, func(r rune) bool { return strings.ContainsRune(between, r) }) {
		add(part)
		add(strings.TrimLeft(part, "/")) // from the top of a repository
		add(strings.ReplaceAll(part, `\`, ""))
	}
}

// mayBeGuarded reports whether a pattern may match the name of a guarded file.
func mayBeGuarded(pattern string) bool {
	for guard := range guarded {
		if mayMatch(path.Base(pattern), guard) {
			return true
		}
	}
	return false
}

// guardsName reports whether a name is that of a file from which programs take orders,
// perhaps with a further extension.
func (r *reader) guardsName(name string) bool {
	return r.subject.guardedPart(name) != "" || r.subject.guardedPart(strings.TrimSuffix(name, path.Ext(name))) != ""
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
		if g.kind == kindReplaces {
			mark = g.value.text
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
	if p.has([]string{"-L", "-n", "--max-args"}) {
		words = append(words, unknown) // a later one cancels -I
	}
	return words
}

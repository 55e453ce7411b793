package policy

import (
	"runtime"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// given is an option of a call, under its name in the table.
type given struct {
	name  string
	kind  kind
	value word
	has   bool // it has a value
}

// parsed are the words of a call as its program reads them.
type parsed struct {
	row      *row
	options  []given
	operands []word
	at       []int // where the operands are in the words
	doubt    string
}

// systemIsGNU says that the programs of the system are GNU's, which take options
// behind operands. BSD's take them for operands.
const systemIsGNU = runtime.GOOS == "linux"

// parse reads words from i on. Where the program may read them in another way,
// the doubt says why; what was read until then is in the result all the same.
func (r *row) parse(words []word, i int, gnu bool) parsed {
	p := parsed{row: r}
	stops := r.stops || len(r.args) > 0 && slices.ContainsFunc(r.args, func(o operand) bool { return o.kind == kindCommand || o.kind == kindSub })
	for ended := false; i < len(words) && p.doubt == ""; {
		w := words[i]
		switch {
		case ended || w.text == "-" || !w.mayBeFlag() || !w.literal() && r.pure:
			if r.old && i == 1 && !ended && w.literal() {
				i = p.cluster(words, i, w.text)
				continue
			}
			p.operands, p.at = append(p.operands, w), append(p.at, i)
			ended = ended || stops
			i++
		case !w.literal():
			p.doubt = "a computed argument may be an option of " + r.name
		case r.system && len(p.operands) > 0 && !gnu:
			p.doubt = "an option behind an operand is an operand for some programs"
		case w.text == "--":
			ended = true
			if r.single && r.options["--"] == kindUnlisted && !slices.ContainsFunc(r.args, func(o operand) bool { return o.kind == kindText }) {
				p.doubt = "-- is no option of " + r.name
			}
			i++
		case r.single:
			i = p.single(words, i)
		case strings.HasPrefix(w.text, "--"):
			i = p.long(words, i)
		default:
			i = p.short(words, i)
		}
		if n := len(p.options); n > 0 && p.options[n-1].kind == kindRest {
			ended = true
		}
	}
	return p
}

// give adds an option without a value, or with an attached one.
func (p *parsed) give(name string, k kind, value string, has bool) {
	p.options = append(p.options, given{name: name, kind: k, value: word{text: value}, has: has})
}

// next adds an option whose value is the next word, and returns where to continue.
func (p *parsed) next(words []word, i int, name string, k kind) int {
	if i+1 >= len(words) {
		p.give(name, k, "", false)
		return i + 1
	}
	value := words[i+1]
	p.options = append(p.options, given{name: name, kind: k, value: value, has: true})
	switch {
	case value.text == "--":
		p.doubt = "-- is taken for the value of " + name
	case !value.literal() && value.splits:
		p.doubt = "the value of " + name + " is computed, and may be several words"
	}
	return i + 2
}

// unknown records an option that is not in the table.
func (p *parsed) unknown(option string) {
	p.doubt = option + " of " + p.row.name + " is not known to be harmless"
}

// long reads an option that begins with two dashes.
func (p *parsed) long(words []word, i int) int {
	name, value, has := strings.Cut(words[i].text, "=")
	k := p.row.options[name]
	if rest, ok := strings.CutPrefix(name, "--no-"); ok && !has && k == kindUnlisted && p.row.negates && p.row.options["--"+rest] != kindUnlisted {
		k = kindFlag
	}
	switch {
	case k == kindUnlisted && p.row.pure && !p.abbreviates(name):
		p.give(name, kindWords, value, has)
	case k == kindUnlisted:
		p.unknown(name)
	case has && k == kindRest:
		p.unknown(name + "=")
	case has && k == kindFlag:
		p.give(name, kindWords, value, true)
	case has || !k.takesWord():
		p.give(name, k, value, has)
	default:
		return p.next(words, i, name, k)
	}
	return i + 1
}

// abbreviates reports whether a long option may be short for one of the table.
func (p *parsed) abbreviates(name string) bool {
	for option := range p.row.options {
		if strings.HasPrefix(option, name) {
			return true
		}
	}
	return false
}

// warning are options of compilers that only warn, or leave something out.
var warning = lazyregexp.New(`^-(W|fno-)[a-z0-9=+-]+$`)

// single reads an option of a program whose long options have one dash or two.
func (p *parsed) single(words []word, i int) int {
	name, value, has := strings.Cut(words[i].text, "=")
	if p.row.options[name] == kindUnlisted && strings.HasPrefix(name, "--") && !p.row.responds {
		name = name[1:]
	}
	k := p.row.options[name]
	switch {
	case k == kindUnlisted && p.row.responds && warning.MatchString(words[i].text):
		p.give(name, kindFlag, "", false)
	case k == kindUnlisted && p.row.responds && len(name) > 2 && p.row.options[name[:2]].takesWord():
		p.give(name[:2], p.row.options[name[:2]], words[i].text[2:], true) // as compilers have it
	case k == kindUnlisted:
		p.unknown(name)
	case has || !k.takesWord():
		p.give(name, k, value, has)
	default:
		return p.next(words, i, name, k)
	}
	return i + 1
}

// short reads an option that begins with one dash, or a cluster of them.
func (p *parsed) short(words []word, i int) int {
	w := words[i].text
	name, value, has := strings.Cut(w, "=")
	switch k := p.row.options[name]; {
	case len(name) > 2 && k != kindUnlisted && (!has || k.takesWord()): // written out, as -ws
		if !has && k.takesWord() {
			return p.next(words, i, name, k)
		}
		p.give(name, k, value, has)
		return i + 1
	case p.row.options["-NUM"] != kindUnlisted && len(w) > 1 && strings.Trim(w[1:], "0123456789") == "":
		p.give("-NUM", kindFlag, "", false)
		return i + 1
	}
	return p.cluster(words, i, w[1:])
}

// cluster reads a group of short options, the last of which may have a value. In tar's
// old form all values follow as words.
func (p *parsed) cluster(words []word, i int, letters string) int {
	old := !strings.HasPrefix(words[i].text, "-")
	next, unsure := i+1, false
	for n, letter := range letters {
		name := "-" + string(letter)
		k, behind := p.row.options[name], letters[n+len(string(letter)):]
		switch {
		case k == kindUnlisted && !p.row.pure:
			p.unknown(name)
			return next
		case k == kindUnlisted || unsure && k.takesWord(): // the rest may be its value
			unsure = true
			p.give(name, kindWords, behind, behind != "")
		case k == kindFlag:
			p.give(name, k, "", false)
		case old && k.takesWord():
			next = p.next(words, next-1, name, k)
		case !k.takesWord():
			p.give(name, k, behind, behind != "")
			return next
		case behind != "":
			p.give(name, k, strings.TrimPrefix(behind, "="), true)
			return next
		default:
			return p.next(words, i, name, k)
		}
	}
	return next
}

// has reports whether one of the options is given.
func (p *parsed) has(options []string) bool {
	return slices.ContainsFunc(p.options, func(g given) bool { return slices.Contains(options, g.name) })
}

// effective returns the kinds of the operands, and the paths that are used implicitly,
// after applying the variants whose options are given. The kinds of options change in
// place.
func (p *parsed) effective() (args []operand, implied []pathUse) {
	args, alone, also := p.row.args, p.row.alone, p.row.also
	for _, v := range p.row.when {
		if !p.has(v.options) {
			continue
		}
		if v.hasArgs {
			args = v.args
		}
		if v.alones {
			alone = v.alone
		}
		if v.alsos {
			also = v.also
		}
		for i, g := range p.options {
			if k, ok := v.kinds[g.name]; ok {
				p.options[i].kind = k
			}
		}
	}
	if len(args) > 1 && p.has(p.row.instead) {
		args = args[1:]
	}
	fixed := 0
	for _, o := range args {
		if !o.many {
			fixed++
		}
	}
	if len(p.operands) == 0 || fixed < len(args) && len(p.operands) <= fixed {
		also = append(slices.Clone(also), alone...)
	}
	return args, also
}

// kindsOf says what each operand is. If computed words may shift the others, an operand
// is everything that it may be.
func kindsOf(args []operand, operands []word) [][]kind {
	many := slices.IndexFunc(args, func(o operand) bool { return o.many })
	before, after := len(args), 0
	if many >= 0 {
		before, after = many, len(args)-many-1
	}
	all := make([][]kind, len(operands))
	for i, w := range operands {
		switch {
		case len(args) == 0:
			all[i] = []kind{kindText}
		case i < before && i < len(operands)-after:
			all[i] = []kind{args[i].kind}
		case i >= len(operands)-after:
			all[i] = []kind{args[len(args)-(len(operands)-i)].kind}
		case many >= 0:
			all[i] = []kind{args[many].kind}
			continue // several words here shift nothing
		default:
			all[i] = []kind{args[len(args)-1].kind}
		}
		if w.splits && !w.literal() && len(args) > 1 {
			return anyKinds(args, len(operands))
		}
	}
	return all
}

func anyKinds(args []operand, n int) [][]kind {
	var every []kind
	for _, o := range args {
		every = append(every, o.kind)
	}
	all := make([][]kind, n)
	for i := range all {
		all[i] = every
	}
	return all
}

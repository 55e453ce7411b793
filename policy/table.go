package policy

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The table says what is known of programs: which words are options, which
// options take a value, which of them run something, and which files are read and
// written. It is in the files of the folder table. A stanza begins with the names
// of programs, or of commands of a program, and its indented lines say:
//
//	flag      options without a value; -NUM is a dash and a number
//	text      options with a value that is only text
//	attached  options that may have a value, which is then attached
//	reads     options whose value is a file that is read
//	searches  options whose value is a folder that is read with what is below
//	writes    options whose value is a file that is written
//	into      the same, or a folder that something is written to
//	touches   options whose value is a file that is made, removed or emptied
//	lists     options whose value is a file that holds the names of others to read
//	prefix    options whose value is what the names of written files begin with
//	suffix    options whose value is added to the names of written files
//	inside    options whose value names code or settings; they must be in the project
//	folder    options whose value is the folder to work in
//	runs      options that run something else, or hide what is run
//	toolflags options whose value is options for another program
//	rest      options after which all words are text
//	words     words that do so, wherever they stand
//	parts     texts that do so, inside any word
//	args      what the operands are, in their order; one of them may repeat (...)
//	instead   options that take the place of the first operand
//	alone     what is used if there are no operands: a kind and a path
//	also      what is used in any case: a kind and a path
//	with      options of which one must be there; else it changes settings
//	when      options, a colon, and lines that count if one of them is there,
//	          with | between the lines
//	use       groups, whose names begin with @, whose lines belong here, too
//	opaque    that the program cannot be followed, and why
//	is        traits, see row
//
// Further kinds of operands are text, names (files of which only the name is
// used), url, saved (an address whose last part is written here), pairs (those of
// dd), assigns (name=value), command (the words of a command) and sub (a command
// of the program, which has a stanza of its own; a star stands for any other).
// Stanzas of one name add up.

// kind is what an option or an operand is.
type kind uint8

const (
	kindUnlisted kind = iota
	kindFlag
	kindText
	kindAttached
	kindReads
	kindSearches
	kindWrites
	kindInto
	kindTouches
	kindInside
	kindLists
	kindPrefix
	kindSuffix
	kindFolder
	kindRuns
	kindRest
	kindReplaces // xargs -I: the value stands for what is read
	kindReplaced // xargs -i: the same, with {} if no value is attached
	kindCommands // find -exec
	kindDeletes  // find -delete
	kindSetting  // git -c
	kindAtFile   // curl -d: after @ stands a file
	kindFormat   // curl -w: may name a file
	kindToolflags
	kindNames
	kindAddress
	kindSaved
	kindPairs
	kindAssigns
	kindCommand
	kindSub
)

var kinds = map[string]kind{
	"flag": kindFlag, "text": kindText, "attached": kindAttached, "reads": kindReads, "searches": kindSearches, "writes": kindWrites, "into": kindInto, "touches": kindTouches, "inside": kindInside, "lists": kindLists, "prefix": kindPrefix, "suffix": kindSuffix,
	"folder": kindFolder, "runs": kindRuns, "rest": kindRest, "replaces": kindReplaces, "replaced": kindReplaced, "commands": kindCommands, "deletes": kindDeletes, "setting": kindSetting, "at": kindAtFile, "format": kindFormat, "toolflags": kindToolflags,
	"names": kindNames, "url": kindAddress, "saved": kindSaved, "pairs": kindPairs, "assigns": kindAssigns, "command": kindCommand, "sub": kindSub,
}

// takesWord reports whether an option of that kind takes the next word.
func (k kind) takesWord() bool {
	switch k {
	case kindText, kindReads, kindSearches, kindWrites, kindInto, kindTouches, kindInside, kindLists, kindPrefix, kindSuffix, kindFolder, kindReplaces, kindSetting, kindAtFile, kindFormat, kindToolflags, kindAddress:
		return true
	default:
		return false
	}
}

// operand is what one operand is, or all that are left.
type operand struct {
	kind kind
	many bool
}

// pathUse is a path that is used without being named.
type pathUse struct {
	kind kind
	path string
}

// row is what is known of a program, or of one of its commands.
type row struct {
	name    string
	options map[string]kind
	words   map[string]bool
	parts   []string
	args    []operand
	instead []string
	alone   []pathUse
	also    []pathUse
	with    []string
	when    []variant
	opaque  string
	risky   bool // a word of it may run something, or write

	// open says that options which are not in the table do no harm.
	open bool
	// stops says that options end at the first operand.
	stops bool
	// single says that long options begin with one dash, or two, and that short
	// ones do not come in clusters.
	single bool
	// nopt says that options are read as npm does.
	nopt bool
	// old says that the first word may be a cluster of options without a dash.
	old bool
	// negates says that --no-x is an option where --x is one.
	negates bool
	// looks says that the program is not meant to write: where it does, a rule
	// for the command is not enough.
	looks bool
	// star says that a rule that ends in a star may be suggested for it.
	star bool
	// named says that a rule must name it together with the command that it runs.
	named bool
	// adds says that it adds words to the command that it runs.
	adds bool
	// system says that the program belongs to the system, and that not all systems
	// have the same.
	system bool
	// roams says that it is meant to write outside the project, too.
	roams bool
	// repository says that it obeys the repository of the folder it runs in.
	repository bool
}

// variant is what differs when one of the options is there.
type variant struct {
	options []string
	kinds   map[string]kind
	args    []operand
	alone   []pathUse
	also    []pathUse
	hasArgs bool
	alones  bool
	alsos   bool
}

// harmful reports whether a word of the program's may run something or write.
func (r *row) harmful() bool {
	if !r.open || len(r.words) > 0 || len(r.parts) > 0 {
		return true
	}
	for _, k := range r.options {
		if k == kindRuns || k == kindWrites || k == kindInto || k == kindInside {
			return true
		}
	}
	return false
}

//go:embed table
var tableFiles embed.FS

// table returns the rows by their names.
var table = sync.OnceValue(func() map[string]*row {
	rows := map[string]*row{}
	files, err := tableFiles.ReadDir("table")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		source, err := tableFiles.ReadFile("table/" + file.Name())
		if err != nil {
			panic(err)
		}
		if err := readTable(rows, string(source)); err != nil {
			panic(fmt.Sprintf("policy: %s: %v", file.Name(), err)) // a test reads them all
		}
	}
	for name, r := range rows {
		r.risky = r.harmful()
		// A command is read as its program is.
		if program, _, ok := strings.Cut(name, " "); ok && rows[program] != nil {
			r.single, r.nopt, r.negates = rows[program].single, rows[program].nopt, rows[program].negates
		}
	}
	return rows
})

// readTable adds the stanzas of one file.
func readTable(rows map[string]*row, source string) error {
	var stanza []*row
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, " \n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, "\t"):
			stanza = stanza[:0]
			for name := range strings.SplitSeq(line, ", ") {
				if rows[name] == nil {
					rows[name] = &row{name: name, options: map[string]kind{}}
				}
				stanza = append(stanza, rows[name])
			}
		default:
			for _, r := range stanza {
				if err := r.line(rows, strings.TrimPrefix(line, "\t")); err != nil {
					return fmt.Errorf("%s: %w", r.name, err)
				}
			}
		}
	}
	return nil
}

// line adds what one line of a stanza says.
func (r *row) line(rows map[string]*row, line string) error {
	key, value, _ := strings.Cut(line, " ")
	items := strings.Fields(value)
	switch key {
	case "use":
		for _, group := range items {
			if err := r.include(rows[group]); err != nil {
				return fmt.Errorf("%s: %w", group, err)
			}
		}
	case "args":
		var err error
		r.args, err = readOperands(items)
		return err
	case "instead":
		r.instead = items
	case "with":
		r.with = items
	case "words":
		if r.words == nil {
			r.words = map[string]bool{}
		}
		for _, w := range items {
			r.words[w] = true
		}
	case "parts":
		r.parts = items
	case "alone", "also":
		use, err := readPathUses(items)
		if key == "alone" {
			r.alone = use
		} else {
			r.also = use
		}
		return err
	case "opaque":
		r.opaque = value
	case "when":
		return r.addVariant(value)
	case "is":
		return r.traits(items)
	default:
		k, ok := kinds[key]
		if !ok {
			return fmt.Errorf("there is no %q", key)
		}
		for _, option := range items {
			r.options[option] = k
		}
	}
	return nil
}

// include adds the lines of a group. What the row has already counts.
func (r *row) include(other *row) error {
	if other == nil {
		return errors.New("there is no such group before it")
	}
	for option, k := range other.options {
		if r.options[option] == kindUnlisted {
			r.options[option] = k
		}
	}
	for w := range other.words {
		if r.words == nil {
			r.words = map[string]bool{}
		}
		r.words[w] = true
	}
	if r.args == nil {
		r.args = other.args
	}
	return nil
}

func (r *row) addVariant(line string) error {
	options, changes, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%q has no colon", line)
	}
	v := variant{options: strings.Fields(options), kinds: map[string]kind{}}
	var err error
	for change := range strings.SplitSeq(changes, "|") {
		key, value, _ := strings.Cut(strings.TrimSpace(change), " ")
		items := strings.Fields(value)
		switch key {
		case "args":
			v.hasArgs = true
			v.args, err = readOperands(items)
		case "alone":
			v.alones = true
			v.alone, err = readPathUses(items)
		case "also":
			v.alsos = true
			v.also, err = readPathUses(items)
		default:
			for _, option := range items {
				v.kinds[option] = kinds[key]
			}
			if kinds[key] == kindUnlisted {
				err = fmt.Errorf("there is no %q", key)
			}
		}
		if err != nil {
			return err
		}
	}
	r.when = append(r.when, v)
	return nil
}

func (r *row) traits(items []string) error {
	for _, item := range items {
		trait := map[string]*bool{
			"open": &r.open, "stops": &r.stops, "single": &r.single, "nopt": &r.nopt, "old": &r.old, "negates": &r.negates,
			"looks": &r.looks, "star": &r.star, "named": &r.named, "adds": &r.adds, "repository": &r.repository, "roams": &r.roams, "system": &r.system,
		}[item]
		if trait == nil {
			return fmt.Errorf("there is no trait %q", item)
		}
		*trait = true
	}
	return nil
}

func readOperands(items []string) ([]operand, error) {
	all := []operand{}
	many := 0
	for _, item := range items {
		name, repeats := strings.CutSuffix(item, "...")
		k, ok := kinds[name]
		if !ok {
			return nil, fmt.Errorf("there is no operand %q", item)
		}
		if repeats {
			many++
		}
		all = append(all, operand{kind: k, many: repeats})
	}
	if many > 1 && !slices.ContainsFunc(all, func(o operand) bool { return o.kind == kindAssigns }) {
		return nil, errors.New("two operands repeat")
	}
	return all, nil
}

func readPathUses(items []string) ([]pathUse, error) {
	var all []pathUse
	for i := 0; i+1 < len(items); i += 2 {
		k, ok := kinds[items[i]]
		if !ok {
			return nil, fmt.Errorf("there is no %q", items[i])
		}
		all = append(all, pathUse{kind: k, path: items[i+1]})
	}
	return all, nil
}

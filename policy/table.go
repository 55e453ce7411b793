package policy

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// The table says what is known to be harmless in programs that agents use: their
// options, and what their operands are. Whatever it does not list is asked about. It is
// in the files of the folder table. A stanza begins with the names of programs, or of
// commands of a program, and its indented lines say:
//
//	flag      options without a value; -NUM is a dash and a number
//	text      options with a value that is only text
//	words     options with a value in which files may be named
//	attached  options that may have a value, which is then attached
//	reads     options whose value is a file that is read
//	searches  options whose value is a folder that is read with what is below
//	writes    options whose value is a file that is written
//	into      the same, or a folder that something is written to
//	inside    options whose value names code or settings; they must be in the project
//	folder    options whose value is the folder to work in
//	toolflags options whose value is options for another program
//	rest      options after which all words are text
//	args      what the operands are, in their order; one of them may repeat (...)
//	instead   options that take the place of the first operand
//	alone     what is used if there are no operands: a kind and a path
//	also      what is used in any case: a kind and a path
//	with      options of which one must be there; else it changes settings
//	when      options, a colon, and lines that count if one of them is there,
//	          with | between the lines
//	use       groups, whose names begin with @, whose lines belong here, too
//	opaque    that a command is none of the harmless ones, and why
//	is        traits, see row
//
// Further kinds of operands are touches (files that are made, removed or emptied),
// names (files of which only the name is used), revs (files, or git's names for what
// they held), prefix (what the names of written files begin with), url, saved (an
// address whose last part is written here), plain (a word of letters), lints (those of
// clippy), tests (a word without a slash), packages (names; those that are paths must be
// in the project), moves (files that get another name), assigns (name=value), command (the words of a command) and sub (a command of
// the program, which has a stanza of its own; a star stands for any other). Stanzas of
// one name add up.

// kind is what an option or an operand is.
type kind uint8

const (
	kindUnlisted kind = iota
	kindFlag
	kindText
	kindWords
	kindRevs
	kindPlain
	kindLints
	kindTests
	kindPackages
	kindMoves
	kindAttached
	kindReads
	kindSearches
	kindWrites
	kindInto
	kindTouches
	kindInside
	kindPrefix
	kindFolder
	kindRest
	kindReplaces // xargs -I: the value stands for what is read
	kindCommands // find -exec
	kindDeletes  // find -delete
	kindSetting  // git -c
	kindFormat   // curl -w: may name a file
	kindToolflags
	kindNames
	kindAddress
	kindSaved
	kindAssigns
	kindCommand
	kindSub
)

var kinds = map[string]kind{
	"flag": kindFlag, "text": kindText, "words": kindWords, "revs": kindRevs, "plain": kindPlain, "lints": kindLints, "tests": kindTests, "packages": kindPackages, "moves": kindMoves, "attached": kindAttached,
	"reads": kindReads, "searches": kindSearches, "writes": kindWrites, "into": kindInto, "touches": kindTouches, "inside": kindInside, "prefix": kindPrefix,
	"folder": kindFolder, "rest": kindRest, "replaces": kindReplaces, "commands": kindCommands, "deletes": kindDeletes, "setting": kindSetting,
	"format": kindFormat, "toolflags": kindToolflags, "names": kindNames, "url": kindAddress, "saved": kindSaved, "assigns": kindAssigns,
	"command": kindCommand, "sub": kindSub,
}

// takesWord reports whether an option of that kind takes the next word.
func (k kind) takesWord() bool {
	switch k {
	case kindText, kindWords, kindReads, kindSearches, kindWrites, kindInto, kindInside, kindFolder, kindReplaces, kindSetting, kindFormat, kindToolflags, kindTests:
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
	args    []operand
	instead []string
	alone   []pathUse
	also    []pathUse
	with    []string
	when    []variant
	opaque  string

	// pure says that the program writes nothing and runs nothing, whatever its options.
	pure bool
	// stops says that options end at the first operand.
	stops bool
	// single says that long options begin with one dash, or two, and that short
	// ones do not come in clusters.
	single bool
	// old says that the first word may be a cluster of options without a dash.
	old bool
	// negates says that --no-x is an option where --x is one.
	negates bool
	// responds says that @FILE stands for the words in a file, as compilers have it.
	responds bool
	// passes says that its operands reach what the project runs.
	passes bool
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
		// A command is read as its program is.
		if program, _, ok := strings.Cut(name, " "); ok && rows[program] != nil {
			r.single, r.negates = rows[program].single, rows[program].negates
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
			"pure": &r.pure, "stops": &r.stops, "single": &r.single, "old": &r.old, "negates": &r.negates, "responds": &r.responds, "passes": &r.passes,
			"looks": &r.looks, "star": &r.star, "named": &r.named, "adds": &r.adds, "repository": &r.repository, "system": &r.system,
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

package policy

import "strings"

// interpreter is a program that runs code.
type interpreter struct {
	inline string // short options that hold or load code
	long   string // long ones
	values string // short options with a value
	module string // the short option that names a module
}

var interpreters = map[string]interpreter{
	"python": {inline: "ci", values: "WXQ", module: "m"}, "pypy": {inline: "ci", values: "WX", module: "m"},
	"perl": {inline: "eEMmdsxS", values: "ICFl0D"}, "ruby": {inline: "erxS", values: "ICEKTW"},
	"node":   {inline: "epri", long: "--eval --print --require --import --loader --experimental-loader --interactive"},
	"nodejs": {inline: "epri", long: "--eval --print --require --import --loader --interactive"},
	"deno":   {inline: "", long: "--eval"}, "bun": {inline: "epri", long: "--eval --print --preload --require --import"},
	"ts-node": {inline: "epri", long: "--eval --print --require"}, "tsx": {inline: "ep", long: "--eval --print --require --import"},
	"php": {inline: "rBREFda", values: "Ccz"}, "lua": {inline: "eli"}, "luajit": {inline: "elij"},
	"rscript": {inline: "e"}, "r": {inline: "efq", long: "--file --no-save --slave"}, "julia": {inline: "eELiE", long: "--eval --print --load"},
	"groovy": {inline: "ei"}, "elixir": {inline: "er", long: "--eval --rpc-eval --require"}, "erl": {inline: "ers", long: ""},
	"tclsh": {}, "wish": {}, "guile": {inline: "cesl"}, "racket": {inline: "efmtlpr"}, "scala": {inline: "e"}, "swift": {inline: "e"},
}

// codeModules are modules that run code in their arguments.
var codeModules = set("timeit cProfile profile pdb trace runpy code IPython")

// read says how much of an interpreter's call a rule must name.
func (in interpreter) read(c *call) {
	name := c.words[0].text
	for i := 1; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.literal() && w.mayBeFlag():
			c.opaque("the arguments of " + name + " are computed")
			return
		case w.text == "--version" || w.text == "--help" || w.text == "-V" || len(c.words) == 2 && (w.text == "-v" || w.text == "-h"):
			return
		case w.text == "-":
			c.readsInput()
			return
		case w.text == "eval" || isLongOf(w.text, in.long):
			c.opaque(name + " runs code that it is given")
			return
		case strings.HasPrefix(w.text, "--"):
		case strings.HasPrefix(w.text, "-"):
			if done, next := in.cluster(c, i, w.text[1:]); done {
				return
			} else {
				i = next
			}
		default:
			return // a file, like any program
		}
	}
	c.readsInput()
}

// cluster reads short options. It reports whether the call is decided.
func (in interpreter) cluster(c *call, i int, options string) (done bool, next int) {
	for k := range len(options) {
		rest := options[k+1:]
		switch o := options[k : k+1]; {
		case strings.Contains(in.inline, o):
			c.opaque(c.words[0].text + " runs code that it is given")
			return true, i
		case in.module == o:
			if rest == "" && i+1 < len(c.words) {
				i, rest = i+1, c.words[i+1].text
			}
			c.pin = i + 1
			if codeModules[rest] || strings.Contains(rest, anyText) || rest == "" {
				c.opaque("the module runs code that it is given")
			}
			return true, i
		case strings.Contains(in.values, o):
			if rest == "" {
				i++
			}
			return false, i
		}
	}
	return false, i
}

// isLongOf reports whether a word is one of the long options, or an abbreviation of
// one, with or without a value.
func isLongOf(w, options string) bool {
	name, _, _ := strings.Cut(w, "=")
	if len(name) < 3 || !strings.HasPrefix(name, "-") {
		return false
	}
	for option := range strings.FieldsSeq(options) {
		if strings.HasPrefix(option, name) {
			return true
		}
	}
	return false
}

package policy

import "strings"

// wrapper is a program that runs the command in its arguments.
type wrapper struct {
	flags    string // short options without a value
	values   string // short options with one
	long     string // long options; those with a value end in =
	operands int    // words of its own before the command
	assigns  bool   // takes name=value before the command
	// opaque wrappers change more than how the command runs (who it is, where it
	// comes from): a rule must name them.
	opaque bool
	more   bool // adds words to the command
}

const digits = "0123456789"

var wrappers = map[string]wrapper{
	"nohup":      {},
	"nice":       {flags: digits, values: "n", long: "adjustment="},
	"ionice":     {flags: "t" + digits, values: "cn", long: "class= classdata= ignore"},
	"timeout":    {flags: "v", values: "ks", long: "foreground preserve-status verbose kill-after= signal=", operands: 1},
	"gtimeout":   {flags: "v", values: "ks", long: "foreground preserve-status verbose kill-after= signal=", operands: 1},
	"time":       {flags: "pvl"},
	"stdbuf":     {values: "ioe", long: "input= output= error="},
	"setsid":     {flags: "cfw", long: "ctty fork wait"},
	"command":    {flags: "p"},
	"builtin":    {},
	"exec":       {flags: "cl", values: "a"},
	"env":        {flags: "i0v", values: "u", long: "ignore-environment null unset= debug", assigns: true},
	"taskset":    {flags: "ac", operands: 1},
	"chrt":       {flags: "abfior", operands: 1},
	"caffeinate": {flags: "dimsu", values: "tw"},
	"unbuffer":   {flags: "p"},
	"noglob":     {}, "nocorrect": {}, "-": {},
	"xargs": {
		flags: "0rtxo", values: "InPLdEsaRJS",
		long: "null no-run-if-empty verbose exit max-args= max-procs= max-lines= delimiter= arg-file= max-chars=", more: true,
	},

	"sudo": {flags: "AbEHKknPS", values: "ughpCrtTUDR", long: "user= group= non-interactive preserve-env", assigns: true, opaque: true},
	"doas": {flags: "nL", values: "uC", opaque: true},
	"npx":  {flags: "yq", long: "yes no quiet", opaque: true}, "bunx": {opaque: true}, "pnpx": {opaque: true}, "uvx": {opaque: true},
	"npm exec": {flags: "y", long: "yes no", opaque: true}, "npm x": {flags: "y", long: "yes no", opaque: true},
	"pnpm exec": {opaque: true}, "pnpm dlx": {opaque: true}, "yarn exec": {opaque: true}, "yarn dlx": {flags: "q", opaque: true},
	"bun x": {opaque: true}, "pipx run": {opaque: true}, "uv run": {flags: "q", long: "frozen locked offline quiet no-sync", opaque: true},
	"poetry run": {opaque: true}, "pipenv run": {opaque: true}, "hatch run": {opaque: true}, "bundle exec": {opaque: true},
	"rustup run": {operands: 1, opaque: true}, "direnv exec": {operands: 1, opaque: true}, "mise exec": {opaque: true},
	"busybox": {opaque: true}, "toybox": {opaque: true}, "cross-env": {assigns: true, opaque: true},
	"setarch": {operands: 1, opaque: true}, "torsocks": {opaque: true}, "proxychains": {opaque: true}, "rlwrap": {opaque: true},
	"repeat": {operands: 1, opaque: true}, "winpty": {opaque: true}, "catchsegv": {opaque: true}, "dbus-run-session": {opaque: true},
}

// wrapper looks inside a wrapper's arguments, of which the first skip words are
// its own name.
func (r *reader) wrapper(c *call, w wrapper, skip int) {
	name := program(c.words[0].text)
	if name == "command" && len(c.words) > 1 && (c.words[1].text == "-v" || c.words[1].text == "-V") {
		c.vouched = true
		return
	}
	i, replace, ok := w.options(c.words, skip)
	if !ok {
		c.opaque(name + " has an option that hides which command it runs")
		return
	}
	for range w.operands {
		if i >= len(c.words) || !c.words[i].literal() {
			c.opaque("which command " + name + " runs is computed")
			return
		}
		i++
	}
	for w.assigns && i < len(c.words) {
		variable, _, isPair := strings.Cut(c.words[i].text, "=")
		if !isPair || strings.Contains(variable, anyText) {
			break
		}
		r.assigned(variable, true)
		i++
	}
	if i >= len(c.words) && w.more {
		r.inner(c, i, []word{{text: "echo"}, unknown}, true) // what xargs runs by itself
		return
	}
	if i >= len(c.words) {
		c.vouched = name == "exec" // which then only redirects
		return
	}
	words := append([]word{}, c.words[i:]...)
	switch {
	case replace != "":
		for k, arg := range words {
			if strings.Contains(arg.text, replace) {
				words[k].text = strings.ReplaceAll(arg.text, replace, anyText)
			}
		}
	case w.more:
		words = append(words, unknown)
	}
	r.inner(c, i, words, !w.opaque)
}

// options skips a wrapper's options. It returns where the command begins, and
// the text that xargs replaces.
func (w wrapper) options(words []word, i int) (next int, replace string, ok bool) {
	for i < len(words) {
		arg := words[i]
		switch {
		case !arg.literal() && arg.mayBeFlag():
			return i, "", false
		case arg.text == "--":
			return i + 1, replace, true
		case strings.HasPrefix(arg.text, "--"):
			name, _, hasValue := strings.Cut(arg.text[2:], "=")
			known := set(w.long)
			if !known[name] && !known[name+"="] {
				return i, "", false
			}
			if known[name+"="] && !hasValue {
				i++
			}
			i++
		case strings.HasPrefix(arg.text, "-") && len(arg.text) > 1:
			taken, value, known := w.short(arg.text[1:], words[i+1:])
			if !known {
				return i, "", false
			}
			if w.more && strings.Contains(arg.text, "I") {
				replace = value
			}
			i += taken
		default:
			return i, replace, true
		}
	}
	return i, replace, true
}

// short reads a cluster of short options. It returns how many words it took and
// the value of the last option.
func (w wrapper) short(cluster string, rest []word) (taken int, value string, ok bool) {
	for k := range len(cluster) {
		switch {
		case strings.IndexByte(w.flags, cluster[k]) >= 0:
		case strings.IndexByte(w.values, cluster[k]) < 0:
			return 0, "", false
		case k+1 < len(cluster):
			return 1, cluster[k+1:], true
		case len(rest) == 0 || !rest[0].literal():
			return 0, "", false
		default:
			return 2, rest[0].text, true
		}
	}
	return 1, "", true
}

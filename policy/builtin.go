package policy

import "strings"

// builtin returns the reader for a command that needs more than a table, or nil.
func builtin(name string) func(*reader, *call) {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "pdksh", "yash", "posh":
		return shellCommand
	case "find":
		return findCommand
	case "eval":
		return evalBuiltin
	case "trap":
		return trapBuiltin
	case "source", ".":
		return sourceBuiltin
	case "command":
		return commandBuiltin
	case "set":
		return setBuiltin
	case "unset", "read", "mapfile", "readarray":
		return namesBuiltin
	case "test", "[":
		return testBuiltin
	case "cd":
		return cdBuiltin
	case "pushd", "popd":
		return dirsBuiltin
	case "echo", "printf":
		return printBuiltin
	case "true", "false", ":", "pwd":
		return func(_ *reader, c *call) { c.vouched, c.read = true, true }
	case "exit", "return", "break", "continue", "wait", "sleep", "shift":
		return numberBuiltin
	case "alias", "unalias", "enable", "hash", "bind", "complete", "compgen", "compopt", "shopt", "fc", "history", "getopts", "zmodload", "autoload", "zle", "emulate",
		"setopt", "unsetopt", "functions", "disable", "rehash", "sched", "vared", "zcompile", "zstyle", "bindkey", "logout", "suspend", "disown", "caller", "dirs":
		return func(_ *reader, c *call) { c.opaque(c.words[0].text + " changes what later commands mean") }
	}
	return nil
}

// commandBuiltin looks up a command, or runs it.
func commandBuiltin(r *reader, c *call) {
	if len(c.words) > 1 && (c.words[1].text == "-v" || c.words[1].text == "-V") {
		c.vouched = true
		return
	}
	r.program(c, table()["command"], 1)
}

// shellCommand looks inside sh -c.
func shellCommand(r *reader, c *call) {
	inline, i := false, 1
options:
	for ; i < len(c.words); i++ {
		w := c.words[i]
		switch {
		case !w.literal() && w.mayBeFlag():
			c.opaque("what the shell runs is computed")
			return
		case w.text == "--" || w.text == "-":
			i++
			break options
		case w.text == "--login" || w.text == "--norc" || w.text == "--noprofile" || w.text == "--posix":
		case strings.HasPrefix(w.text, "--") || !strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "+"):
			if strings.HasPrefix(w.text, "--") {
				c.opaque("the shell has an option that may load a file")
				return
			}
			break options
		case strings.Trim(w.text[1:], "abcefhilmnoOpuvxBCEHPT") != "" || strings.HasPrefix(w.text, "+") && len(w.text) == 1:
			c.opaque("the shell has an unknown option")
			return
		default:
			inline = inline || w.text[0] == '-' && strings.Contains(w.text, "c")
			if strings.ContainsAny(w.text, "oO") {
				i++ // the option's name
			}
		}
	}
	switch {
	case i >= len(c.words):
		c.readsInput()
	case !inline:
		c.doubt, c.runsFile, c.pin = "the shell runs a file", true, i+1
	case !c.words[i].literal():
		c.opaque("what the shell runs is computed")
	default:
		c.vouched, c.pin = true, len(c.words)
		r.nested(c.words[i].text)
	}
}

func evalBuiltin(r *reader, c *call) {
	words, ok := plain(c.words[1:])
	if !ok {
		c.opaque("what eval runs is computed")
		return
	}
	c.vouched, c.pin = true, len(c.words)
	r.nested(strings.Join(words, " "))
}

func trapBuiltin(r *reader, c *call) {
	words, ok := plain(c.words[1:])
	if !ok {
		c.opaque("what trap runs is computed")
		return
	}
	c.vouched, c.pin = true, len(c.words)
	if len(words) > 1 && words[0] != "-" && words[0] != "--" {
		r.nested(words[0])
	} else if len(words) > 0 && words[0] == "--" {
		c.opaque("trap has an option")
	}
}

func sourceBuiltin(r *reader, c *call) {
	if len(c.words) > 1 {
		r.noteFile(fileUse{path: c.words[1], cwds: c.cwds, by: "source"})
	}
	c.doubt, c.runsFile, c.pin = "a file is read as commands", true, min(2, len(c.words))
	if len(c.words) > 1 && !c.words[1].literal() {
		c.pin = len(c.words)
	}
}

func setBuiltin(_ *reader, c *call) {
	words, ok := plain(c.words[1:])
	for i, w := range words {
		option := len(w) > 1 && strings.Trim(w[1:], "euxovfC") == "" && (w[0] == '-' || w[0] == '+')
		named := i > 0 && strings.HasSuffix(words[i-1], "o") && (w == "pipefail" || w == "errexit" || w == "nounset" || w == "xtrace")
		ok = ok && (option || named)
	}
	if !ok || len(words) == 0 {
		c.opaque("set changes how the shell works")
		return
	}
	c.vouched = true
}

// namesBuiltin reads builtins that set or unset the variables in their arguments.
func namesBuiltin(_ *reader, c *call) {
	for _, w := range c.words[1:] {
		flag := w.text == "-r" || w.text == "-t" || w.text == "-a" || w.text == "-s" || w.text == "-ra"
		own := localName.MatchString(w.text) && !specialNames[w.text]
		if !w.literal() || !flag && !own {
			c.opaque(c.words[0].text + " sets a variable that may change what commands do")
			return
		}
	}
	c.vouched = true
}

// numberBuiltin accepts commands that take a number. Some shells evaluate other
// arguments.
func numberBuiltin(_ *reader, c *call) {
	for _, w := range c.words[1:] {
		if strings.Trim(w.text, "0123456789.smh") != "" {
			c.opaque(c.words[0].text + " may evaluate its argument")
			return
		}
	}
	c.vouched = true
}

// cdBuiltin follows cd. It is harmless inside the roots.
func cdBuiltin(r *reader, c *call) {
	dir := word{text: r.subject.Home}
	switch len(c.words) {
	case 1:
	case 2:
		dir = c.words[1]
	default:
		r.chdir(unknown, false)
		return
	}
	r.chdir(dir, dir.text != "" && !strings.HasPrefix(dir.text, "-") && !strings.HasPrefix(dir.text, "+"))
	c.vouched = r.insideRoots(word{text: "."}, r.cwds)
}

func dirsBuiltin(r *reader, _ *call) { r.chdir(unknown, false) }

// printBuiltin accepts echo and printf if everything they print can be read.
func printBuiltin(_ *reader, c *call) {
	c.read = true
	words, ok := plain(c.words[1:])
	if program(c.words[0].text) == "printf" && len(c.words) > 1 && (!c.words[1].literal() || strings.HasPrefix(c.words[1].text, "-")) {
		c.opaque("printf may set a variable")
		return
	}
	for _, w := range words {
		if program(c.words[0].text) == "printf" && strings.ContainsAny(w, "`$") {
			c.opaque("some shells evaluate what printf takes for a number")
			return
		}
	}
	c.vouched = ok
}

var (
	unaryTests  = set("-n -z -f -d -e -r -w -x -s -L -h !")
	stringTests = set("= == !=")
	numberTests = set("-eq -ne -lt -le -gt -ge")
)

// testBuiltin accepts tests whose operators are plain to see. Some evaluate
// their operands.
func testBuiltin(_ *reader, c *call) {
	for i, w := range c.words[1:] {
		before := c.words[i].text
		after := ""
		if i+2 < len(c.words) {
			after = c.words[i+2].text
		}
		operand := i > 0 && (unaryTests[before] || stringTests[before]) || stringTests[after]
		number := numberTests[before] && i > 0 || numberTests[after]
		switch {
		case w.text == "-v" || w.text == "-R":
			c.opaque("-v evaluates the index of a variable")
		case number && (!w.literal() || strings.Trim(w.text, "-0123456789") != ""):
			c.opaque("a comparison of numbers may evaluate its operands")
		case !w.literal() && (w.splits || !operand):
			c.opaque("a computed word may be an operator of the test")
		default:
			continue
		}
		return
	}
	c.vouched = true
}

package policy

import (
	"path"
	"strings"
)

// readLanguage checks what a program is told in its own language.
func (r *reader) readLanguage(c *call, p *parsed) {
	switch p.row.name {
	case "sed":
		r.readSed(c, p)
	case "awk", "gawk", "mawk", "nawk":
		if len(p.operands) > 0 && !awkSafe(p.operands[0]) {
			c.opaque("the program may make awk write a file or run something")
		}
	case "tar", "gtar":
		for _, g := range p.options {
			if (g.name == "-f" || g.name == "--file") && strings.Contains(g.value.text, ":") {
				c.opaque("tar reaches for the archive through another program")
			}
		}
	case "jq":
		if len(p.operands) > 0 && (strings.Contains(p.operands[0].text, "import") || strings.Contains(p.operands[0].text, "include")) {
			c.opaque("the program may make jq read other files")
		}
	case "npm run", "npm run-script":
		if len(p.operands) > 0 && (p.operands[0].text == "env" || !p.operands[0].literal()) {
			c.opaque("npm run env runs any command")
		}
	case "go run":
		if len(p.operands) > 0 && !ownPackage(p.operands[0].text) {
			c.opaque("go runs a program from elsewhere")
		}
	case "git clone":
		if len(p.operands) == 1 {
			name := path.Base(strings.TrimSuffix(strings.TrimRight(p.operands[0].text, "/"), ".git"))
			r.useWord(c, p.row, kindInto, word{text: name[strings.LastIndexByte(name, ':')+1:], splits: p.operands[0].splits})
		}
	case "make", "gmake":
		for _, w := range p.operands {
			if !makeSafe(w) {
				c.opaque("make passes " + show([]word{w}) + " to a shell")
			}
		}
	}
}

// readSed accepts scripts that only print, delete and substitute: others may write
// files or run commands.
func (r *reader) readSed(c *call, p *parsed) {
	var scripts []word
	inPlace, suffix := false, word{}
	for _, g := range p.options {
		switch g.name {
		case "-e", "--expression":
			scripts = append(scripts, g.value)
		case "-i", "--in-place":
			inPlace, suffix = inPlace || !g.has, g.value
		}
	}
	if !plainSuffix(suffix) {
		c.opaque("the suffix of -i may lead to another folder")
		return
	}
	if suffix.text != "" { // the files as they were
		for _, w := range p.operands[min(len(p.operands), 1-min(1, len(scripts))):] {
			r.useWord(c, p.row, kindWrites, word{text: w.text + suffix.text, splits: w.splits})
		}
	}
	if inPlace && !r.gnu && len(p.operands) > 0 && p.operands[0].text != "" {
		c.opaque("BSD's sed takes the word after -i for its value")
		return
	}
	if len(scripts) == 0 {
		// For BSD's sed the empty word after -i is its value; for GNU's it is a script
		// without a command, and the real script is the next word.
		for _, w := range p.operands {
			scripts = append(scripts, w)
			if w.text != "" || !inPlace {
				break
			}
		}
	}
	for _, w := range scripts {
		if !sedSafe(w) {
			c.opaque("the script may make sed write a file or run something")
		}
	}
}

// sedSafe reads a sed script as long as it consists of addresses and of commands
// without side effects.
func sedSafe(w word) bool {
	s := w.text
	if !w.literal() {
		return false
	}
	for s != "" {
		var ok bool
		if s, ok = sedStep(s); !ok {
			return false
		}
	}
	return true
}

// sedStep reads one address, command or separator.
func sedStep(s string) (rest string, ok bool) {
	switch c := s[0]; {
	case strings.IndexByte(" \t\n;,!+~$0123456789{}pdDgGhHnNqxP=", c) >= 0:
		return s[1:], true
	case c == '/' || c == '\\' && len(s) > 1:
		if c == '\\' {
			s = s[1:]
		}
		rest, ok = sedUntil(s[1:], s[0])
		return strings.TrimLeft(rest, "I"), ok
	case (c == 's' || c == 'y') && len(s) > 1 && s[1] != '\n' && s[1] != '\\':
		rest, ok = sedUntil(s[2:], s[1])
		if ok {
			rest, ok = sedUntil(rest, s[1])
		}
		// Of the flags, e runs what was substituted and w writes it.
		return strings.TrimLeft(rest, "gpiI0123456789"), ok
	}
	return s, false
}

// sedUntil skips to after the next unescaped delimiter. Inside a class a delimiter may
// stand for itself; such a script is not accepted.
func sedUntil(s string, delimiter byte) (rest string, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case delimiter:
			return s[i+1:], true
		case '[':
			end := strings.IndexByte(s[i:], ']')
			if end < 0 || strings.IndexByte(s[i:i+end], delimiter) >= 0 || strings.IndexByte(s[i:i+end], '\\') >= 0 {
				return s, false
			}
		case '\n':
			return s, false
		}
	}
	return s, false
}

// ownPackage reports whether go runs files, or a package of the project.
func ownPackage(name string) bool {
	return !strings.Contains(name, "@") && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "/") || strings.HasSuffix(name, ".go"))
}

// awkSafe accepts programs that only print. Outside of braces > compares, and | is a part
// of a pattern.
func awkSafe(w word) bool {
	for _, risky := range []string{"system", "getline", "@", "close", "fflush", "extension", "ARG", "SYMTAB"} {
		if strings.Contains(w.text, risky) {
			return false
		}
	}
	_, actions, _ := strings.Cut(w.text, "{")
	return w.literal() && !strings.ContainsAny(strings.NewReplacer("||", "", ">=", "").Replace(actions), "|>")
}

// plainToolFlags reports whether the options that go hands to its tools only change
// what is compiled: others name programs to run, or files to write.
func plainToolFlags(w word) bool {
	value := false // of -X
	for token := range strings.FieldsSeq(w.text) {
		if pattern, flag, ok := strings.Cut(token, "="); ok && !strings.HasPrefix(pattern, "-") && !value {
			token = flag // the packages that it is for
		}
		name, _, _ := strings.Cut(token, "=")
		switch {
		case value:
			value = false
		case name == "-X":
			value = token == "-X"
		case !toolFlags[name]:
			return false
		}
	}
	return w.literal()
}

var toolFlags = set("-s -w -N -l -m -S -e -B -C -L -live -race -trimpath -buildid -c -d -lang -H -compressdwarf -v -std -spectre -shared -dynlink -goversion -wb")

// makeVariables are names by which makefiles call no program.
var makeVariables = set("V VERBOSE DEBUG CI ARGS TESTARGS TESTFLAGS RUN TEST TESTS PKG VERSION TAG TARGET JOBS BUILD MODE ENV AGENT ALL TAGS BUILD_TYPE FILTER COUNT NAME PORT RACE")

// makeSafe reports whether an operand of make is a target, or sets a variable to
// something that a recipe can only use as an argument.
func makeSafe(w word) bool {
	name, value, isPair := strings.Cut(w.text, "=")
	return !isPair || w.literal() && makeVariables[name] && strings.IndexFunc(value, func(r rune) bool {
		plain := r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("_./:@,+=%~^-", r)
		return !plain
	}) < 0
}

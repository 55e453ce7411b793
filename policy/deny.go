package policy

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// matches says whether a deny rule's pattern matches the tool use, and which part of
// it, or why a match cannot be ruled out.
func (u *use) matches(p Pattern) (why string, m match) {
	if p.prefix || strings.HasPrefix(p.tool, "mcp__") {
		if u.Tool == p.tool || p.prefix && strings.HasPrefix(u.Tool, p.tool) {
			return u.Tool, yes
		}
		return "", no
	}
	if u.class == terret.ClassExecute && p.glob != "" {
		return u.matchesShellFiles(p)
	}
	if !u.called(p.tool) && (!p.whole || !u.isAlso(p.tool)) {
		return "", no
	}
	switch {
	case p.whole:
		return u.Tool, yes
	case u.doubt != "":
		return u.doubt, maybe
	case len(p.words) > 0:
		return u.matchesCommand(p)
	case p.glob != "":
		return u.matchesFiles(p, u.files)
	case p.domain != "":
		return u.matchesHost(p)
	case p.arg == u.argument:
		return u.Tool + " " + p.arg, yes
	}
	return "", no
}

const lateWhy = "it takes too long to compare them"

// matchesCommand compares every command of the script, in every spelling. What may run
// commands that we do not see may run a denied one.
func (u *use) matchesCommand(p Pattern) (why string, m match) {
	if u.script == nil || u.script.refused != "" {
		return "the command cannot be read", maybe
	}
	long, short := p.denyText()
	for _, c := range u.script.calls {
		for _, words := range c.spellings(u.Subject) {
			if u.stopped() {
				return lateWhy, maybe
			}
			text := joined(words)
			switch {
			case covers(long, text) || covers(short, text):
				return show(c.words), yes
			case mayMatch(long, possible(words)) || mayMatch(short, possible(words)):
				why, m = show(c.words)+" is unknown before it runs", maybe
			}
		}
		switch {
		case m == maybe:
		case c.doubt != "":
			why, m = c.doubt, maybe
		case c.loose && mentions(c.words[1:], p):
			why, m = show(c.words)+" names the command, and may run it", maybe
		}
	}
	if m == no && len(u.script.doubts) > 0 {
		return u.script.doubts[0], maybe
	}
	return why, m
}

// mentions reports whether the arguments of an unknown program contain the denied
// command, as words or inside one.
func mentions(args []word, p Pattern) bool {
	long, short := p.denyText()
	for i := range args {
		words := append([]word{{text: path.Base(args[i].text)}}, args[i+1:]...)
		text := joined(words)
		if covers(long, text) || covers(short, text) {
			return true
		}
		if within := args[i].text; strings.ContainsAny(within, " \t\n;&|()`$") && holdsInOrder(within, p) {
			return true
		}
	}
	return false
}

// holdsInOrder reports whether the literal words of a pattern are in the text,
// one after the other.
func holdsInOrder(text string, p Pattern) bool {
	tokens := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`$/\"'{}<>=", r) })
	for _, w := range p.words {
		if strings.Contains(w.text, anyText) {
			continue
		}
		i := slices.Index(tokens, path.Base(w.text))
		if i < 0 {
			return false
		}
		tokens = tokens[i+1:]
	}
	return true
}

// matchesShellFiles applies a rule about files to redirections and operands.
func (u *use) matchesShellFiles(p Pattern) (why string, m match) {
	read := p.tool == "Read"
	if !read && p.tool != "Edit" && p.tool != "Write" || u.script == nil {
		return "", no
	}
	var files []fileUse
	for _, f := range append(slices.Clone(u.script.files), u.script.operands...) {
		if f.write || read || f.doubtful {
			f.search = f.search && (!read || !f.write) // what is written below is not read
			files = append(files, f)
		}
	}
	why, m = u.matchesFiles(p, files)
	if m == no && u.script.odd {
		return "it is not in plain shell, and may use other files too", maybe
	}
	for _, c := range u.script.calls {
		if m == no && c.doubt != "" && !c.runsFile {
			return c.doubt, maybe
		}
	}
	return why, m
}

func (u *use) matchesFiles(p Pattern, files []fileUse) (why string, m match) {
	if len(files) == 0 && u.script == nil && u.class != terret.ClassMCP {
		return "it does not say which file it uses", maybe
	}
	globs := u.denyGlobs(p)
	for _, file := range files {
		if u.stopped() {
			return lateWhy, maybe
		}
		if !file.path.literal() || len(file.cwds) == 0 {
			if mayBeDenied(globs, file) {
				why, m = "the file that "+file.by+" uses is unknown before it runs", maybe
			}
			continue
		}
		readings, doubt := u.readings(file)
		if doubt != "" {
			why, m = doubt, maybe
			continue
		}
		for _, f := range readings {
			found := deniesPath(globs, f, file.search && !u.isFile(f))
			if found == yes && file.doubtful {
				found = maybe
			}
			if found == yes {
				return file.path.text, yes
			}
			if found == maybe {
				why, m = file.path.text+" is, or contains, what it denies", maybe
			}
		}
	}
	return why, m
}

// mayBeDenied reports whether a partly unknown path may be a denied one.
func mayBeDenied(globs []*denyGlob, file fileUse) bool {
	if len(file.cwds) == 0 {
		return true
	}
	for _, cwd := range file.cwds {
		text := join(cwd, file.path.text)
		if mayGoUp(text) {
			return true
		}
		if _, rest, unknown := strings.Cut(text, anyText); unknown && !file.path.glob {
			text = anyText + rest // a variable may hold .., and so lead anywhere
		}
		for _, g := range globs {
			if mayMatchUp(coarse(g.folded), fold(text), file.path.glob) {
				return true
			}
		}
	}
	return false
}

// mayGoUp reports whether a part of a partly unknown path is . or .., or may be: a shell
// expands .* and .? to them, too.
func mayGoUp(text string) bool {
	return strings.Contains(text, "/../") || strings.Contains(text, "/./") || strings.HasSuffix(text, "/..") ||
		strings.Contains(text, anyText+"../") || strings.Contains(text, "/."+anyText)
}

// mayMatchUp reports whether the pattern may match a partly unknown path, or a folder
// above it. If only file names are unknown, they contain no slash.
func mayMatchUp(pattern, text string, names bool) bool {
	if !names {
		return mayMatch(pattern, text) || mayMatch(pattern+"/"+anyText, text)
	}
	for text != "" && text != "/" && text != "." {
		if mayMatch(pattern, text) {
			return true
		}
		text = path.Dir(text)
	}
	return false
}

func (u *use) matchesHost(p Pattern) (why string, m match) {
	if len(u.urls) == 0 {
		return "it does not say which address it fetches", maybe
	}
	for _, address := range u.urls {
		host, ok := hostOf(address)
		if domainMatches(p.domain, host) {
			return host, yes
		}
		if !ok {
			why, m = "the address is ambiguous", maybe
		}
	}
	return why, m
}

// hostOf returns the host of an address, and whether every parser would find the same.
func hostOf(address string) (host string, plain bool) {
	parsed, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", false
	}
	host = strings.ToLower(strings.TrimSuffix(parsed.Hostname(), "."))
	plain = (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.User == nil && host != "" &&
		isASCII(host) && !strings.ContainsAny(address, "\\\t\r\n ") && unreadable(address) == "" && !strings.Contains(host, "%")
	return host, plain
}

func domainMatches(domain, host string) bool {
	if below, ok := strings.CutPrefix(domain, "*."); ok {
		return strings.HasSuffix(host, "."+below)
	}
	return host == strings.Trim(domain, "[]")
}

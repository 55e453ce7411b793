package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/glob"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Pattern is the parsed form of a rule's pattern. It is immutable.
type Pattern struct {
	source string
	tool   string // canonical name, or the prefix of an MCP tool's name
	whole  bool   // the rule covers every use of the tool
	prefix bool   // tool is a prefix

	words       []patternWord // Bash
	prefixMatch bool          // any other words may follow (the :* form)
	glob        string        // paths
	domain      string        // WebFetch
	arg         string        // Agent, Skill: taken literally
}

// patternWord is one word of a command pattern. In text, a star is anyByte.
type patternWord struct {
	text string
	star bool // the word is a lone star: any number of words
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.source }

var mcpName = lazyregexp.New(`^mcp__[A-Za-z0-9_.-]*\*?$`)

// isToolName reports whether a tool may be called that.
func isToolName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '_' && c != '.' && c != '-') {
			return false
		}
	}
	return s != ""
}

// How long a pattern may be, and its path: the time to match grows with it.
const (
	maxPattern = 10_000
	maxPath    = 2_000
)

// brief is the pattern, or its beginning if it is too long to show.
func brief(pattern string) string {
	if len(pattern) <= maxPath {
		return pattern
	}
	return strings.ToValidUTF8(pattern[:40], "") + "…"
}

// Parse reads a rule's pattern. The error says what is wrong with it, and shows a
// correct one.
func Parse(pattern string) (Pattern, error) {
	p := Pattern{source: pattern}
	if len(pattern) > maxPattern {
		return p, bad(brief(pattern), "it is longer than %d bytes", maxPattern, "Bash(git status *)")
	}
	if reason := unreadable(pattern); reason != "" {
		return p, bad(pattern, "it contains %s", reason, "Bash(git status *)")
	}
	name, arg, hasArg := strings.Cut(pattern, "(")
	if hasArg {
		if !strings.HasSuffix(arg, ")") {
			return p, bad(pattern, "the closing parenthesis at the end is missing", "Bash(git status *)")
		}
		arg = strings.TrimSpace(strings.TrimSuffix(arg, ")"))
	}
	if strings.HasPrefix(name, "mcp__") {
		return parseMCP(p, name, hasArg)
	}
	if !isToolName(name) {
		return p, bad(pattern, "%q is not the name of a tool", name, "Bash(git status *), Edit(src/**) or mcp__github__*")
	}
	p.tool = ruleName(name)
	if !hasArg || arg == "*" {
		p.whole = true
		return p, nil
	}
	if arg == "" {
		return p, bad(pattern, "there is nothing between the parentheses", name)
	}
	return parseArgument(p, name, arg)
}

func parseMCP(p Pattern, name string, hasArg bool) (Pattern, error) {
	switch {
	case hasArg:
		return p, bad(p.source, "rules for MCP tools have no parentheses", "mcp__github__get_issue or mcp__github__*")
	case !mcpName.MatchString(name) || name == "mcp__":
		return p, bad(p.source, "an MCP rule is mcp__server, mcp__server__tool, or one of them with a star at the end", "mcp__github__*")
	}
	p.whole = true
	p.tool, p.prefix = strings.CutSuffix(name, "*")
	if server := strings.TrimPrefix(name, "mcp__"); !p.prefix && !strings.Contains(server, "__") {
		p.tool, p.prefix = name+"__", true
	}
	return p, nil
}

func parseArgument(p Pattern, name, arg string) (Pattern, error) {
	switch p.tool {
	case "Bash":
		return parseCommand(p, arg)
	case "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Grep", "Glob", "LS":
		return parsePath(p, arg)
	case "WebFetch":
		return parseDomain(p, arg)
	case "Agent", "Skill":
		if strings.ContainsAny(arg, "*?[") {
			return p, bad(p.source, "%s takes one name and no star", p.tool, p.tool+"(explore)")
		}
		p.arg = arg
		return p, nil
	}
	if family := tools[name].rule; family != "" {
		return p, bad(p.source, "rules call this tool %s", family, family+"("+arg+")")
	}
	return p, bad(p.source, "only Bash, Read, Edit, Write, Grep, Glob, WebFetch, Agent and Skill take parentheses", name)
}

func parsePath(p Pattern, arg string) (Pattern, error) {
	if len(arg) > maxPath {
		return p, bad(brief(p.source), "the path is longer than %d bytes", maxPath, p.tool+"(src/**)")
	}
	if _, err := glob.Compile(arg); err != nil {
		return p, bad(p.source, "the path has unbalanced brackets, braces or backslashes", p.tool+"(src/**)")
	}
	if i := strings.IndexAny(arg, "*?[{"); i >= 0 && strings.Contains(arg[i:]+"/", "/../") {
		return p, bad(p.source, "a path cannot go up with .. after a star", p.tool+"(../other/**)")
	}
	if strings.HasPrefix(arg, "~") && arg != "~" && !strings.HasPrefix(arg, "~/") {
		return p, bad(p.source, "a tilde can only name your own home directory", p.tool+"(~/notes/**)")
	}
	if strings.HasSuffix(arg, "/") && arg != "/" && arg != "//" {
		arg += "**"
	}
	p.glob = arg
	return p, nil
}

var hostName = lazyregexp.New(`^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$|^\[[0-9a-f:.]+\]$`)

func parseDomain(p Pattern, arg string) (Pattern, error) {
	host, ok := strings.CutPrefix(arg, "domain:")
	host = strings.ToLower(host)
	if !ok || !hostName.MatchString(host) {
		return p, bad(p.source, "WebFetch takes domain: and a host name", "WebFetch(domain:go.dev) or WebFetch(domain:*.go.dev)")
	}
	p.domain = host
	return p, nil
}

// parseCommand splits a command pattern into words. As in the shell, quotes group, and
// quotes and backslashes make a star literal.
func parseCommand(p Pattern, arg string) (Pattern, error) {
	if rest, ok := strings.CutSuffix(arg, ":*"); ok {
		arg, p.prefixMatch = rest, true
	}
	if !strings.ContainsAny(arg, `'"\`) { // as most are
		p.words = make([]patternWord, 0, strings.Count(arg, " ")+1)
		for w := range strings.FieldsSeq(arg) {
			if w == "*" {
				p.words = append(p.words, patternWord{text: anyText, star: true})
			} else {
				p.words = append(p.words, patternWord{text: strings.ReplaceAll(w, "*", anyText)})
			}
		}
		return p, p.noCommand()
	}
	var text strings.Builder
	var quote byte
	started, escaped, quoted := false, false, false
	flush := func() {
		if started {
			w := text.String()
			p.words = append(p.words, patternWord{text: w, star: w == anyText && !quoted})
		}
		text.Reset()
		started, quoted = false, false
	}
	for i := range len(arg) {
		c := arg[i]
		switch {
		case escaped:
			text.WriteByte(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			text.WriteByte(c)
		case c == '\'' || c == '"':
			quote, started, quoted = c, true, true
		case c == ' ' || c == '\t' || c == '\n':
			flush()
		case c == '*':
			started = true
			text.WriteByte(anyByte)
		default:
			started = true
			text.WriteByte(c)
		}
	}
	if quote != 0 || escaped {
		return p, bad(p.source, "a quote or a backslash in it is not closed", `Bash(git commit -m 'a message')`)
	}
	flush()
	return p, p.noCommand()
}

// noCommand is the error for a command pattern without a command.
func (p Pattern) noCommand() error {
	if len(p.words) > 0 {
		return nil
	}
	return bad(p.source, "there is no command before :*", "Bash(git status:*)")
}

// bad makes the error for a pattern. The last argument is a correct pattern.
func bad(pattern, format string, args ...any) error {
	right := args[len(args)-1]
	why := fmt.Sprintf(format, args[:len(args)-1]...)
	return terret.Invalid("pattern", "%q is not a rule: %s; write for example %s", pattern, why, right)
}

// denyText is the pattern as a text for covers and mayMatch. Its stars match any number
// of words; a star at the end, and the old form, also match if nothing follows: shorter
// is the text for that.
func (p Pattern) denyText() (text, shorter string) {
	words := make([]string, len(p.words))
	for i, w := range p.words {
		words[i] = w.text
	}
	text = strings.Join(words, wordSep)
	if p.prefixMatch {
		return text + wordSep + anyText, text
	}
	if n := len(p.words); n > 1 && p.words[n-1].star {
		return text, strings.Join(words[:n-1], wordSep)
	}
	return text, text
}

// allows reports whether an allow rule with this pattern covers the words, and names
// the first pin of them without a star. A lone star matches any number of words, any
// other star a part of one word, and none matches a part of the command's name beyond a
// slash. With exact, no words may follow.
func (p Pattern) allows(words []word, pin int, exact bool) bool {
	if len(p.words) == 0 || len(words) == 0 || !words[0].literal() || p.words[0].star || pin > len(words) {
		return false
	}
	if exact && (p.prefixMatch || len(p.words) != len(words)) {
		return false
	}
	name := p.words[0].text
	if !strings.Contains(name, anyText) && name != words[0].text || strings.Count(name, "/") != strings.Count(words[0].text, "/") {
		return false
	}
	for i := range pin {
		if i >= len(p.words) || !words[i].literal() || p.words[i].text != words[i].text {
			return false
		}
	}
	pattern := p.words
	if p.prefixMatch {
		pattern = append(slices.Clone(pattern), patternWord{star: true})
	}
	return allowsWords(pattern, words)
}

// allowsWords matches word by word, with a star for any number of words. Going back to
// the last star is enough, as for globs.
func allowsWords(pattern []patternWord, words []word) bool {
	i, j, star, mark := 0, 0, -1, 0
	for j < len(words) {
		switch {
		case i < len(pattern) && pattern[i].star:
			star, mark = i, j
			i++
		case i < len(pattern) && allowsWord(pattern[i].text, words[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i].star {
		i++
	}
	return i == len(pattern)
}

func allowsWord(pattern string, w word) bool {
	return !w.splits && covers(pattern, w.text)
}

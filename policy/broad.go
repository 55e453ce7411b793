package policy

import "strings"

// Broad says what else an allow rule allows than it seems to, in one sentence, or
// nothing. It is for the person who makes the rule.
func Broad(pattern string) string {
	p, err := Parse(pattern)
	switch {
	case err != nil:
		return ""
	case p.whole && p.tool == "Bash":
		return "It allows every command, whatever that does."
	case len(p.words) == 0 || strings.Contains(p.words[0].text, anyText):
		return ""
	}
	open := p.prefixMatch || p.words[len(p.words)-1].star
	name := p.words[0].text
	row := table()[program(name)]
	switch base := program(name); {
	case !open:
		return ""
	case len(p.words) <= 2 && (hiding[base] || interpreters[base]):
		return sentence("%s can run any other program and write anywhere, so this rule allows all of that", name)
	case hiding[base] || interpreters[base]:
		return ""
	case row == nil && builtin(base) == nil && (len(p.words) < 3 || table()[base+" "+p.words[1].text] == nil):
		return sentence("Nothing is known of the options of %s, so this rule also allows those that run something or write elsewhere", name)
	}
	return ""
}

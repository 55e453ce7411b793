package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// allowRule is an allow rule and its pattern.
type allowRule struct {
	rule    *terret.Rule
	pattern Pattern
}

// allowedBy returns a rule to name if the rules cover the tool use, or nil.
func (u *use) allowedBy(rules []allowRule) *terret.Rule {
	if u.script != nil && u.script.refused != "" {
		return nil
	}
	for _, r := range rules {
		if u.allowsWhole(r.pattern) {
			return r.rule
		}
	}
	switch {
	case u.doubt != "":
		return nil
	case u.script != nil:
		return u.allowedScript(rules)
	case u.class == terret.ClassMCP:
		return nil
	case len(u.urls) > 0 && u.called("WebFetch"):
		return u.allowedHosts(rules)
	case len(u.files) > 0:
		return u.allowedFiles(rules, u.files)
	}
	for _, r := range rules {
		if r.pattern.arg != "" && r.pattern.arg == u.argument && u.called(r.pattern.tool) {
			return r.rule
		}
	}
	return nil
}

// allowsWhole reports whether the pattern is for every use of the tool. A rule for
// reading does not cover searching.
func (u *use) allowsWhole(p Pattern) bool {
	switch {
	case !p.whole:
		return false
	case p.prefix:
		// Two underscores in what the star stands for may belong to another server's name.
		rest, ok := strings.CutPrefix(u.Tool, p.tool)
		return ok && !strings.Contains(strings.TrimLeft(rest, "_"), "__")
	case u.class == terret.ClassEdit && u.guardedFile():
		return false
	case u.class == terret.ClassSearch && p.tool == "Read":
		return false
	}
	return u.called(p.tool)
}

// guardedFile reports whether an edit is of a file that a rule must name.
func (u *use) guardedFile() bool {
	for _, file := range u.files {
		readings, why := u.readings(file)
		if why != "" {
			return true
		}
		for _, f := range readings {
			for _, p := range append([]string{f.given}, f.resolved...) {
				if u.guardedPart(u.relative(p)) != "" {
					return true
				}
			}
		}
	}
	return false
}

// allowedScript needs a rule for every command and every redirection. It returns the
// rule for the first command.
func (u *use) allowedScript(rules []allowRule) *terret.Rule {
	if !u.script.dynamic && u.command != "" && u.exact {
		for _, r := range rules {
			if r.pattern.tool == "Bash" && r.pattern.isText(u.command) {
				return r.rule // word for word what was approved
			}
		}
	}
	if len(u.script.doubts) > 0 {
		return nil
	}
	var first *terret.Rule
	for _, c := range u.script.calls {
		if c.vouched || c.denyOnly {
			continue
		}
		rule := u.allowsCall(rules, c)
		if rule == nil {
			return nil
		}
		if first == nil {
			first = rule
		}
	}
	for _, c := range u.script.calls {
		if first == nil {
			first = u.allowsCall(rules, c) // only harmless commands: still name a rule
		}
	}
	if len(u.script.files) > 0 {
		rule := u.allowedFiles(rules, u.script.files)
		if rule == nil {
			return nil
		}
		if first == nil {
			first = rule
		}
	}
	return first
}

// allowsCall returns a rule that covers the call. What it writes must be covered too:
// by the rule, if that is word for word, or by one for the file.
func (u *use) allowsCall(rules []allowRule, c call) *terret.Rule {
	for _, r := range rules {
		if u.stopped() {
			return nil
		}
		for _, words := range [][]word{c.words, plainName(c.words)} {
			if r.pattern.allows(words, c.pin, c.exact) &&
				(r.pattern.allows(words, len(words), true) || u.allowsNeeds(rules, c.needs)) {
				return r.rule
			}
		}
	}
	return nil
}

// allowsNeeds reports whether a command that a rule with a star allows may write these
// files. It may write to the project and to temporary folders, but not to files that
// can make programs run code.
func (u *use) allowsNeeds(rules []allowRule, needs []need) bool {
	for _, n := range needs {
		if (n.always || !u.ordinary(n)) && u.allowsFile(rules, n.file) == nil {
			return false
		}
	}
	return true
}

// temporary are folders for files that nothing executes.
var temporary = []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp"}

// ordinary reports whether a file is in a place where commands usually write.
func (u *use) ordinary(n need) bool {
	file := n.file
	if p := file.path; !p.literal() && p.glob && !p.cut {
		folder := knownFolder(p.text)
		if rest := p.text[len(folder):]; strings.HasPrefix(rest, ".") || strings.Contains(rest, "/") || u.mayGuard(rest) {
			return false
		}
		file.path = word{text: folder + "."}
	}
	readings, why := u.readings(file)
	if why != "" {
		return false
	}
	for _, f := range readings {
		for _, p := range f.resolved {
			inTemp := slices.ContainsFunc(temporary, func(dir string) bool { return inside(p, dir) })
			if u.guardedPart(u.relative(p)) != "" || !u.inRoots(p) && !inTemp {
				return false
			}
		}
	}
	return true
}

// mayGuard reports whether names that a star completes may be those of guarded files. A
// star at the beginning matches no hidden one.
func (s Subject) mayGuard(name string) bool {
	for guard := range guarded {
		if !strings.HasPrefix(guard, ".") && mayMatch(name, guard) {
			return true
		}
	}
	return slices.ContainsFunc(s.Guarded, func(guard string) bool {
		return !strings.HasPrefix(path.Base(guard), ".") && mayMatch(name, path.Base(guard))
	})
}

// isText reports whether the pattern is the command itself, without any star.
func (p Pattern) isText(command string) bool {
	return !strings.Contains(p.source, "*") && p.source == "Bash("+strings.TrimSpace(command)+")"
}

// allowedFiles needs a rule for each of the files.
func (u *use) allowedFiles(rules []allowRule, files []fileUse) *terret.Rule {
	var first *terret.Rule
	for _, file := range files {
		rule := u.allowsFile(rules, file)
		if rule == nil {
			return nil
		}
		if first == nil {
			first = rule
		}
	}
	return first
}

func (u *use) allowsFile(rules []allowRule, file fileUse) *terret.Rule {
	readings, why := u.readings(file)
	if why != "" {
		return nil
	}
	for _, r := range rules {
		if u.stopped() {
			return nil
		}
		if !u.namesFile(r.pattern, file) {
			continue
		}
		ok := true
		for _, f := range readings {
			ok = ok && (r.pattern.whole && !u.guardedForms(f) || r.pattern.glob != "" && u.allowsPath(r.pattern, f))
		}
		if ok {
			return r.rule
		}
	}
	return nil
}

func (u *use) guardedForms(f forms) bool {
	for _, p := range f.resolved {
		if u.guardedPart(u.relative(p)) != "" {
			return true
		}
	}
	return false
}

// namesFile reports whether a rule is about that use of a file.
func (u *use) namesFile(p Pattern, file fileUse) bool {
	if u.script != nil {
		return file.write && p.tool == "Edit" || !file.write && p.tool == "Read"
	}
	return u.called(p.tool) && (u.class != terret.ClassSearch || p.tool != "Read")
}

func (u *use) allowedHosts(rules []allowRule) *terret.Rule {
	var first *terret.Rule
	for _, address := range u.urls {
		host, ok := hostOf(address)
		if !ok {
			return nil
		}
		var rule *terret.Rule
		for _, r := range rules {
			if rule == nil && r.pattern.domain != "" && domainMatches(r.pattern.domain, host) {
				rule = r.rule
			}
		}
		if rule == nil {
			return nil
		}
		if first == nil {
			first = rule
		}
	}
	return first
}

// procLinks are names in /proc that lead elsewhere, for each process to another place.
var procLinks = lazyregexp.New(`/(self|thread-self|cwd|root|fd|task|map_files)(/|$)`)

// readings lists the readings of a path, one for each folder it may be relative to. If
// there is none, it says why.
func (u *use) readings(file fileUse) ([]forms, string) {
	switch reason := unreadable(file.path.text); {
	case strings.HasPrefix(path.Clean(file.path.text), "/proc/") && procLinks.MatchString(file.path.text):
		return nil, "the path leads through a process"
	case !file.path.literal() || len(file.cwds) == 0:
		return nil, "the file it uses is unknown before it runs"
	case reason != "":
		return nil, "the path contains " + reason
	}
	var all []forms
	for _, cwd := range file.cwds {
		p := join(cwd, file.path.text)
		if !path.IsAbs(p) {
			return nil, "the path is relative to an unknown folder"
		}
		f, err := u.forms(p)
		if err != nil {
			return nil, fmt.Sprintf("cannot follow the links of %s", file.path.text)
		}
		all = append(all, f)
	}
	return all, ""
}

package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// Suggest lists narrow rules that together would allow this tool use and similar ones,
// or nothing if no rule should. It never generalises over a wrapper, an interpreter or
// a destructive command: those are named in full.
func Suggest(s Subject) []string { return suggest(newUse(s)) }

func suggest(u *use) []string {
	var rules []string
	switch {
	case u.class == terret.ClassMCP:
		rules = []string{u.Tool}
	case u.doubt != "":
		return nil
	case u.script != nil:
		rules = u.suggestCommands()
	case len(u.urls) > 0 && u.called("WebFetch"):
		for _, address := range u.urls {
			host, _ := hostOf(address)
			rules = append(rules, "WebFetch(domain:"+host+")")
		}
	case len(u.files) > 0 && u.class != terret.ClassSearch:
		rules = u.suggestFiles(u.files)
	case u.class == terret.ClassSearch, tools[u.Tool].rule != "":
		rules = []string{tools[u.Tool].rule}
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	if !u.coveredBy(rules) {
		return nil
	}
	return rules
}

// coveredBy verifies that the rules, as they will be read, allow it.
func (u *use) coveredBy(patterns []string) bool {
	rules := make([]terret.Rule, len(patterns))
	for i, p := range patterns {
		rules[i] = terret.Rule{Effect: terret.EffectAllow, Pattern: p}
	}
	_, ok := u.allowed(rules)
	return ok && len(patterns) > 0
}

func (u *use) suggestCommands() []string {
	if u.script.refused != "" || len(u.script.doubts) > 0 {
		return nil
	}
	var rules []string
	for _, c := range u.script.calls {
		if c.doubt != "" {
			return nil
		}
		if !c.vouched && !c.denyOnly {
			rules = append(rules, suggestCall(c))
		}
	}
	return append(rules, u.suggestFiles(u.script.files)...)
}

// suggestCall is a rule for one command: with a star if that is harmless, otherwise
// word for word.
func suggestCall(c call) string {
	words := plainName(c.words)
	if c.star && c.pin == 0 && len(c.needs) == 0 {
		if c.sub > 0 {
			return "Bash(" + words[0].text + " " + words[1].text + " *)"
		}
		return "Bash(" + words[0].text + " *)"
	}
	texts, ok := plain(words)
	if !ok {
		return ""
	}
	for i, t := range texts {
		texts[i] = quotePattern(t)
	}
	return "Bash(" + strings.Join(texts, " ") + ")"
}

// quotePattern writes a word so that Parse reads it back.
func quotePattern(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\n*'\"\\") && !strings.HasSuffix(w, ":") {
		return w
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
}

func (u *use) suggestFiles(files []fileUse) []string {
	var rules []string
	for _, file := range files {
		readings, why := u.readings(file)
		if why != "" || len(readings) == 0 || len(readings[0].resolved) == 0 {
			return []string{""}
		}
		tool := "Read"
		if file.write {
			tool = "Edit"
		}
		rules = append(rules, tool+"("+u.suggestPath(readings[0].resolved[0])+")")
	}
	return rules
}

// suggestPath names a file relative to the working directory if it lies inside.
func (u *use) suggestPath(p string) string {
	if cwd, err := u.resolve(u.Cwd); err == nil && inside(p, cwd) && p != cwd {
		rel := strings.TrimPrefix(strings.TrimPrefix(p, cwd), "/")
		if strings.HasPrefix(rel, "~") {
			rel = "./" + rel
		}
		return globMeta.Replace(rel)
	}
	return "/" + globMeta.Replace(path.Clean(p))
}

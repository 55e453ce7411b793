package policy

import (
	"slices"

	"github.com/terret-dev/terret"
)

// Explain judges a tool use and says why, one sentence a reason: first what decided, then,
// where rules for its parts decide, each part of a command with the rule that covers it or
// with what is missing.
func Explain(s Subject, rules []terret.Rule, p terret.Policy) (Verdict, []string) {
	v, u := Judge(s, rules, p), newUse(s)
	reasons := []string{v.Reason}
	add := func(why string) {
		if !slices.Contains(reasons, why) {
			reasons = append(reasons, why)
		}
	}
	decided := v.Behavior != terret.BehaviorAsk && (v.Rule == nil) != (v.Behavior == terret.BehaviorDeny)
	if u.script == nil || u.script.refused != "" || decided {
		return v, reasons // the parts of the command have no say in it
	}
	if allow := allowRules(rules); !slices.ContainsFunc(allow, func(r allowRule) bool { return u.allowsWhole(r.pattern) }) {
		for _, why := range u.script.doubts {
			add(sentence("A rule with a star allows nothing of it: %s", why))
		}
		for _, c := range u.script.calls {
			if !c.vouched && !c.denyOnly {
				add(u.aboutCall(allow, c))
			}
		}
		for _, f := range u.script.files {
			add(u.aboutFile(allow, f))
		}
	}
	return v, reasons
}

// aboutCall says which rule allows a command of a script, or why none does.
func (u *use) aboutCall(rules []allowRule, c call) string {
	name := show(c.words)
	if rule := u.allowsCall(rules, c); rule != nil {
		return sentence("%s: rule %s allows it", name, rule.Pattern)
	}
	i := slices.IndexFunc(rules, func(r allowRule) bool { return r.pattern.allows(plainName(c.words), 0, false) })
	switch {
	case i < 0:
		return sentence("%s: no rule allows it", name)
	case c.doubt != "":
		return sentence("%s: rule %s is not enough, because %s", name, rules[i].pattern.source, c.doubt)
	case !rules[i].pattern.allows(plainName(c.words), c.pin, c.exact):
		return sentence("%s: rule %s is not enough; it must also name %s", name, rules[i].pattern.source, show(c.words[1:min(max(c.pin, 2), len(c.words))]))
	}
	for _, n := range c.needs {
		if (n.always || !u.ordinary(n)) && u.allowsFile(rules, n.file) == nil {
			return sentence("%s: rule %s is not enough; writing %s needs a rule for Edit, too", name, rules[i].pattern.source, show([]word{n.file.path}))
		}
	}
	return sentence("%s: rule %s is not enough", name, rules[i].pattern.source)
}

// aboutFile says which rule allows a redirection, or that none does.
func (u *use) aboutFile(rules []allowRule, f fileUse) string {
	does, tool := "reading", "Read"
	if f.write {
		does, tool = "writing", "Edit"
	}
	name := show([]word{f.path})
	if rule := u.allowsFile(rules, f); rule != nil {
		return sentence("%s %s: rule %s allows it", does, name, rule.Pattern)
	}
	return sentence("%s %s: no rule for %s allows it", does, name, tool)
}

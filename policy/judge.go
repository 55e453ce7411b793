package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// Verdict is the decision about a tool use.
type Verdict struct {
	Behavior terret.Behavior // allow, deny or ask
	// Rule is the rule that decided, or that could not be ruled out. It is nil if the
	// policy alone decided, or a protected folder.
	Rule   *terret.Rule
	Policy terret.Policy // the one in force, if no rule decided
	Reason string        // one sentence for people
}

// Judge decides a tool use: deny rules first, then ask rules, then allow rules, then
// the policy. All given rules are in force; the caller selects them.
func Judge(s Subject, rules []terret.Rule, p terret.Policy) Verdict {
	u := newUse(s)
	verdict, sure := u.denied(rules)
	if sure == yes {
		return verdict
	}
	if sure == no {
		if v, ok := u.asked(rules); ok {
			verdict, sure = v, maybe
		} else if v, ok := u.allowed(rules); ok {
			return v
		}
	}
	if sure == no && u.late {
		verdict, sure = tooLong, maybe
	}
	named := u.named(p)
	if sure == maybe && named.Behavior != terret.BehaviorDeny {
		return verdict
	}
	return named
}

// tooLong is the verdict if the rules were not all looked at.
var tooLong = Verdict{Behavior: terret.BehaviorAsk, Reason: "It takes too long to compare it with all rules."}

// stopped reports whether the judgement must end.
func (u *use) stopped() bool {
	u.late = u.late || u.Stop != nil && u.Stop()
	return u.late
}

// Denied reports whether deny rules or a protected folder deny a tool use, surely or
// possibly: the verdict is then deny or ask. It is for an input that a person edited
// when allowing it.
func Denied(s Subject, rules []terret.Rule) (Verdict, bool) {
	v, sure := newUse(s).denied(rules)
	return v, sure != no
}

// denied applies deny rules and the protected folders.
func (u *use) denied(rules []terret.Rule) (Verdict, match) {
	doubt, found := Verdict{}, no
	note := func(v Verdict, m match) {
		if m > found {
			doubt, found = v, m
		}
	}
	note(u.protectedFiles())
	if u.script != nil && u.script.refused != "" {
		note(Verdict{Behavior: terret.BehaviorAsk, Reason: sentence("A person must read the command: %s", u.script.refused)}, maybe)
	}
	for i := range rules {
		if found == yes {
			break
		}
		if u.stopped() {
			note(tooLong, maybe)
			break
		}
		if e := rules[i].Effect; e == terret.EffectAllow || e == terret.EffectAsk {
			continue
		}
		r := rules[i]
		p, err := Parse(r.Pattern)
		if err != nil {
			note(Verdict{Behavior: terret.BehaviorAsk, Rule: &r, Reason: sentence("The deny rule %s is invalid", brief(r.Pattern))}, maybe)
			continue
		}
		switch why, m := u.matches(p); m {
		case yes:
			note(Verdict{Behavior: terret.BehaviorDeny, Rule: &r, Reason: sentence("Rule %s denies %s", r.Pattern, why)}, yes)
		case maybe:
			note(Verdict{Behavior: terret.BehaviorAsk, Rule: &r, Reason: sentence("Rule %s may deny it: %s", r.Pattern, why)}, maybe)
		case no:
		}
	}
	return doubt, found
}

// sentence is fmt.Sprintf with a full stop.
func sentence(format string, args ...any) string {
	return strings.TrimSuffix(fmt.Sprintf(format, args...), ".") + "."
}

// asked applies the ask rules: a person is asked about whatever may match one, unless
// the policy denies it.
func (u *use) asked(rules []terret.Rule) (Verdict, bool) {
	for i := range rules {
		if u.stopped() {
			return tooLong, true
		}
		if rules[i].Effect != terret.EffectAsk {
			continue
		}
		r := rules[i]
		p, err := Parse(r.Pattern)
		if err != nil {
			return Verdict{Behavior: terret.BehaviorAsk, Rule: &r, Reason: sentence("The ask rule %s is invalid", brief(r.Pattern))}, true
		}
		if why, m := u.matches(p); m != no {
			return Verdict{Behavior: terret.BehaviorAsk, Rule: &r, Reason: sentence("Rule %s asks about %s", r.Pattern, why)}, true
		}
	}
	return Verdict{}, false
}

// allowed applies the allow rules. Together they must cover everything that the tool
// use does.
func (u *use) allowed(rules []terret.Rule) (Verdict, bool) {
	if u.stopped() {
		return Verdict{}, false
	}
	rule := u.allowedBy(allowRules(slices.DeleteFunc(slices.Clone(rules), func(r terret.Rule) bool { return u.doesNotName(r.Pattern) })))
	if rule == nil {
		return Verdict{}, false
	}
	r := *rule
	return Verdict{Behavior: terret.BehaviorAllow, Rule: &r, Reason: sentence("Rule %s allows it", r.Pattern)}, true
}

// allowRules are those of the rules that allow something.
func allowRules(rules []terret.Rule) (allow []allowRule) {
	for i := range rules {
		if p, err := Parse(rules[i].Pattern); err == nil && rules[i].Effect == terret.EffectAllow {
			allow = append(allow, allowRule{&rules[i], p})
		}
	}
	return allow
}

// doesNotName reports that an allow rule is for a command of a name that is nowhere in
// the script, as most rules are. It saves the time to look further.
func (u *use) doesNotName(pattern string) bool {
	arg, ok := strings.CutPrefix(pattern, "Bash(")
	if !ok || !u.exact || u.command == "" {
		return false
	}
	end := strings.IndexAny(arg, " :)*?[\\'\"\t\n")
	if end <= 0 || strings.IndexByte(" :)", arg[end]) < 0 {
		return false
	}
	return !strings.Contains(u.command, arg[:end])
}

// named applies a policy by its name. An unknown one asks.
func (u *use) named(p terret.Policy) Verdict {
	v := Verdict{Behavior: terret.BehaviorAsk, Policy: p}
	switch p {
	case terret.PolicyAutoApprove:
		v.Behavior, v.Reason = terret.BehaviorAllow, "The policy auto-approve allows whatever no rule denies."
	case terret.PolicyDenyUnlessAllowed:
		v.Behavior, v.Reason = terret.BehaviorDeny, u.howToAllow()
	case terret.PolicyAsk:
		v.Reason = "The policy ask asks a person."
		if u.looksInside() {
			v.Behavior, v.Reason = terret.BehaviorAllow, "The policy ask lets the agent read and search in the folder."
		}
	case terret.PolicyAcceptEdits:
		v.Reason = "The policy accept-edits asks about everything except edits in the folder."
		if u.class == terret.ClassEdit {
			if why := u.outside(); why != "" {
				v.Reason = sentence("The policy accept-edits asks about this edit: %s", why)
			} else {
				v.Behavior, v.Reason = terret.BehaviorAllow, "The policy accept-edits allows edits in the folder."
			}
		}
	case terret.PolicyPlan:
		switch u.class {
		case terret.ClassRead, terret.ClassSearch, terret.ClassThink:
			v.Behavior, v.Reason = terret.BehaviorAllow, "The policy plan allows reading."
		case terret.ClassFetch, terret.ClassAgent, terret.ClassOther:
			v.Reason = "The policy plan asks about anything that may change something."
		default:
			v.Behavior, v.Reason = terret.BehaviorDeny, "The policy plan denies changes."
		}
	case terret.PolicyRules:
		v.Reason = "No rule decides it, so the policy rules asks."
	default:
		v.Reason = sentence("The policy %s asks a person", p)
	}
	return v
}

// howToAllow is the reason that deny-unless-allowed gives.
func (u *use) howToAllow() string {
	why := sentence("No rule allows %s, so the policy deny-unless-allowed denies it", u.Tool)
	if rules := suggest(u); len(rules) > 0 {
		return why + " To allow it, add the rule " + strings.Join(rules, " and ") + "."
	}
	return why + " To allow it, add a rule that names it, or choose the policy ask."
}

// looksInside reports whether all that the tool does is to read or search files in
// the folder. Which tools do is known by their names: an agent says the class.
func (u *use) looksInside() bool {
	switch tools[u.Tool].rule {
	case "Read", "Glob", "Grep":
	default:
		return false
	}
	for _, file := range u.files {
		readings, why := u.readings(file)
		if why != "" {
			return false
		}
		for _, f := range readings {
			for _, p := range f.resolved {
				if !u.inRoots(p) {
					return false
				}
			}
		}
	}
	return u.doubt == "" && len(u.files) > 0
}

// outside says why an edit does not count as inside the folder; it is empty if
// it does.
func (u *use) outside() string {
	if u.doubt != "" {
		return u.doubt
	}
	if len(u.files) == 0 {
		return "it does not say which file it changes"
	}
	for _, file := range u.files {
		readings, why := u.readings(file)
		if why != "" {
			return why
		}
		for _, f := range readings {
			for _, p := range f.resolved {
				if name := u.guardedPart(u.relative(p)); name != "" {
					return fmt.Sprintf("%s can make programs run code", name)
				}
				if !u.inRoots(p) {
					return fmt.Sprintf("%s is outside the folder", p)
				}
			}
		}
	}
	return ""
}

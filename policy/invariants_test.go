package policy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy/internal/shellread"
)

// someCommands are commands of all kinds: ordinary, hostile and generated.
func someCommands(seed uint64, n int) []string {
	var all []string
	for _, row := range ordinary {
		all = append(all, row.command)
	}
	for _, row := range hostile {
		all = append(all, row.command)
	}
	for _, row := range around {
		all = append(all, row.command)
	}
	all = append(all, everyday...)
	g := &generator{random: rand.New(rand.NewPCG(seed, seed))}
	for range n {
		all = append(all, g.script())
	}
	return all
}

// strictness orders verdicts: a deny is stricter than a question, which is
// stricter than leave.
func strictness(b terret.Behavior) int {
	return slices.Index([]terret.Behavior{terret.BehaviorAllow, terret.BehaviorAsk, terret.BehaviorDeny}, b)
}

// TestMoreRules makes sure that a further deny rule never makes a verdict milder,
// and that a further allow rule never makes one stricter.
func TestMoreRules(t *testing.T) {
	t.Parallel()
	allowed := allow("Bash(ls *)", "Bash(git *)", "Bash(find *)", "Edit(out/**)")
	further := allow("Bash(cat *)", "Bash(go *)", "Read(**)")
	denied := deny("Bash(rm *)", "Edit(.env)", "Read(secrets/**)", "Bash(git push *)")
	for _, command := range someCommands(1, 500) {
		s := bash(command)
		for _, p := range []terret.Policy{terret.PolicyAsk, terret.PolicyAutoApprove} {
			base := Judge(s, allowed, p)
			if more := Judge(s, slices.Concat(allowed, further), p); strictness(more.Behavior) > strictness(base.Behavior) {
				t.Errorf("%s: %s, and %s with more allow rules", command, base.Behavior, more.Behavior)
			}
			for i := range denied {
				if more := Judge(s, slices.Concat(allowed, denied[:i+1]), p); strictness(more.Behavior) < strictness(base.Behavior) {
					t.Errorf("%s: %s, and %s with %s denied", command, base.Behavior, more.Behavior, denied[i].Pattern)
				}
			}
		}
		if got := Judge(s, slices.Concat(allow("Bash"), deny("Bash")), terret.PolicyAutoApprove); got.Behavior != terret.BehaviorDeny && got.Behavior != asked {
			t.Errorf("%s: %s although the shell is denied", command, got.Behavior)
		}
	}
}

// TestSuggestions makes sure that what is suggested for a command allows it, and
// nothing hostile.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	var wide []string
	for _, command := range someCommands(2, 300) {
		rules := Suggest(bash(command))
		if len(rules) == 0 {
			continue
		}
		if got := Judge(bash(command), allow(rules...), terret.PolicyAsk); got.Behavior != terret.BehaviorAllow {
			t.Errorf("%s: suggested %q, which does not allow it: %s", command, rules, got.Reason)
		}
		for _, rule := range rules {
			if strings.Contains(rule, "*") && !slices.Contains(wide, rule) {
				wide = append(wide, rule)
			}
		}
	}
	if len(wide) < 20 {
		t.Errorf("%d rules with a star were suggested", len(wide))
	}
	for _, row := range around {
		if got := Judge(bash(row.command), allow(wide...), terret.PolicyAsk); got.Behavior == terret.BehaviorAllow {
			t.Errorf("%s is allowed by what was suggested for others: %s", row.command, got.Rule.Pattern)
		}
	}
	for _, row := range hostile {
		if got := Judge(bash(row.command), allow(wide...), terret.PolicyAsk); got.Behavior == terret.BehaviorAllow {
			t.Errorf("%s is allowed by what was suggested for others: %s", row.command, got.Rule.Pattern)
		}
	}
}

// TestReadersAgree makes sure that what the strict reader takes, the library reads
// in the same way: where it does not, one of them is wrong about the shell.
func TestReadersAgree(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, command := range someCommands(3, 30_000) {
		if scan(command) != "" {
			continue
		}
		strict, ok := shellread.Strict(command)
		if !ok {
			continue
		}
		taken++
		file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
		if err != nil {
			t.Errorf("%q: only the strict reader takes it: %v", command, err)
			continue
		}
		if !shellread.Agree(command, file) {
			full, _ := shellread.Library(file)
			t.Errorf("%q: the strict reader reads\n%s\nand the library\n%s", command, strict, full)
		}
	}
	if taken < 10_000 {
		t.Errorf("the strict reader took %d scripts", taken)
	}
}

// TestOddIsAsked makes sure that no rule with a star allows what is not in plain
// shell, whatever it is.
func TestOddIsAsked(t *testing.T) {
	t.Parallel()
	rules := allow(append(slices.Clone(generous), "Bash(wc *)", "Bash(head *)", "Bash(date)")...)
	odd := 0
	for _, command := range someCommands(4, 5000) {
		u := newUse(bash(command))
		if u.script.refused == "" && !u.script.odd {
			continue
		}
		odd++
		if got := Judge(bash(command), rules, terret.PolicyAsk); got.Behavior == terret.BehaviorAllow {
			t.Errorf("%q: allowed by %s", command, got.Rule.Pattern)
		}
		for _, rule := range []string{"Bash(foo *)", "Edit(x)", "Read(x)"} {
			if got := Judge(bash(command), deny(rule), terret.PolicyAutoApprove); got.Behavior == terret.BehaviorAllow {
				t.Errorf("%q: allowed although %s is denied, and it may do that", command, rule)
			}
		}
	}
	if odd < 500 {
		t.Errorf("%d scripts were odd", odd)
	}
}

// TestReasons makes sure that people are told why, in one sentence.
func TestReasons(t *testing.T) {
	t.Parallel()
	for _, command := range someCommands(5, 200) {
		for _, p := range terret.Policies() {
			v := Judge(bash(command), slices.Concat(allow("Bash(git *)"), deny("Bash(rm *)", "Edit(.env)")), p)
			if v.Reason == "" || !strings.HasSuffix(v.Reason, ".") || strings.Contains(v.Reason, anyText) {
				t.Errorf("%s under %s: %q", command, p, v.Reason)
			}
		}
	}
}

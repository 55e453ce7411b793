package policy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestTable makes sure that the files of the table can be read, and that the rows
// make sense.
func TestTable(t *testing.T) {
	t.Parallel()
	rows := table()
	if len(rows) < 200 {
		t.Fatalf("%d rows", len(rows))
	}
	for name, r := range rows {
		if strings.TrimSpace(name) != name || strings.Contains(name, ",") || strings.Contains(name, "  ") {
			t.Errorf("%q is no name", name)
		}
		for option, k := range r.options {
			if !strings.HasPrefix(option, "-") || strings.ContainsAny(option, "=<>[](),") {
				t.Errorf("%s: %q is no option", name, option)
			}
			if k == kindNames || k == kindCommand || k == kindSub || k == kindAssigns || k == kindSaved || k == kindTouches || k == kindPrefix {
				t.Errorf("%s: %s cannot be what an operand is", name, option)
			}
		}
		for i, o := range r.args {
			switch o.kind { //nolint:exhaustive // the others can be both
			case kindFlag, kindAttached, kindRest, kindSetting, kindFolder, kindUnlisted:
				t.Errorf("%s: operand %d cannot be what an option is", name, i)
			case kindSub:
				if len(r.args) > 1 || !hasCommands(rows, name) {
					t.Errorf("%s: it has no commands", name)
				}
			case kindCommand:
				if i != len(r.args)-1 {
					t.Errorf("%s: words follow the command", name)
				}
			}
		}
		for _, v := range r.when {
			for _, option := range append(slices.Clone(v.options), slices.Collect(maps.Keys(v.kinds))...) {
				negated := strings.Replace(option, "--no-", "--", 1)
				if r.options[option] == kindUnlisted && r.options[negated] == kindUnlisted && !r.pure {
					t.Errorf("%s: when %s, which is no option of it", name, option)
				}
			}
			for option, k := range v.kinds {
				if k.takesWord() != r.options[option].takesWord() {
					t.Errorf("%s: %s takes a value in some cases only", name, option)
				}
			}
		}
		for _, option := range append(slices.Clone(r.instead), r.with...) {
			if r.options[option] == kindUnlisted {
				t.Errorf("%s: %s is no option of it", name, option)
			}
		}
		program, _, isCommand := strings.Cut(name, " ")
		if isCommand && r.star && rows[program] != nil && rows[program].opaque != "" {
			t.Errorf("%s: it is to be suggested, and %s is opaque", name, program)
		}
	}
}

func hasCommands(rows map[string]*row, name string) bool {
	for other := range rows {
		if strings.HasPrefix(other, name+" ") {
			return true
		}
	}
	return false
}

// TestReadTable is about what the files of the table may not hold.
func TestReadTable(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"a\n\tfoo -x\n":                    `there is no "foo"`,
		"a\n\tuse @b\n":                    "no such group",
		"a\n\targs reads... writes...\n":   "two operands repeat",
		"a\n\targs foo\n":                  `no operand "foo"`,
		"a\n\tis foo\n":                    `no trait "foo"`,
		"a\n\twhen -x args reads\n":        "has no colon",
		"a\n\twhen -x: foo -y\n":           `there is no "foo"`,
		"a\n\twhen -x: args foo\n":         `no operand "foo"`,
		"a\n\talso foo .\n":                `there is no "foo"`,
		"a\n\twhen -x: also foo .\n":       `there is no "foo"`,
		"a\n\tflag -x\n\n# b\nb\n\tis c\n": `no trait "c"`,
	} {
		if err := readTable(map[string]*row{}, source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", source, err, want)
		}
	}
	rows := map[string]*row{}
	source := "# A comment.\n@g\n\tflag -g\n\targs text\n\na, a b\n\tuse @g\n\ttext -x -g\n\na\n\tis pure star\n"
	if err := readTable(rows, source); err != nil {
		t.Fatal(err)
	}
	a, b := rows["a"], rows["a b"]
	switch {
	case !a.pure || !a.star || b.pure:
		t.Error("a stanza does not add to the one before it")
	case a.options["-g"] != kindText || a.options["-x"] != kindText || len(b.args) != 1:
		t.Errorf("a group was not used: %+v", a)
	}
}

// TestSuggestedRows makes sure that a rule with a star that we suggest lets
// through nothing that is written where programs take orders from, or read as code
// from elsewhere.
func TestSuggestedRows(t *testing.T) {
	t.Parallel()
	suggested := 0
	for name, r := range table() {
		if !r.star {
			continue
		}
		plain := name
		if r.pure || name == "rg" {
			plain += " x f"
		}
		rules := Suggest(bash(plain))
		if len(rules) != 1 || !strings.HasSuffix(rules[0], "*)") {
			t.Errorf("%s: suggested %q", plain, rules)
			continue
		}
		suggested++
		for option, k := range r.options {
			var commands []string
			switch k { //nolint:exhaustive // the others do no harm
			case kindWrites, kindInto:
				commands = []string{option + " .git/hooks/x", option + " ~/.bashrc", option + " /usr/local/bin/x"}
				if len(option) > 2 {
					commands = append(commands, option+"=.git/hooks/x")
				}
			case kindInside, kindFolder:
				commands = []string{option + " /elsewhere", option + " ../x"}
			}
			for _, args := range commands {
				if got := Judge(bash(plain+" "+args), allow(rules...), terret.PolicyAsk); got.Behavior != asked {
					t.Errorf("%s was suggested, and allows %s %s", rules[0], plain, args)
				}
			}
		}
	}
	if suggested < 40 {
		t.Errorf("%d rows are suggested with a star", suggested)
	}
}

// TestUnknownOptions makes sure that a program is asked about when an option is not in
// the table, unless it is one that can do no harm.
func TestUnknownOptions(t *testing.T) {
	t.Parallel()
	for name, r := range table() {
		if r.pure || r.opaque != "" || strings.HasPrefix(name, "@") || r.args == nil || strings.Contains(name, "*") {
			continue
		}
		program, _, _ := strings.Cut(name, " ")
		rules := allow("Bash("+program+" *)", "Bash(x *)", "Bash(y *)")
		unknown := "--no-such-option"
		if r.single {
			unknown = "-no-such-option"
		}
		for _, args := range []string{unknown, unknown + "=x", unknown + " y", "\"$x\"", "$x", "-$x", "\"--$x\"", "$(x)"} {
			if got := Judge(bash(name+" "+args), rules, terret.PolicyAsk); got.Behavior != asked {
				t.Errorf("%s %s: %s", name, args, got.Behavior)
			}
		}
		for option, k := range r.options {
			if !k.takesWord() || program == "find" {
				continue
			}
			if got := Judge(bash(name+" "+option+" -- x"), rules, terret.PolicyAsk); got.Behavior != asked {
				t.Errorf("%s %s -- x: %s", name, option, got.Behavior)
			}
		}
	}
}

// TestAbbreviations makes sure that a long option that is cut short is asked about.
func TestAbbreviations(t *testing.T) {
	t.Parallel()
	for name, r := range table() {
		if r.opaque != "" || strings.HasPrefix(name, "@") || strings.Contains(name, "*") || r.args == nil || r.single {
			continue
		}
		program, _, _ := strings.Cut(name, " ")
		for option := range r.options {
			for n := 4; n < len(option) && strings.HasPrefix(option, "--"); n++ {
				if short := option[:n]; r.options[short] == kindUnlisted {
					if got := Judge(bash(name+" "+short+"=x y"), allow("Bash("+program+" *)", "Bash(y *)"), terret.PolicyAsk); got.Behavior != asked {
						t.Errorf("%s %s=x: %s", name, short, got.Behavior)
					}
				}
			}
		}
	}
}

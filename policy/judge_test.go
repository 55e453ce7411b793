package policy

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func TestNamedPolicies(t *testing.T) {
	t.Parallel()
	classes := []terret.ToolClass{
		terret.ClassExecute, terret.ClassRead, terret.ClassEdit, terret.ClassSearch, terret.ClassFetch,
		terret.ClassAgent, terret.ClassMCP, terret.ClassThink, terret.ClassOther,
	}
	names := []string{"Bash", "Read", "Edit", "Grep", "WebFetch", "Task", "mcp__a__b", "think", "odd"}
	want := map[terret.Policy]string{ // in the order of the classes: allow, deny, ?ask
		terret.PolicyAsk:               "?a?a?????",
		terret.PolicyRules:             "?????????",
		terret.PolicyAcceptEdits:       "??a??????",
		terret.PolicyDenyUnlessAllowed: "ddddddddd",
		terret.PolicyPlan:              "dada??da?",
		terret.PolicyAutoApprove:       "aaaaaaaaa",
		"unheard-of":                   "?????????",
	}
	letters := map[terret.Behavior]string{terret.BehaviorAllow: "a", terret.BehaviorDeny: "d", terret.BehaviorAsk: "?"}
	for p, line := range want {
		got := ""
		for i, class := range classes {
			v := Judge(Subject{
				Tool: names[i], Class: class, Cwd: "/repo", Readlink: noLinks,
				Input: object("command", "ls", "file_path", "a", "url", "https://go.dev"),
			}, nil, p)
			got += letters[v.Behavior]
			if v.Policy != p || v.Rule != nil || !strings.HasSuffix(v.Reason, ".") {
				t.Errorf("%s, %s: policy %q, rule %v, reason %q", p, class, v.Policy, v.Rule, v.Reason)
			}
		}
		if got != line {
			t.Errorf("%s: got %s, want %s", p, got, line)
		}
	}
}

// The policy ask lets an agent look at what is in the folder, with the tools that do
// nothing else, and asks about all the rest.
func TestAskLetsLookInside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool  string
		class terret.ToolClass
		input []byte
		want  terret.Behavior
	}{
		{"Read", terret.ClassRead, object("file_path", "/repo/a.go"), terret.BehaviorAllow},
		{"Read", terret.ClassRead, object("file_path", "a.go"), terret.BehaviorAllow},
		{"Read", terret.ClassRead, object("file_path", "/added/a.go"), terret.BehaviorAllow},
		{"Glob", terret.ClassSearch, object("pattern", "**/*.go"), terret.BehaviorAllow},
		{"Grep", terret.ClassSearch, object("pattern", "x", "path", "sub"), terret.BehaviorAllow},
		{"Read", terret.ClassRead, object("file_path", "/etc/passwd"), asked},
		{"Read", terret.ClassRead, object("file_path", "../x"), asked},
		{"Read", terret.ClassRead, object("file_path", "out/x"), asked}, // a link
		{"Read", terret.ClassRead, object("file_path", "a", "path", "/etc/passwd"), asked},
		{"Read", terret.ClassRead, object("what", "a"), asked},
		{"Read", terret.ClassRead, []byte(`[]`), asked},
		{"Glob", terret.ClassSearch, object("pattern", "/etc/*"), asked},
		{"find", terret.ClassSearch, object("pattern", "/etc/*"), asked},
		{"ls", terret.ClassSearch, object("path", "/etc"), asked},
		{"Glob", terret.ClassSearch, object("pattern", "../*"), asked},
		{"Glob", terret.ClassSearch, object("pattern", "*/../../*"), asked},
		{"Glob", terret.ClassSearch, object("pattern", "{x,../..}/*"), asked},
		{"Glob", terret.ClassSearch, object("pattern", "{/etc,x}/*"), asked},
		{"Grep", terret.ClassSearch, object("pattern", "x", "path", "/etc"), asked},
		{"LS", terret.ClassSearch, object("path", "."), asked},
		{"Bash", terret.ClassExecute, object("command", "cat a.go"), asked},
		{"peek", terret.ClassRead, object("file_path", "a.go"), asked},
		{"mcp__fs__Read", terret.ClassRead, object("file_path", "a.go"), asked},
	} {
		s := Subject{Tool: c.tool, Class: c.class, Input: c.input, Cwd: "/repo", Roots: []string{"/repo", "/added"}, Readlink: func(p string) (string, error) {
			if p == "/repo/out" {
				return "/elsewhere", nil
			}
			return noLinks(p)
		}}
		if got := Judge(s, nil, terret.PolicyAsk); got.Behavior != c.want {
			t.Errorf("%s %s: %s (%s), want %s", c.tool, c.input, got.Behavior, got.Reason, c.want)
		}
	}
}

func TestOrderOfDeciders(t *testing.T) {
	t.Parallel()
	both := append(allow("Bash(git *)"), deny("Bash(git push *)")...)
	tests := []struct {
		command string
		policy  terret.Policy
		want    terret.Behavior
		rule    string
	}{
		{"git status", terret.PolicyPlan, terret.BehaviorAllow, "Bash(git *)"},
		{"git push origin", terret.PolicyAutoApprove, denied, "Bash(git push *)"},
		{"git push", terret.PolicyAutoApprove, denied, "Bash(git push *)"},
		{"git -C . push", terret.PolicyAutoApprove, denied, "Bash(git push *)"},
		{"git --no-pager push -f", terret.PolicyAutoApprove, denied, "Bash(git push *)"},
		{"git $x", terret.PolicyAutoApprove, asked, "Bash(git push *)"},
		{"git $x", terret.PolicyPlan, denied, ""}, // what is asked about is still denied by the policy
		{"git $x", terret.PolicyDenyUnlessAllowed, denied, ""},
		{"ls $x", terret.PolicyAutoApprove, terret.BehaviorAllow, ""},
	}
	for _, test := range tests {
		got := Judge(bash(test.command), both, test.policy)
		rule := ""
		if got.Rule != nil {
			rule = got.Rule.Pattern
		}
		if got.Behavior != test.want || rule != test.rule {
			t.Errorf("%s under %s: %s by %q (%s), want %s by %q", test.command, test.policy, got.Behavior, rule, got.Reason, test.want, test.rule)
		}
	}
	if v := Judge(bash("git status"), nil, terret.PolicyDenyUnlessAllowed); !strings.Contains(v.Reason, "Bash(git status *)") {
		t.Errorf("the reason does not say how to allow it: %s", v.Reason)
	}
}

func TestToolsAndRules(t *testing.T) {
	t.Parallel()
	use := func(tool string, class terret.ToolClass, pairs ...any) Subject {
		return Subject{Tool: tool, Class: class, Input: object(pairs...), Cwd: "/repo", Readlink: noLinks}
	}
	fetch := func(url string) Subject { return use("WebFetch", terret.ClassFetch, "url", url) }
	tests := []struct {
		s     Subject
		rules []terret.Rule
		want  terret.Behavior
	}{
		{use("bash", "", "command", "git status"), allow("Bash(git *)"), terret.BehaviorAllow},
		{use("shell", "", "command", []string{"bash", "-lc", "git status"}), allow("Bash(git *)"), terret.BehaviorAllow},
		{use("shell", "", "command", []string{"git", "status"}), allow("Bash(git *)"), terret.BehaviorAllow},
		{use("shell", "", "command", []string{"git", "status; rm x"}), allow("Bash(git status)"), asked},
		{use("shell", "", "command", []string{"bash", "-lc", "rm x"}), deny("Bash(rm *)"), denied},
		{use("exec_command", "", "cmd", "rm x"), deny("Bash(rm *)"), denied},
		{use("Bash", "", "command", "ls", "cmd", "rm x"), append(allow("Bash(ls *)"), deny("Bash(rm *)")...), denied},
		{use("Bash", "", "Command", "ls"), allow("Bash(ls *)"), asked},
		{use("Bash", "", "command", "rm x", "cmd", "ls"), allow("Bash(ls)"), asked},
		{use("exec_command", "", "cmd", "./run.sh", "workdir", "sub"), allow("Bash(./run.sh)"), asked},
		{use("Bash", "", "command", 7), append(allow("Bash(ls *)"), deny("Bash(rm *)")...), asked},
		{use("some_shell", terret.ClassExecute, "command", "rm x"), deny("Bash(rm *)"), denied},
		{use("some_shell", terret.ClassExecute), deny("Bash(rm *)"), asked},
		{use("some_shell", terret.ClassExecute, "command", "git", "args", []string{"push"}), allow("Bash(git)"), asked},
		{use("PowerShell", terret.ClassExecute, "command", "git status"), allow("Bash(git *)"), asked},
		{use("Bash", "", "command", "./run.sh"), allow("Bash(./run.sh)"), terret.BehaviorAllow},
		{use("Bash", "", "command", "cd sub && ./run.sh"), allow("Bash(./run.sh)"), asked},
		{use("exec_command", "", "cmd", "./run.sh", "workdir", "sub"), allow("Bash(./run.sh *)"), asked},
		{use("Bash", terret.ClassRead, "command", "rm x"), deny("Bash(rm *)"), denied},
		{use("Task", "", "subagent_type", "explore"), allow("Agent(explore)"), terret.BehaviorAllow},
		{use("Agent", "", "subagent_type", "explore"), allow("Task"), terret.BehaviorAllow},
		{use("Agent", "", "subagent_type", "other"), allow("Agent(explore)"), asked},
		{use("mcp__gh__get", terret.ClassMCP), allow("mcp__gh"), terret.BehaviorAllow},
		{use("mcp__gh__get", terret.ClassMCP), allow("mcp__gh__*"), terret.BehaviorAllow},
		{use("mcp__gh__get", terret.ClassMCP), allow("mcp__gh__get"), terret.BehaviorAllow},
		{use("mcp__gh__get_all", terret.ClassMCP), allow("mcp__gh__get"), asked},
		{use("mcp__ghost__get", terret.ClassMCP), allow("mcp__gh"), asked},
		{use("mcp__gh__b__get", terret.ClassMCP), allow("mcp__gh"), asked}, // of a server gh__b, perhaps
		{use("mcp__gh__b__get", terret.ClassMCP), allow("mcp__gh__*"), asked},
		{use("mcp__gh__b__get", terret.ClassMCP), allow("mcp__gh__b__*"), terret.BehaviorAllow},
		{use("mcp__gh__b__get", terret.ClassMCP), deny("mcp__gh"), terret.BehaviorDeny},
		{use("mcp__gh__get", terret.ClassEdit), allow("Edit"), asked},
		{use("mcp__gh__get", terret.ClassMCP), deny("mcp__gh__*"), denied},
		{fetch("https://go.dev/x"), allow("WebFetch(domain:go.dev)"), terret.BehaviorAllow},
		{fetch("https://GO.dev./x"), allow("WebFetch(domain:go.dev)"), terret.BehaviorAllow},
		{fetch("https://pkg.go.dev/x"), allow("WebFetch(domain:*.go.dev)"), terret.BehaviorAllow},
		{fetch("https://go.dev/x"), allow("WebFetch(domain:*.go.dev)"), asked},
		{fetch("https://evil.example/go.dev"), allow("WebFetch(domain:go.dev)"), asked},
		{fetch("https://go.dev.evil.example"), allow("WebFetch(domain:go.dev)"), asked},
		{fetch("https://notgo.dev"), allow("WebFetch(domain:*.go.dev)"), asked},
		{fetch("https://go.dev@evil.example/"), allow("WebFetch(domain:go.dev)"), asked},
		{fetch(`https://evil.example\@go.dev/`), allow("WebFetch(domain:go.dev)"), asked},
		{fetch(`https://go.dev\.evil.example/`), allow("WebFetch(domain:go.dev)"), asked},
		{fetch("file://go.dev/etc/passwd"), allow("WebFetch(domain:go.dev)"), asked},
		{fetch("https://go.dev/"), deny("WebFetch(domain:go.dev)"), denied},
		{fetch("https://a@go.dev:8/"), deny("WebFetch(domain:go.dev)"), denied},
		{use("Read", "", "file_path", "x"), allow("read"), asked},
		// Rules that restrict know a tool by all its names, and in any case.
		{use("Bash", "", "command", "ls"), deny("bash"), denied},
		{use("Bash", "", "command", "ls"), deny("BASH"), denied},
		{use("Bash", "", "command", "ls"), deny("run_shell_command"), denied},
		{use("some_shell", terret.ClassExecute, "command", "ls"), deny("bash"), denied},
		{use("TodoWrite", "", "todos", ""), deny("todowrite"), denied},
		{use("Grep", "", "pattern", "x"), deny("read"), denied},
		{use("write_file", "", "path", "x"), deny("replace"), asked},
		{use("Read", "", "file_path", "x"), deny("NotebookRead"), asked},
		{use("edit", "", "path", "x"), deny("apply_patch"), asked},
		{use("NotebookRead", "", "notebook_path", "x"), deny("read"), denied},
		{use("Bash", "", "command", "ls"), append(allow("Bash"), terret.Rule{Effect: terret.EffectAsk, Pattern: "bash"}), asked},
		{use("Bash", "", "command", "ls"), allow("bash"), asked},
		{use("Grep", "", "pattern", "x"), allow("Read"), asked},
		{use("Grep", "", "pattern", "x"), allow("Grep"), terret.BehaviorAllow},
	}
	for _, test := range tests {
		if got := Judge(test.s, test.rules, terret.PolicyRules); got.Behavior != test.want {
			t.Errorf("%s %s with %s: %s (%s), want %s", test.s.Tool, test.s.Input, test.rules[0].Pattern, got.Behavior, got.Reason, test.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"Bash", "Bash(*)", "Bash(git *)", "Bash(npm run test:*)", "Read(src/**)", "Edit(//etc/*)", "Edit(~/x)", "WebFetch(domain:*.go.dev)", "mcp__a__b", "mcp__a", "Task", "TodoWrite", `Bash(git commit -m "a *")`} {
		if p, err := Parse(good); err != nil || p.String() != good {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "Bash(", "Bash()", "(x)", "Ba sh", "bash(git *)", "Read(a/*/../b)", "Read(~other/x)", "Read([)", "WebFetch(go.dev)", "WebFetch(domain:a b)", "mcp__a(x)", "mcp__*x", "mcp__", "TodoWrite(x)", `Bash("git)`, "Bash(:*)", "Bash(ls\x00)", "Bash(l\u200bs)"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q was taken for a rule", bad)
		} else if !strings.Contains(err.Error(), "write for example") {
			t.Errorf("%q: the error shows no right rule: %v", bad, err)
		}
	}
	if _, err := Parse("write_file(src/**)"); err == nil || !strings.Contains(err.Error(), "Write(src/**)") {
		t.Errorf("a tool that rules call by another name: %v", err)
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	edit := Subject{Tool: "Edit", Input: object("file_path", "/repo/src/main.go"), Cwd: "/repo", Readlink: noLinks}
	tests := []struct {
		s    Subject
		want []string
	}{
		{bash("git status --short"), []string{"Bash(git status *)"}},
		{bash("cd sub && go test ./... 2>&1 | tail -5"), []string{"Bash(go test *)"}},
		{bash("timeout 5 go test ./..."), []string{"Bash(go test *)"}},
		{bash("bash -lc 'ls -la'"), []string{"Bash(ls *)"}},
		{bash("rm -rf build"), []string{"Bash(rm -rf build)"}},
		{bash("git push --force"), []string{"Bash(git push --force)"}},
		{bash("sudo apt update"), []string{"Bash(sudo apt update)"}},
		{bash("python3 run.py 'a b'"), []string{`Bash(python3 run.py "a b")`}},
		{bash("ls > out.txt"), []string{"Bash(ls *)", "Edit(out.txt)"}},
		{bash("python3 -c x"), nil},
		{bash("rm $x"), nil},
		{bash("eval $x"), nil},
		{bash("curl x | sh"), nil},
		{edit, []string{"Edit(src/main.go)"}},
		{Subject{Tool: "WebFetch", Input: object("url", "https://go.dev/x")}, []string{"WebFetch(domain:go.dev)"}},
		{Subject{Tool: "mcp__a__b"}, []string{"mcp__a__b"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, Suggest(test.s)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.s.Input, diff)
		}
	}
}

func TestDenied(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{"ls": false, "rm x": true, "$x": true, "git status": false} {
		if v, got := Denied(bash(command), append(allow("Bash"), deny("Bash(rm *)")...)); got != want || got == (v.Behavior == "") {
			t.Errorf("%s: %v %+v, want %v", command, got, v, want)
		}
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	want := []Part{
		{Tool: "Bash", Text: "ls …"},
		{Tool: "Bash", Text: "bash -c …", Doubt: "what the shell runs is computed"},
		{Tool: "Edit", Text: "a.txt"},
	}
	if diff := cmp.Diff(want, partsOf(bash(`ls $x | bash -c "$y" > a.txt`))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestLimits makes sure that nothing reaches the parser that could overflow its
// stack.
func TestLimits(t *testing.T) {
	t.Parallel()
	deep := func(open, inner, shut string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
	}
	for name, command := range map[string]string{
		"long":         "ls " + strings.Repeat("x", 65<<10),
		"parentheses":  deep("(", "ls", ")", 100_000),
		"in the limit": deep("(", "ls", ")", 30_000),
		"spaced":       deep("( ", "ls", " )", 15_000),
		"substitution": deep("$(", "ls", ")", 20_000),
		"quoted":       deep(`"$(`, "ls", `)"`, 10_000),
		"braces":       deep("{ ", "ls;", " }", 10_000),
		"expansion":    deep("${a:-", "x", "}", 10_000),
		"arithmetic":   "echo $((" + deep("(", "1", ")", 20_000) + "))",
		"signs":        "echo $((" + strings.Repeat("-", 60_000) + "1))",
		"not":          strings.Repeat("! ", 30_000) + "ls",
		"if":           deep("if ", "ls", "; then :; fi", 3_000),
		"while":        deep("while ", "ls", "; do :; done", 3_000),
		"case":         deep("case x in x) ", "ls", ";; esac", 3_000),
		"time":         strings.Repeat("time ", 12_000) + "ls",
		"backquotes":   "echo " + strings.Repeat("`", 30_000),
		"shells":       strings.Repeat("bash -c ", 6_000) + "ls",
		"wrappers":     strings.Repeat("sudo ", 12_000) + "rm",
		"here":         strings.Repeat("cat <<a;", 8_000),
		"finds":        strings.Repeat("find . -exec ", 600) + "rm",
		"indexes":      "echo " + deep("${a[", "1", "]}", 8_000),
	} {
		if got := Judge(bash(command), append(allow("Bash(ls *)"), deny("Bash(rm *)")...), terret.PolicyAutoApprove); got.Behavior == terret.BehaviorAllow {
			t.Errorf("%s: allowed", name)
		}
	}
	many := strings.Repeat("ls;", 20_000)
	if got := Judge(bash(many), allow("Bash(ls *)"), terret.PolicyAsk); got.Behavior == terret.BehaviorAllow {
		t.Error("20,000 commands: allowed")
	}
}

// disguises are ways to run a command, each with %s for it.
var disguises = []string{
	"%s", "ls; %s", "ls && %s", "ls | %s", "(%s)", "{ %s; }", "! %s", "time %s", "if true; then %s; fi", "while %s; do :; done",
	"echo $(%s)", "echo \"$(%s)\"", "echo ${x:-$(%s)}", "cat <(%s)", "x=$(%s)", "cat <<E\n$(%s)\nE\n", "f() { %s; }; f", "case $(%s) in x) ;; esac",
	"sudo %s", "env %s", "env A=b %s", "timeout 5 %s", "nohup %s", "nice -n 3 %s", "command %s", "exec %s", "xargs %s", "ls | xargs -n1 %s",
	"find . -exec %s {} \\;", "A=b %s", "CI=1 %s", "%s > out", "%s 2>&1", "%s &", "true\n%s", "[[ -n $(%s) ]]", "for i in a; do %s; done",
	"stdbuf -o0 %s", "setsid %s", "busybox %s", "echo $((1+$(%s)))", "a=(1 $(%s))", "export X=$(%s)", "ls > $(%s)",
}

// quotings are ways to hand a whole command to a shell.
var quotings = []string{"sh -c %s", "bash -lc %s", "eval %s", "bash -c %s x y", "trap %s EXIT", "sudo bash -c %s", "env sh -c %s", "ls | xargs -0 sh -c %s"}

// spellings are ways to write rm.
var spellings = []string{"rm", `\rm`, `r\m`, `'rm'`, `"rm"`, `r''m`, "/bin/rm", "/usr/bin/rm", `$'\x72m'`, "r\\\nm", "RM"}

// disguise wraps rm in layers that the numbers choose.
func disguise(choices []byte) string {
	command := spellings[0] + " -rf x"
	for i, c := range choices {
		switch n := int(c); {
		case i == 0:
			command = spellings[n%len(spellings)] + " -rf x"
		case n%5 == 0:
			quoted := "'" + strings.ReplaceAll(command, "'", `'\''`) + "'"
			command = fmt.Sprintf(quotings[n/5%len(quotings)], quoted)
		default:
			command = fmt.Sprintf(disguises[n%len(disguises)], command)
		}
	}
	return command
}

func TestDisguisedCommands(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	both := append(allow(generous...), deny("Bash(rm *)")...)
	for range 3000 {
		choices := make([]byte, 1+random.IntN(5))
		for i := range choices {
			choices[i] = byte(random.IntN(256))
		}
		command := disguise(choices)
		for _, p := range []terret.Policy{terret.PolicyAsk, terret.PolicyAutoApprove} {
			if got := Judge(bash(command), both, p); got.Behavior == terret.BehaviorAllow {
				t.Fatalf("%v: allowed under %s: %s", choices, p, command)
			}
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, row := range hostile {
		f.Add(row.command, []byte{1, 2, 3})
	}
	for _, row := range ordinary {
		f.Add(row.command, []byte{7, 10, 40})
	}
	both := append(allow(generous...), deny("Bash(rm *)")...)
	f.Fuzz(func(t *testing.T, command string, choices []byte) {
		Judge(bash(command), both, terret.PolicyAsk)
		Suggest(bash(command))
		partsOf(bash(command))
		if _, err := Parse(command); err == nil {
			Judge(bash("git status"), allow(command), terret.PolicyAsk)
		}
		Judge(Subject{Tool: "Edit", Input: []byte(command), Cwd: "/repo", Readlink: noLinks}, allow("Edit(src/**)"), terret.PolicyAcceptEdits)
		if len(choices) > 6 {
			choices = choices[:6]
		}
		// Whatever comes before it, a rm on a line of its own is one.
		hidden := disguise(choices)
		if got := Judge(bash(hidden), both, terret.PolicyAutoApprove); got.Behavior == terret.BehaviorAllow {
			t.Errorf("allowed: %s", hidden)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	s := bash("cd sub && go test ./... 2>&1 | tail -5")
	both := append(allow("Bash(git *)", "Bash(go test *)", "Bash(tail *)", "Edit(src/**)"), deny("Bash(rm *)", "Read(.env)")...)
	if got := Judge(s, both, terret.PolicyAsk); got.Behavior != terret.BehaviorAllow {
		b.Fatal(got.Reason)
	}
	b.ReportAllocs()
	for b.Loop() {
		Judge(s, both, terret.PolicyAsk)
	}
}

// BenchmarkEveryday judges ordinary commands of all kinds, with a hundred rules.
func BenchmarkEveryday(b *testing.B) {
	subjects := make([]Subject, len(everyday))
	for i, command := range everyday {
		subjects[i] = bash(command)
	}
	rules := append(append([]terret.Rule{}, usual[:96]...), deny("Bash(sudo *)", "Read(.env)", "Edit(~/.ssh/**)", "Bash(git push --force *)")...)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Judge(subjects[i%len(subjects)], rules, terret.PolicyAsk)
	}
}

func BenchmarkJudgeEdit(b *testing.B) {
	s := Subject{Tool: "Edit", Input: object("file_path", "src/main.go"), Cwd: b.TempDir()}
	both := append(allow("Edit(src/**)"), deny("Edit(.env)")...)
	b.ReportAllocs()
	for b.Loop() {
		Judge(s, both, terret.PolicyAsk)
	}
}

package policy

import (
	"fmt"
	"strings"
	"testing"
)

// describe is what was read of a call, for comparisons: options with their
// values, a bar, operands.
func (p parsed) describe() string {
	var parts []string
	for _, g := range p.options {
		s := g.name
		if g.has {
			s += "=" + g.value.text
		}
		parts = append(parts, s)
	}
	parts = append(parts, "|")
	for _, w := range p.operands {
		parts = append(parts, w.text)
	}
	if p.doubt != "" {
		parts = append(parts, "?")
	}
	return strings.ReplaceAll(strings.Join(parts, " "), anyText, "…")
}

// wordsOf splits a call at spaces. A word that ends in $x is computed outside
// quotes, one that ends in $ inside.
func wordsOf(call string) []word {
	var words []word
	for text := range strings.FieldsSeq(call) {
		before, after, computed := strings.Cut(text, "$")
		if computed {
			words = append(words, word{text: before + anyText, splits: after != ""})
		} else {
			words = append(words, word{text: text})
		}
	}
	return words
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ row, call, want string }{
		{"sort", "sort", "|"},
		{"sort", "sort f", "| f"},
		{"sort", "sort -n -r f", "-n -r | f"},
		{"sort", "sort -nr f", "-n -r | f"},
		{"sort", "sort f -n", "-n | f"},
		{"sort", "sort -k 2 f", "-k=2 | f"},
		{"sort", "sort -k2 f", "-k=2 | f"},
		{"sort", "sort -nk2,2 f", "-n -k=2,2 | f"},
		{"sort", "sort -nko f", "-n -k=o | f"},
		{"sort", "sort --key=2 f", "--key=2 | f"},
		{"sort", "sort --key 2 f", "--key=2 | f"},
		{"git push", "git --force-with-lease o", "--force-with-lease | o"},
		{"git push", "git --force-with-lease=m o", "--force-with-lease=m | o"},
		{"sort", "sort -- -n f", "| -n f"},
		{"sort", "sort - f", "| - f"},
		{"sort", "sort --reverse=x f", "--reverse=x | f"},
		{"sort", "sort -k -- f", "-k=-- | ?"},
		{"sort", "sort -k", "-k |"},
		{"sort", "sort --rever f", "| ?"},
		{"sort", "sort -Q f", "| ?"},
		{"sort", "sort -nQ f", "-n | ?"},
		{"sort", "sort $x", "| ?"},
		{"sort", "sort -k $x f", "-k=… | ?"},
		{"sort", "sort -k $ f", "-k=… | f"},
		{"sort", "sort src/$ f", "| src/… f"},
		{"sort", "sort -- $x", "| …"},
		{"git log", "git -5", "-NUM |"},
		{"git log", "git --no-decorate --no-color -p", "--no-decorate --no-color -p |"},
		{"git log", "git --no-such", "| ?"},
		{"git log", "git --pretty=oneline -n 3 main -- f", "--pretty=oneline -n=3 | main f"},
		{"git log", "git --pretty oneline", "--pretty | oneline"},
		{"git diff", "git -M90% -U3", "-M=90% -U=3 |"},
		{"git diff", "git -wM", "-w -M |"},
		{"git commit", "git -am message f", "-a -m=message | f"},
		{"git commit", "git -amn", "-a -m=n |"},
		{"git status", "git -uno -s x", "-u=no -s | x"},
		{"git commit", "git -Skey", "| ?"},
		{"git grep", "git -e a -e -- -Ox", "-e=a -e=-- | ?"},
		{"tar", "tar cf a b", "-c -f=a | b"},
		{"tar", "tar -cf a b", "-c -f=a | b"},
		{"tar", "tar cfC a d c", "-c -f=a -C=d | c"},
		{"tar", "tar -cfa b", "-c -f=a | b"},
		{"tar", "tar cQ a", "-c | ?"},
		{"tar", "tar xzf a -C d", "-x -z -f=a -C=d |"},
		{"tar", "tar --create -f a b", "--create -f=a | b"},
		{"env", "env -i A=b x -y", "-i | A=b x -y"},
		{"env", "env -u A -- x -i", "-u=A | x -i"},
		{"timeout", "timeout -k 5 10 x -k", "-k=5 | 10 x -k"},
		{"xargs", "xargs -n1 -P 4 x -n", "-n=1 -P=4 | x -n"},
		{"xargs", "xargs -l x", "| ?"},
		{"xargs", "xargs -0I{} x {}", "-0 -I={} | x {}"},
		{"nice", "nice -5 x", "-NUM | x"},
		{"go test", "go -run TestX ./a -v", "-run=TestX -v | ./a"},
		{"go test", "go --run=TestX", "-run=TestX |"},
		{"go test", "go -v=true", "-v=true |"},
		{"go test", "go -exec=x ./a", "| ?"},
		{"go test", "go ./a -args -exec x", "-args | ./a -exec x"},
		{"go build", "go -no-such", "| ?"},
		{"npm", "npm -s run x", "-s | run x"},
		{"npm", "npm -ws run x", "-ws | run x"},
		{"npm", "npm -sD run x", "-s -D | run x"},
		{"npm", "npm --foo run x", "| ?"},
		{"npm run", "npm x --coverage", "--coverage | x"},
		{"npm run", "npm x --script-sh=y", "| x ?"},
		{"npm run", "npm x -- --script-shell=y", "| x --script-shell=y"},
		{"wget", "wget -nv -qO f u", "-nv -q -O=f | u"},
		{"curl", "curl -sSLo f u", "-s -S -L -o=f | u"},
		{"curl", "curl -sof u", "-s -o=f | u"},
		{"cat", "cat -A --foo=x $x f", "-A --foo=x | … f"},
		{"cat", "cat -tx1 f", "-t=x1 -x=1 -1 | f"},
		{"grep", "grep --recur x", "| ?"},
		{"rg", "rg --pre=x y", "| ?"},
		{"rg", "rg --pr=x y", "| ?"},
		{"gcc", "gcc -ofile -Wall -DX=1 a.c", "-o=file -Wall -D=X=1 | a.c"},
		{"gcc", "gcc -B./evil/ a.c", "| ?"},
	} {
		r := table()[test.row]
		if r == nil {
			t.Fatalf("there is no row %s", test.row)
		}
		if got := r.parse(wordsOf(test.call), 1, true).describe(); strings.TrimSpace(got) != test.want {
			t.Errorf("%s: %s: got %s, want %s", test.row, test.call, got, test.want)
		}
	}
}

// TestOrderOfArguments is about systems whose programs end their options at the
// first operand.
func TestOrderOfArguments(t *testing.T) {
	t.Parallel()
	for call, doubt := range map[string]bool{
		"cp -r a b": false, "cp a b -r": true, "cp config x -t .git": true, "cp -- a -r": false,
		"sort -o x f": false, "sort f -o x": true, "sed -i p f": false, "sed p f -i": true,
	} {
		name, _, _ := strings.Cut(call, " ")
		if p := table()[name].parse(wordsOf(call), 1, false); (p.doubt != "") != doubt {
			t.Errorf("%s: %s", call, p.describe())
		}
		if p := table()[name].parse(wordsOf(call), 1, true); p.doubt != "" {
			t.Errorf("%s, with GNU's programs: %s", call, p.describe())
		}
	}
	if p := table()["git log"].parse(wordsOf("git main -p"), 1, false); p.doubt != "" {
		t.Errorf("git is the same everywhere: %s", p.doubt)
	}
}

// TestKindsOfOperands is about which operand is what.
func TestKindsOfOperands(t *testing.T) {
	t.Parallel()
	letters := map[kind]string{kindReads: "r", kindWrites: "w", kindText: "t", kindTouches: "x", kindInto: "i"}
	for _, test := range []struct{ args, operands, want string }{
		{"reads...", "", ""},
		{"reads...", "a b", "r r"},
		{"reads writes", "a", "r"},
		{"reads writes", "a b", "r w"},
		{"reads writes", "a b c", "r w w"},
		{"reads... into", "a", "i"},
		{"reads... into", "a b c", "r r i"},
		{"text reads...", "a", "t"},
		{"text reads...", "a b c", "t r r"},
		{"writes text...", "a b", "w t"},
		{"", "a", "t"},
		{"reads... into", "a* b", "r i"},
		{"reads... into", "a b*", "ri ri"},
		{"text reads...", "a* b", "tr tr"},
		{"text reads...", "a b* c", "t r r"},
		{"reads...", "a* b*", "r r"},
		{"reads writes", "a* b", "rw rw"},
	} {
		args, err := readOperands(strings.Fields(test.args))
		if err != nil {
			t.Fatal(err)
		}
		var operands []word
		for text := range strings.FieldsSeq(test.operands) {
			operands = append(operands, word{text: strings.ReplaceAll(text, "*", anyText), splits: strings.Contains(text, "*"), glob: true})
		}
		var got []string
		for _, every := range kindsOf(args, operands) {
			s := ""
			for _, k := range every {
				s += letters[k]
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("%s of %q: %q, want %q", test.args, test.operands, s, test.want)
		}
	}
}

// TestUsedFiles lists the files that calls are seen to use.
func TestUsedFiles(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"cat a b":                      "r:a r:b",
		"cp a b":                       "s:a i:b",
		"cp -t d a b":                  "i:d s:a s:b",
		"mv a b":                       "s:a x:a i:b",
		"tee a":                        "w:a",
		"sort -o a b":                  "w:a r:b",
		"tar cf a b":                   "w:a s:b",
		"tar tf a":                     "r:a",
		"tar xf a":                     "r:a x:.",
		"tar xOf a":                    "r:a",
		"sed p a":                      "r:a",
		"sed -i p a":                   "w:a",
		"sed -e p a":                   "r:a",
		"sed -i.b p a":                 "w:a w:a.b",
		"grep x a":                     "r:a",
		"grep -r x":                    "s:.",
		"grep -e x a":                  "r:a",
		"grep -f a b":                  "r:a r:b",
		"find a -name b":               "s:a",
		"find -newer a":                "r:a s:.",
		"find a -fprint b":             "?:a ?:-fprint ?:print ?:b",
		"rm a":                         "x:a",
		"dd if=a":                      "?:if=a ?:if ?:a",
		"curl -o a https://x.example":  "w:a",
		"curl -d @a https://x.example": "?:@a ?:a",
		"curl -d a https://x.example":  "?:a",
		"git add a":                    "?:a r:a",
		"git show HEAD:a":              "r:a ?:HEAD:a ?:HEAD ?:a r:HEAD:a",
		"git checkout -- a":            "?:a x:a",
		"git diff --output=a b":        "w:a ?:b r:b",
		"go build -o a ./b":            "i:a ?:./b",
		"go mod tidy":                  "",
		"go get x":                     "?:x x:go.mod x:go.sum",
		"split a b":                    "r:a w:b… w:x…",
		"echo a b":                     "",
		"ls a":                         "?:a",
		"foo a -b=c":                   "?:a ?:-b=c ?:=c ?:-b ?:c",
		"xargs -a a cat":               "r:a r:…",
		"timeout 5 cat a":              "r:a",
		"gzip a":                       "x:a",
		"gzip -c a":                    "s:a",
		"uniq a b":                     "r:a w:b",
		"patch a b":                    "w:a r:b x:.",
		"make -C d x":                  "?:x",
		"docker build -f a b":          "r:a s:b",
		"sort -S 1 a":                  "r:a",
		"source a":                     "r:a ?:a",
	} {
		u := newUse(bash(command))
		var got []string
		for _, f := range u.script.operands {
			mark := "r"
			switch {
			case f.doubtful:
				mark = "?"
			case f.write && f.search && f.by != "rm" && strings.Contains("cp mv go build", f.by) && f.path.text != "a" || f.write && f.search && f.by == "go build" || f.write && f.search && f.path.text == "d":
				mark = "i"
			case f.write && f.search:
				mark = "x"
			case f.write:
				mark = "w"
			case f.search:
				mark = "s"
			}
			got = append(got, mark+":"+strings.ReplaceAll(f.path.text, anyText, "…"))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", command, s, want)
		}
	}
}

// TestNeeds is about files that a rule with a star does not cover.
func TestNeeds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		command string
		rules   string
		want    bool
	}{
		{"cp a b", "Bash(cp *)", true},
		{"cp a /tmp/b", "Bash(cp *)", true},
		{"cp a /repo/sub/b", "Bash(cp *)", true},
		{"cp a ../b", "Bash(cp *)", false},
		{"cp a ../b", "Bash(cp *)|Edit(../b)", true},
		{"cp a ../b", "Bash(cp *)|Edit(../**)", true},
		{"cp a ../b", "Bash(cp *)|Edit(../c)", false},
		{"cp a ../b", "Bash(cp a ../b)", true},
		{"cp a ../b", "Bash(cp a *)", false},
		{"cp a ~/.bashrc", "Bash(cp *)|Edit(~/**)", false},
		{"cp a ~/.bashrc", "Bash(cp *)|Edit(~/.bashrc)", true},
		{"cp a .git/hooks/x", "Bash(cp *)|Edit(**)", false},
		{"cp a .git/hooks/x", "Bash(cp *)|Edit(.git/hooks/x)", true},
		{"ls; cp a .git/x", "Bash(ls)|Bash(cp a .git/x)", true},
		{"cp a \"$x\"", "Bash(cp *)|Edit(**)", false},
		{"git log --output=x", "Bash(git log *)", false},
		{"git log --output=x", "Bash(git log *)|Edit(x)", true},
		{"git log --output=x", "Bash(git log --output=x)", true},
		{"sudo cp a .git/x", "Bash(sudo cp *)", false},
		{"sudo cp a .git/x", "Bash(sudo cp a .git/x)", true},
		{"nice cp a .git/x", "Bash(cp *)", false},
		{"tee a b", "Bash(tee *)", true},
		{"tee /dev/null", "Bash(tee *)", true},
		{"curl -o - https://x.example", "Bash(curl *)", true},
		{"git clone https://x.example/y ../y", "Bash(git clone *)", false},
		{"git clone https://x.example/y ../y", "Bash(git clone *)|Edit(../y)", true},
		{"git clone https://x.example/y y", "Bash(git clone *)", true},
		{"git clone https://x.example/y .git/hooks", "Bash(git clone *)", false},
	} {
		got := Judge(bash(test.command), allow(strings.Split(test.rules, "|")...), "ask")
		if (got.Behavior == "allow") != test.want {
			t.Errorf("%s with %s: %s (%s)", test.command, test.rules, got.Behavior, got.Reason)
		}
	}
}

func ExampleExplain() {
	s := bash("git status && npm test > out.txt")
	v, reasons := Explain(s, allow("Bash(git status *)"), "rules")
	fmt.Println(v.Behavior)
	for _, why := range reasons {
		fmt.Println("-", why)
	}
	// Output:
	// ask
	// - No rule decides it, so the policy rules asks.
	// - git status: rule Bash(git status *) allows it.
	// - npm test: no rule allows it.
	// - writing out.txt: no rule for Edit allows it.
}

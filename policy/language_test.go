package policy

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

func TestSedScripts(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"", "p", "1p", "1,5p", "$d", "/a/d", "/a/,/b/p", `/a\/b/d`, "s/a/b/", "s/a/b/g", "s/a/b/gI", "s/a/b/2p", "s|a|b|", "s#a/b#c#", `s/\(a\)/\1/`, "s/[ab]/c/", "y/ab/cd/", "1!d", "2~3p", "{p;d}", "n;d", "h;G", "=", "q",
		"s/a/b/;s/c/d/", "/^$/d", `\,a,d`, "1,+3p", "$!N", "x;p;x", "s/w/e/", "/we/p", "s/a/w e/",
	} {
		if !sedSafe(word{text: script}) {
			t.Errorf("%q is not accepted", script)
		}
	}
	for _, script := range []string{
		"e", "1e", "e pwn", "1e pwn", "w f", "1w f", "W f", "s/a/b/e", "s/a/b/w f", "s/a/b/ge", "s/a/b/gw f", "r f", "R f", "/a/r f", "a text", "i text", "c text", ":a", "ba", "t", "F", "l", "z", "v", "s/a", "s/a/b", "y/a/b", "/a", "1{e\n}",
		"s/[/]/b/", `s/[\/]/b/`, "s\na\nb\n", `s\a\b\`, "s/a/b/m;e", "p;w f", "p\ne pwn", "}e", "1,2e", "!e", "s/a\nb/c/", "\\", "s/x/y/M", "0~4e", anyText, "p" + anyText,
	} {
		if sedSafe(word{text: script}) {
			t.Errorf("%q is accepted", script)
		}
	}
}

func TestAwkPrograms(t *testing.T) {
	t.Parallel()
	for _, program := range []string{"{print}", "{print $1}", "/a/", "NR==1", "NR>=10", "$1 == \"a\" || $2", "{n++} END {print n}", "BEGIN{FS=\":\"}", "length($0)<5", "{gsub(/a/,\"b\"); print}"} {
		if !awkSafe(word{text: program}) {
			t.Errorf("%q is not accepted", program)
		}
	}
	for _, program := range []string{
		"{system(\"x\")}", "{print > \"f\"}", "{print >> \"f\"}", "{print | \"x\"}", "{\"x\" | getline}", "{getline < \"f\"}", "{print |& \"x\"}", "@load \"x\"", "@include \"x\"", "{close(\"x\")}", "{fflush()}", "{print >=1 > \"f\"}", anyText, "{extension(\"x\")}",
	} {
		if awkSafe(word{text: program}) {
			t.Errorf("%q is accepted", program)
		}
	}
}

func TestMakeVariables(t *testing.T) {
	t.Parallel()
	for _, word := range literals("all", "a/b.o", "V=1", "VERBOSE=1", "ARGS=-v -run x", "VERSION=1.2.3", "TAG=a=b", "TAGS=a,b", "BUILD_TYPE=Release") {
		if !makeSafe(word) {
			t.Errorf("%s is not accepted", word.text)
		}
	}
	for _, word := range append(literals(
		"X=a", "PREFIX=/usr", "CFLAGS=-B./evil", "GOFLAGS=-toolexec=./evil", "V!=x", "SHELL=x", "shell=x", "MAKEFLAGS=x", "CC=x", "CXX:=x", "LD?=x", "GO=x", "MY_SHELL=x", "NODE_CMD=x", "X_EXEC=x", "PYTHON=python3", ".SHELLFLAGS=-c", "X=$(shell x)", "X=`x`", "X=a;b", "X=a|b", "X=a&b", "X=a>b", "X=a\nb", "X='a'", `X="a"`, "X=#", "X=*", "X={a}", "X=(a)", "X=!a", `X=\a`,
	), word{text: "X=" + anyText}, word{text: anyText + "=a"}) {
		if makeSafe(word) {
			t.Errorf("%s is accepted", word.text)
		}
	}
}

// TestFind is about the expression of find.
func TestFind(t *testing.T) {
	t.Parallel()
	rules := allow("Bash(find *)", "Bash(wc *)", "Bash(echo *)", "Edit(out/**)")
	for command, want := range map[string]terret.Behavior{
		"find":                      terret.BehaviorAllow,
		"find .":                    terret.BehaviorAllow,
		"find a b -name x":          terret.BehaviorAllow,
		"find -L a -name x":         terret.BehaviorAllow,
		"find . -name x -o -name y": terret.BehaviorAllow,
		`find . \( -name x -o -name y \) -a -print`: terret.BehaviorAllow,
		"find . ! -name x":                          terret.BehaviorAllow,
		"find . -name \"$x\"":                       terret.BehaviorAllow,
		"find . -name \"$x\" -print":                terret.BehaviorAllow,
		"find . -exec wc -l {} +":                   terret.BehaviorAllow,
		"find . -exec wc -l {} \\;":                 terret.BehaviorAllow,
		"find . -exec wc {} \\; -exec echo {} \\;":  terret.BehaviorAllow,
		"find . -fprint out/x":                      asked,
		"find . -fprintf out/x %p":                  asked,
		"find . -newermt 2024-01-01":                terret.BehaviorAllow,
		"find . -name -exec":                        terret.BehaviorAllow, // the pattern of -name

		"find . -name $x":                      asked,
		"find . \"$x\"":                        asked,
		"find \"$x\" -name y":                  asked,
		"find . -print \"$x\" rm \";\"":        asked,
		"find . -nosuch x":                     asked,
		"find . x":                             terret.BehaviorAllow, // two folders
		"find . -name x y":                     asked,
		"find . -name":                         asked,
		"find . -delete":                       asked,
		"find . -exec rm {} +":                 asked,
		"find . -exec wc {} \\; -exec rm {} +": asked,
		"find . -exec wc + rm {} \\;":          terret.BehaviorAllow, // all of it is for wc
		"find . -exec wc {} + -exec rm {} +":   asked,
		"find . -exec wc {}":                   asked,
		"find . -exec":                         asked,
		"find . -exec \\;":                     asked,
		"find . -exec \"$x\" {} +":             asked,
		"find . -exec wc \"$x\" {} +":          asked,
		"find . -exec {} \\;":                  asked,
		"find . -execdir ./wc {} +":            asked,
		"find . -ok rm {} \\;":                 asked,
		"find . -fprint /etc/x":                asked,
		"find . -fprint $x":                    asked,
		"find . -fls out/x -fprintf y %p":      asked,
		"find . -files0-from -":                asked,
		"find . -{exec,rm} x":                  asked,
	} {
		if got := Judge(bash(command), rules, terret.PolicyAsk); got.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, got.Behavior, got.Reason, want)
		}
	}
}

// TestInterpreters is about how much of a call a rule must name: all of what a shell
// runs, and no more than was written of other interpreters.
func TestInterpreters(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule, command string
		want          bool
	}{
		{"Bash(python3 *)", "python3 a.py", true},
		{"Bash(node *)", "node script.js --watch", true},
		{"Bash(python3 a.py *)", "python3 a.py -v", true},
		{"Bash(python3 a.py)", "python3 a.py -v", false},
		{"Bash(python3 *)", "python3 --version", true},
		{"Bash(python3 *)", "python3 -m pytest", true},
		{"Bash(python3 -m pytest *)", "python3 -m pytest -q", true},
		{"Bash(python3 -m *)", "python3 -m timeit x", true},
		{"Bash(python3 -W ignore a.py *)", "python3 -W ignore a.py x", true},
		{"Bash(python3 -c *)", "python3 -c x", true},
		{"Bash(python3 -c x)", "python3 -c x", true},
		{"Bash(python3 *)", "python3", true},
		{"Bash(python3 a.py)", "true; python3 -", false},
		{"Bash(node a.js *)", "node a.js x", true},
		{"Bash(node *)", "node --eval x", true},
		{"Bash(ssh *)", "ssh host ls", true},
		{"Bash(node a.js *)", "node -r x a.js", false},
		{"Bash(perl a.pl *)", "perl a.pl", true},
		{"Bash(perl *)", "perl -ne x", true},
		{"Bash(ruby a.rb *)", "ruby -I lib a.rb", false},
		{"Bash(ruby -I lib a.rb *)", "ruby -I lib a.rb x", true},
		{"Bash(python3 *)", "python3 \"$x\"", true},
		{"Bash(bash a.sh *)", "bash a.sh x", true},
		{"Bash(bash *)", "bash a.sh", false},
		{"Bash(bash *)", "bash -x", false},
		{"Bash(ls *)", "bash -c 'ls -la'", true},
		{"Bash(ls *)", "bash -ec 'ls -la'", true},
		{"Bash(ls *)", "bash -o pipefail -c ls", true},
		{"Bash(ls *)", "bash +c ls", false},
		{"Bash(ls *)", "bash --posix -c ls", true},
		{"Bash(ls *)", "bash --init-file x -c ls", false},
		{"Bash(ls *)", "bash -Z -c ls", false},
		{"Bash(ls *)", "eval ls -la", true},
		{"Bash(ls *)", "eval 'ls' '-la'", true},
		{"Bash(ls *)", "trap 'ls' EXIT", true},
		{"Bash(ls *)", "trap - EXIT; ls", true},
		{"Bash(ls *)", "trap -- ls EXIT", false},
		{"Bash(ls *)", "trap; ls", true}, // which lists what is trapped
		{"Bash(ls *)", "trap rm; ls", true},
		{"Bash(source *)", "source a.sh", false},
		{"Bash(source a.sh)", "source a.sh", true},
	} {
		got := Judge(bash(test.command), allow(test.rule), terret.PolicyAsk)
		if (got.Behavior == terret.BehaviorAllow) != test.want {
			t.Errorf("%s with %s: %s (%s)", test.command, test.rule, got.Behavior, got.Reason)
		}
	}
}

// TestQuotedPatterns has a star mean all that follows, also after a quoted word.
func TestQuotedPatterns(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule, command string
		want          bool
	}{
		{"Bash(ls 'a b' *)", "ls 'a b' c d", true},
		{"Bash(ls 'a b' *)", "ls 'a b'", true},
		{"Bash(ls a '*')", "ls a b c", false},
		{"Bash(ls *)", "ls `ls -a`", true},
		{"Bash(ls *)", "ls `ls \\a`", false}, // shells differ
	} {
		got := Judge(bash(test.command), allow(test.rule), terret.PolicyAsk)
		if (got.Behavior == terret.BehaviorAllow) != test.want {
			t.Errorf("%s with %s: %s (%s)", test.command, test.rule, got.Behavior, got.Reason)
		}
	}
}

// TestFolders is about where a command runs after cd.
func TestFolders(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"a":                                "/repo",
		"cd s; a":                          "/repo /repo/s",
		"cd s && a":                        "/repo/s",
		"cd s && b && a":                   "/repo/s",
		"b && cd s && a":                   "/repo /repo/s",
		"cd s && cd t && a":                "/repo/s/t",
		"cd s && cd .. && a":               "/repo",
		"cd s || a":                        "/repo /repo/s",
		"cd s && b; a":                     "/repo /repo/s",
		"cd s && b || a":                   "/repo /repo/s",
		"(cd s && b); a":                   "/repo /repo/s",
		"cd \"$x\" && a":                   "",
		"cd \"$x\"; a":                     "",
		"cd - && a":                        "",
		"cd && a":                          "/home/dev /repo",
		"cd /etc && a":                     "/etc",
		"! cd s && a":                      "/repo /repo/s",
		"cd s & a":                         "/repo /repo/s",
		"cd s && { cd t; } && a":           "/repo /repo/s /repo/s/t",
		"pushd s && a":                     "",
		"for i in 1 2; do cd s && a; done": "",
		"cd s && eval 'cd t' && a":         "/repo /repo/s /repo/s/t",
		"cd ~/x && a":                      "/home/dev/x",
	} {
		u := newUse(bash(command))
		got := "none"
		for _, c := range u.script.calls {
			if c.words[0].text == "a" {
				got = strings.Join(sorted(c.cwds), " ")
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func sorted(list []string) []string {
	all := append([]string{}, list...)
	for i := range all {
		for k := i; k > 0 && all[k] < all[k-1]; k-- {
			all[k], all[k-1] = all[k-1], all[k]
		}
	}
	return all
}

// TestOtherSystems is about programs that BSD has in another form.
func TestOtherSystems(t *testing.T) {
	t.Parallel()
	for command, doubt := range map[string]bool{
		"sed -i s/a/b/ f": true, "sed -i '' s/a/b/ f": false, "sed -i.bak s/a/b/ f": false, "sed s/a/b/ f": false, "sed -i '' '1e x' f": true, "cp a b -r": true, "cp -r a b": false,
	} {
		r := &reader{subject: bash(command), out: &script{}, cwds: []string{"/repo"}}
		r.parse(command)
		if got := r.out.calls[0].doubt != ""; got != doubt {
			t.Errorf("%s: %q", command, r.out.calls[0].doubt)
		}
	}
}

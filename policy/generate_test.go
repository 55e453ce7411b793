package policy

import (
	"math/rand/v2"
	"strings"
)

// generator makes shell scripts: mostly such as agents write, with some that
// shells and parsers may read differently. It makes no absolute paths but
// /dev/null, since the scripts are run.
type generator struct {
	random *rand.Rand
	depth  int
}

func (g *generator) pick(list []string) string { return list[g.random.IntN(len(list))] }

// one reports true once in n times.
func (g *generator) one(n int) bool { return g.random.IntN(n) == 0 }

var (
	commandNames = strings.Fields(`ls cat grep wc echo head git git ls cat`)
	gitCommands  = []string{"status", "log", "status", "log", "push", "$x", "-c"}
	otherNames   = []string{
		"pwn", "$y", "p\\wn", "'pwn'", `"pwn"`, "touch", "rm", "$(echo pwn)", "`echo pwn`", "l\\s", "'ls'", `"ls"`, "l''s", `l"s"`,
		"env", "env A=b", "nice -n 5", "timeout 5", "xargs", "xargs -n 1", "nohup", "command", "find . -name a -exec", "find .", "exec", "builtin",
		"bash -c 'ls'", "bash -c 'pwn'", "sh -c \"ls; pwn\"", "eval ls", "eval 'pwn'", "cd src", "cd out", "cd ..", "set -e", "export CI=1", "export A=b", "export x",
		"CI=1", "x=ls", "x=$(ls)", "A=b", "PATH=.", "test -f", "[ -f a ]", "[[ -f a ]]", "[[ $x == a* ]]", "read -r line", "trap pwn EXIT", "alias ls=pwn", "time", "!", "sleep 0",
		"unset x", "local x", "declare x=1", "function f", "repeat 2", "coproc", ":", "true", "false", "jq .", "date", "wait",
	}
	argumentParts = []string{
		"a", "b.txt", "-l", "-n", "--oneline", "--", "src/a", "out/x", ".", "1", "=", "a=b", ",", ":", "@", "%s", "+", "-", "--x=y",
		"$x", "$y", "$z", "$v", `"$x"`, `"$y z"`, "${x}", "${x:-a}", "${x%.*}", "${#x}", "${x/a/b}", "${!x}", "${x:-$(pwn)}", "$1", "$@", `"$@"`, "$?", "$$", "$#", "$10",
		"'a b'", "'$x'", `"a b"`, `"a \" b"`, `"\$x"`, `"\\"`, `"a\nb"`, "'a\nb'", "\"a\nb\"", `""`, "''", `"it's"`, `'say "a"'`, `"a$"`, `"$ a"`, `"!"`, "'#'", "\"\\\n\"",
		`\a`, `\ `, `\;`, `\$x`, `\\`, `\'`, `\"`, `\#`, "\\\n", "\\\na", `\*`, `\(`, `\é`, "é",
		"$(ls)", "$(cat src/a)", `"$(ls)"`, `"a $(ls b) c"`, "$(ls | cat)", "$(pwn)", "$(ls; pwn)", "$( ls )", "$(ls # c\n)", `"$(ls ")")"`, "$(ls ')')", "$(cat <<'E'\na\nE\n)", "$(cat <<'E'\nit's\nE\n)", "$(cat <<E\n$(pwn)\nE\n)",
		"`ls`", "`pwn`", "\"`ls a`\"", "`ls \\`", "`ls 'a'`", "$((1+1))", "$((x))", "$((v))", "$[1]", "$'a'", "$'\\n'", "$'it\\'s'", `$"a"`, "$", "${", "$(", "$((",
		"*", "?", "*.txt", "src/*", "[a]", "{a,b}", "{1..3}", "{}", "{", "}", "~", "~/a", "=ls", "!", "!=", "!a", "!!", "^", "HEAD^", "HEAD~1", "#", "#a", "a#b", "##",
		"<(ls)", ">(ls)", "<(pwn)", "=(ls)", "@(a)", "a(b)", "()", "(", ")", ";", ";;", "&", "|", "<", ">", "<<", "'", `"`, "`", `\`, "\n", "\t", "\n#",
		"[[", "]]", "[", "]", "if", "then", "do", "done", "fi", "in", "E", "EOF", "x[1]", "$x[1]", "$x:h", "${x}[1]",
	}
	plainParts = []string{"a", "b.txt", "-l", "--", "src/a", "a=b", `"$x"`, "$y", "${x}", "'a b'", `"a b"`, `"a \" b"`, `\;`, `\ `, "$(ls)", `"$(cat src/a)"`, "*", "~", "HEAD^", "{a,b}", `"it's"`, "'a\nb'", "é", "a#b", "1", `\#`}
	redirects  = []string{
		"> out/x", ">out/x", ">> out/x", "2>&1", ">&2", "2>/dev/null", "< src/a", "&> out/y", "&>> out/y", ">| out/z", ">& out/w", "<<< a", "<<< \"$x\"", "<<< $(ls)", "<> out/v", "2>&-",
		"<<'E'\na $(pwn)\nE\n", "<<E\na b\nE\n", "<<E\n$(pwn)\nE\n", "<<\"E\"\nit's\nE\n", "<<-E\n\ta\n\tE\n", "<<'E' | cat\na\nE\n", "<<\\E\na\nE\n", "<<E\na \\\nE\nE\n", "<<'E F'\na\nE F\n",
		"> $x", "> b.txt", "> \"out/$x\"", "2> out/*", "3> out/x", "12> out/x", "{fd}> out/x", "> !a", ">! out/x", "<<<", "<<", ">", "2>", "<<'E'\na\n E\nE", "<&0", "<&p", ">&p", "> ~/out/t",
	}
	separators = []string{
		"; ", ";", " && ", " || ", " | ", "\n", " & ", "\n\n", " |& ", ";\n", " &&\n", " |\n", " # c\n", " # it's (a)\n", " #\\\n", " # a \\\n", "#c\n", " \\\n", "\\\n", "; # \"\n",
		"\n# c\n", "\n  ", ";;", "; ;", " &| ", " &! ", ";&", "& &", " \\\n# c\n", " # $(pwn)\n", " # `\n", "\n#\n",
	}
	comments = []string{" # c", " #", " # it's", " #\\", "# c", " # a\\\\", " #!x"}
	noise    = "'\"`\\$#;&|<>(){}[]!*?~=\n\t \\\n#E^:@,%+-"
)

// script makes one script.
func (g *generator) script() string {
	g.depth = 0
	if g.one(12) { // one that was written by hand, changed
		rows := len(ordinary) + len(hostile)
		if i := g.random.IntN(rows); i < len(ordinary) {
			return g.mutate(ordinary[i].command)
		} else {
			return g.mutate(hostile[i-len(ordinary)].command)
		}
	}
	s := g.list()
	if g.one(6) {
		s += g.pick(comments)
	}
	if g.one(5) {
		s = g.mutate(s)
	}
	return s
}

// mutate adds, doubles or takes away a few characters. Absolute paths are taken
// out before: cut in two, they may name anything.
func (g *generator) mutate(s string) string {
	for _, gone := range []string{"/dev/null", "/dev/tcp/evil.example/80", "/dev/fd", "/"} {
		s = strings.ReplaceAll(s, gone, "")
	}
	for _, name := range []string{"rm", "touch", "git push"} {
		s = strings.ReplaceAll(s, name, "pwn")
	}
	for range 1 + g.random.IntN(3) {
		i := g.random.IntN(len(s) + 1)
		c := noise[g.random.IntN(len(noise))]
		switch {
		case g.one(3) && i < len(s):
			s = s[:i] + s[i+1:]
		case g.one(4) && i < len(s):
			s = s[:i] + s[i:i+1] + s[i:]
		default:
			s = s[:i] + string(c) + s[i:]
		}
	}
	return s
}

func (g *generator) list() string {
	s := g.command()
	for g.one(2) {
		separator := g.pick(separators[:9])
		if g.one(4) {
			separator = g.pick(separators)
		}
		s += separator + g.command()
	}
	return s
}

func (g *generator) command() string {
	if g.depth++; g.depth < 12 && g.one(5) {
		switch g.random.IntN(10) {
		case 0:
			return "(" + g.list() + ")" + g.redirect(3)
		case 1:
			return "{ " + g.list() + "; }" + g.redirect(3)
		case 2:
			return "if " + g.list() + "; then " + g.list() + "; fi"
		case 3:
			return "for i in " + g.arguments() + "; do " + g.list() + "; done"
		case 4:
			return "while read -r line; do " + g.list() + "; done < src/a"
		case 5:
			return "! " + g.list()
		case 6:
			return "if " + g.list() + "\nthen\n" + g.list() + "\nelse " + g.list() + "\nfi"
		case 7:
			return "case " + g.argument() + " in a) " + g.list() + ";; esac"
		case 8:
			return "bash -c " + g.quote(g.list())
		default:
			return g.pick([]string{"f() { ", "function f { "}) + g.list() + "; }; f"
		}
	}
	return g.simple()
}

func (g *generator) quote(s string) string {
	if g.one(2) {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(s) + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (g *generator) simple() string {
	name := g.pick(commandNames)
	if g.one(6) {
		name = g.pick(otherNames)
		if g.one(2) {
			name += " " + g.pick(commandNames)
		}
	}
	if name == "git" {
		name += " " + g.pick(gitCommands)
	}
	return name + " " + g.arguments() + g.redirect(5)
}

func (g *generator) redirect(n int) string {
	if !g.one(n) {
		return ""
	}
	if g.one(2) {
		return " " + g.pick(redirects[:16])
	}
	return " " + g.pick(redirects)
}

func (g *generator) arguments() string {
	var all []string
	for g.random.IntN(5) > 1 && len(all) < 5 {
		all = append(all, g.argument())
	}
	return strings.Join(all, " ")
}

func (g *generator) argument() string {
	s := ""
	for {
		if g.one(4) {
			s += g.pick(argumentParts)
		} else {
			s += g.pick(plainParts)
		}
		if !g.one(3) {
			return s
		}
	}
}

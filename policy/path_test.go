package policy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret"
)

// project is a real folder with links in it.
func project(t *testing.T) (root string, subject func(tool string, pairs ...any) Subject) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(dir, "repo")
	for _, d := range []string{"repo/src", "repo/.git/hooks", "repo/secrets", "outside", "home/.ssh", "terret"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"repo/src/main.go", "repo/.env", "outside/x", "home/.ssh/id"} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"repo/src/out": "../../outside", "repo/src/env": "../.env", "repo/src/hooks": "../.git/hooks", "repo/link": "src",
		"repo/loop": "loop", "alias": "repo", "repo/src/up": "secrets", "repo/home": "../home", "repo/src/state": "../../terret",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return root, func(tool string, pairs ...any) Subject {
		return Subject{
			Tool: tool, Class: tools[tool].class, Input: object(pairs...), Cwd: root,
			Home: filepath.Join(dir, "home"), Vars: map[string]string{"TERRET_HOME": filepath.Join(dir, "terret")}, Protected: []string{filepath.Join(dir, "terret")},
		}
	}
}

func TestPathRules(t *testing.T) {
	t.Parallel()
	root, use := project(t)
	up := filepath.Dir(root)
	tests := []struct {
		name  string
		s     Subject
		rules []terret.Rule
		want  terret.Behavior
	}{
		{"inside", use("Edit", "file_path", "src/main.go"), allow("Edit(src/**)"), terret.BehaviorAllow},
		{"absolute", use("Edit", "file_path", root+"/src/main.go"), allow("Edit(src/**)"), terret.BehaviorAllow},
		{"new file", use("Write", "file_path", "src/a/b.go"), allow("Edit(src/**)"), terret.BehaviorAllow},
		{"opencode", use("edit", "filePath", "src/main.go"), allow("Edit(./src/*.go)"), terret.BehaviorAllow},
		{"project root", use("Edit", "file_path", "src/main.go"), allow("Edit(/src/*)"), terret.BehaviorAllow},
		{"absolute rule", use("Edit", "file_path", "src/main.go"), allow("Edit(/" + root + "/src/**)"), terret.BehaviorAllow},
		{"home", use("Read", "file_path", up+"/home/notes"), allow("Read(~/notes)"), terret.BehaviorAllow},
		{"folder", use("Edit", "file_path", "src/main.go"), allow("Edit(src/)"), terret.BehaviorAllow},
		{"through a link that stays", use("Edit", "file_path", "link/main.go"), allow("Edit(src/**)"), terret.BehaviorAllow},
		{"whole tool", use("Edit", "file_path", "/etc/passwd"), allow("Edit"), terret.BehaviorAllow},
		{"both edits", use("MultiEdit", "edits", []any{map[string]any{"file_path": "src/a"}, map[string]any{"file_path": "src/b"}}), allow("Edit(src/**)"), terret.BehaviorAllow},
		{"patch", use("apply_patch", "input", "*** Begin Patch\n*** Update File: src/a\n*** Move to: src/b\n"), allow("Edit(src/**)"), terret.BehaviorAllow},

		{"star is one level", use("Edit", "file_path", "src/a/b.go"), allow("Edit(src/*)"), asked},
		{"prefix is no folder", use("Edit", "file_path", "src2/x"), allow("Edit(src/**)"), asked},
		{"link out", use("Edit", "file_path", "src/out/x"), allow("Edit(src/**)"), asked},
		{"new file behind a link out", use("Edit", "file_path", "src/out/new/y"), allow("Edit(src/**)"), asked},
		{"dots out", use("Edit", "file_path", "src/../../outside/x"), allow("Edit(src/**)"), asked},
		{"dots behind a link", use("Edit", "file_path", "src/out/../repo/.env"), allow("Edit(src/**)"), asked},
		{"dots behind a link, lexically inside", use("Edit", "file_path", "src/out/../main.go"), allow("Edit(src/**)"), asked},
		{"replaced folder", use("Edit", "file_path", "src/out/x"), allow("Edit(src/out/**)"), asked},
		{"loop", use("Edit", "file_path", "loop/x"), allow("Edit(**)"), asked},
		{"one of two outside", use("MultiEdit", "edits", []any{map[string]any{"file_path": "src/a"}, map[string]any{"file_path": "b"}}), allow("Edit(src/**)"), asked},
		{"patch outside", use("apply_patch", "input", "*** Update File: src/a\n*** Move to: ../b\n"), allow("Edit(src/**)"), asked},
		{"other rule", use("Edit", "file_path", "src/main.go"), allow("Write(src/**)"), asked},
		{"read is not edit", use("Edit", "file_path", "src/main.go"), allow("Read(src/**)"), asked},
		{"guarded", use("Edit", "file_path", ".git/hooks/pre-commit"), allow("Edit(**)", "Edit"), asked},
		{"guarded by case", use("Edit", "file_path", ".GIT/hooks/pre-commit"), allow("Edit(**)"), asked},
		{"guarded through a link", use("Edit", "file_path", "src/hooks/pre-commit"), allow("Edit(src/**)", "Edit"), asked},
		{"guarded and named", use("Edit", "file_path", ".claude/settings.json"), allow("Edit(.claude/**)"), terret.BehaviorAllow},
		{"NUL", use("Edit", "file_path", "src/a\x00b"), allow("Edit(src/**)"), asked},
		{"invisible", use("Edit", "file_path", "src/a\u200db"), allow("Edit(src/**)"), asked},
		{"two keys", Subject{Tool: "Edit", Input: []byte(`{"file_path":"src/a","file_path":"/etc/x"}`), Cwd: root}, allow("Edit(src/**)"), asked},
		{"other case of a key", Subject{Tool: "Edit", Input: []byte(`{"file_path":"/etc/x","FILE_PATH":"src/a"}`), Cwd: root}, allow("Edit(src/**)"), asked},
		{"no path", use("Edit", "foo", "bar"), allow("Edit(src/**)"), asked},

		{"denied", use("Read", "file_path", ".env"), deny("Read(.env)"), denied},
		{"denied absolute", use("Read", "file_path", root+"/.env"), deny("Read(./.env)"), denied},
		{"denied at any depth", use("Read", "file_path", "a/b/.env"), deny("Read(.env)"), denied},
		{"denied through a link", use("Read", "file_path", "src/env"), deny("Read(.env)"), denied},
		{"denied by the link's name", use("Read", "file_path", "src/env"), deny("Read(src/env)"), denied},
		{"denied in another case", use("Read", "file_path", ".ENV"), deny("Read(.env)"), denied},
		{"denied decomposed", use("Read", "file_path", "cafe\u0301"), deny("Read(caf\u00e9)"), denied},
		{"denied with dots", use("Read", "file_path", "src/../.env"), deny("Read(.env)"), denied},
		{"denied folder", use("Read", "file_path", "secrets/a/b"), deny("Read(secrets)"), denied},
		{"denied home", use("Read", "file_path", "home/.ssh/id"), deny("Read(~/.ssh/**)"), denied},
		{"denied from an alias of the folder", Subject{Tool: "Read", Input: object("file_path", up+"/alias/.env"), Cwd: up + "/alias"}, deny("Read(.env)"), denied},
		{"denied search", use("Grep", "path", "secrets", "pattern", "x"), deny("Read(secrets/**)"), denied},
		{"denied glob", use("Glob", "pattern", "secrets/*.pem"), deny("Read(secrets/**)"), denied},
		{"search above", use("Grep", "pattern", "x"), deny("Read(secrets/**)"), asked},
		{"search elsewhere", use("Grep", "pattern", "x", "path", "src"), deny("Read(/secrets/**)"), terret.BehaviorAllow},
		{"search in a file", use("Grep", "pattern", "x", "path", "src/main.go"), deny("Read(.env)"), terret.BehaviorAllow},
		{"loop is not proven", use("Read", "file_path", "loop/x"), deny("Read(.env)"), asked},
		{"other file", use("Read", "file_path", "src/main.go"), deny("Read(.env)"), terret.BehaviorAllow},
		{"unreadable deny rule", use("Read", "file_path", "src/main.go"), deny("Read(src"), asked},

		{"redirection", use("Bash", "command", "echo x > .env"), deny("Edit(.env)"), denied},
		{"redirection through a link", use("Bash", "command", "echo x > src/env"), deny("Edit(.env)"), denied},
		{"redirection after cd", use("Bash", "command", "cd src && echo x > ../.env"), deny("Edit(/.env)"), denied},
		{"reader", use("Bash", "command", "cat .env"), deny("Read(.env)"), denied},
		{"reader with a glob", use("Bash", "command", "cat .e*"), deny("Read(.env)"), asked},
		{"reader with another glob", use("Bash", "command", "cat *.go"), deny("Read(.env)"), terret.BehaviorAllow},
		{"reader with a variable", use("Bash", "command", "cat $x"), deny("Read(.env)"), asked},
		{"reader of the home", use("Bash", "command", "cat $HOME/.ssh/id ~/.ssh/id"), deny("Read(~/.ssh/**)"), denied},
		{"writer", use("Bash", "command", "cp a .env"), deny("Edit(.env)"), denied},
		{"dd", use("Bash", "command", "dd if=a of=.env"), deny("Edit(.env)"), asked},
		{"recursive reader", use("Bash", "command", "grep -r KEY ."), deny("Read(.env)"), asked},
		{"other program", use("Bash", "command", "foo .env"), deny("Read(.env)"), asked},
		{"allowed redirection leaves by a link", use("Bash", "command", "ls > src/out/x"), append(allow("Bash(ls *)", "Edit(src/**)"), deny("Bash(rm *)")...), asked},

		{"protected", use("Read", "file_path", up+"/terret/token"), allow("Read"), denied},
		{"protected through a link", use("Read", "file_path", "src/state/token"), allow("Read"), denied},
		{"protected in the shell", use("Bash", "command", "cat ../terret/token"), allow("Bash"), denied},
		{"protected by an option", use("Bash", "command", "foo --file="+up+"/terret/token"), allow("Bash"), denied},
		{"protected by its variable", use("Bash", "command", "cat \"$TERRET_HOME\"/token"), allow("Bash"), denied},
		{"protected folder removed", use("Bash", "command", "rm -rf .."), allow("Bash"), denied},
		{"protected redirection", use("Bash", "command", "echo x > "+up+"/TERRET/x"), allow("Bash"), denied},
		{"protected MCP", Subject{Tool: "mcp__fs__read", Input: object("path", up+"/terret/x"), Cwd: root, Protected: []string{up + "/terret"}}, allow("mcp__fs"), denied},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := terret.PolicyRules
			if len(test.rules) > 0 && test.rules[0].Effect == terret.EffectDeny {
				p = terret.PolicyAutoApprove // so that only the deny rule can stop it
			}
			if got := Judge(test.s, test.rules, p); got.Behavior != test.want {
				t.Errorf("got %s (%s), want %s", got.Behavior, got.Reason, test.want)
			}
		})
	}
}

func TestAcceptEdits(t *testing.T) {
	t.Parallel()
	root, use := project(t)
	extra := use("Edit", "file_path", filepath.Dir(root)+"/outside/x")
	extra.Roots = []string{root, filepath.Dir(root) + "/outside"}
	tests := []struct {
		name string
		s    Subject
		want terret.Behavior
	}{
		{"inside", use("Edit", "file_path", "src/main.go"), terret.BehaviorAllow},
		{"new", use("Write", "file_path", "a/b/c"), terret.BehaviorAllow},
		{"a link that stays inside", use("Edit", "file_path", "link/main.go"), terret.BehaviorAllow},
		{"an extra root", extra, terret.BehaviorAllow},
		{"outside", use("Edit", "file_path", "../outside/x"), asked},
		{"a link out", use("Edit", "file_path", "src/out/x"), asked},
		{"a name that begins alike", use("Edit", "file_path", root+"2/x"), asked},
		{"git", use("Edit", "file_path", ".git/config"), asked},
		{"git by a link", use("Edit", "file_path", "src/hooks/x"), asked},
		{"git in another case", use("Edit", "file_path", "sub/.Git/config"), asked},
		{"claude", use("Write", "file_path", ".claude/settings.json"), asked},
		{"terret", use("Write", "file_path", ".terret/config"), asked},
		{"servers", use("Write", "file_path", ".mcp.json"), asked},
		{"no path", use("Write", "x", "y"), asked},
		{"protected", use("Write", "file_path", "src/state/x"), denied},
		{"shell", use("Bash", "command", "echo x > src/y"), asked},
		{"read", use("Read", "file_path", "src/main.go"), asked},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := Judge(test.s, nil, terret.PolicyAcceptEdits); got.Behavior != test.want {
				t.Errorf("got %s (%s), want %s", got.Behavior, got.Reason, test.want)
			}
		})
	}
}

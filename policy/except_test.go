package policy

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/terret-dev/terret"
)

// A folder in a protected one may be excepted: what is in it can be touched, and
// nothing beside it.
func TestExcept(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(home, "worktrees", "id", "repo")
	if err := os.MkdirAll(root, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"token", "worktrees/id/origin", "worktrees/id/repo/main.go"} {
		if err := os.WriteFile(filepath.Join(home, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../../token", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	linked := home + "-link"
	if err := os.Symlink(home, linked); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(linked) })
	for _, protected := range []string{home, linked} {
		use := func(tool string, pairs ...any) Subject {
			return Subject{
				Tool: tool, Class: tools[tool].class, Input: object(pairs...), Cwd: root, Roots: []string{root},
				Protected: []string{protected}, Except: []string{root},
			}
		}
		for name, c := range map[string]struct {
			s    Subject
			want terret.Behavior
		}{
			"inside":            {use("Read", "file_path", root+"/main.go"), terret.BehaviorAllow},
			"relative":          {use("Edit", "file_path", "main.go"), terret.BehaviorAllow},
			"new":               {use("Write", "file_path", "a/b.go"), terret.BehaviorAllow},
			"in the shell":      {use("Bash", "command", "cat main.go > b.go"), terret.BehaviorAllow},
			"searched":          {use("Bash", "command", "grep -r x ."), terret.BehaviorAllow},
			"beside":            {use("Read", "file_path", "../origin"), denied},
			"above":             {use("Read", "file_path", home+"/token"), denied},
			"by a link":         {use("Read", "file_path", "link"), denied},
			"by another name":   {use("Read", "file_path", linked+"/token"), denied},
			"above, written":    {use("Bash", "command", "echo x > ../origin"), denied},
			"the folder around": {use("Bash", "command", "rm -rf .."), denied},
		} {
			if got := Judge(c.s, allow("Read", "Edit", "Write", "Bash"), terret.PolicyAsk); got.Behavior != c.want {
				t.Errorf("%s, protected as %s: %s (%s), want %s", name, protected, got.Behavior, got.Reason, c.want)
			}
		}
	}
}

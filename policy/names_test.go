package policy

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/terret-dev/terret"
)

// TestSameName is about two names of one file on some file system: a deny rule takes them
// for the same, an allow rule does not.
func TestSameName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, name string }{
		{"secret", "SECRET"},
		{"secret", "SeCreT"},
		{"secret", "\u017fecret"},        // a long s
		{"Kelvin", "\u212aelvin"},        // the sign of the unit
		{"caf\u00e9", "cafe\u0301"},      // composed and not
		{"cafe\u0301", "CAF\u00c9"},      // and in capitals
		{"stra\u00dfe", "STRASSE"},       // one letter, two capitals
		{"strasse", "stra\u1e9ee"},       // the capital of that letter
		{"file", "\ufb01le"},             // a ligature
		{"\u03c3\u03c2", "\u03a3\u03a3"}, // three sigmas
		{"\u00c5ngstrom", "\u212bngstrom"},
		{"\uac00", "\u1100\u1161"}, // a syllable and its letters
		{"d\u0323\u0307", "\u1e0b\u0323"},
	} {
		for _, tool := range []string{"Read", "Edit"} {
			s := Subject{Tool: tool, Class: tools[tool].class, Input: object("file_path", c.name), Cwd: "/repo", Roots: []string{"/repo"}, Readlink: noLinks}
			for _, rule := range []string{tool + "(" + c.rule + ")", tool + "(/" + c.rule + ")", tool + "(//repo/" + c.rule + ")", tool + "(" + c.rule + "*)"} {
				if got := Judge(s, deny(rule), terret.PolicyAutoApprove); got.Behavior != denied {
					t.Errorf("%q with %s denied: %s (%s)", c.name, rule, got.Behavior, got.Reason)
				}
				if got := Judge(s, allow(rule), terret.PolicyRules); got.Behavior != asked {
					t.Errorf("%q with %s allowed: %s (%s)", c.name, rule, got.Behavior, got.Reason)
				}
			}
		}
		if got := Judge(bash("cat '"+c.name+"'"), deny("Read("+c.rule+")"), terret.PolicyAutoApprove); got.Behavior == terret.BehaviorAllow {
			t.Errorf("cat %q: %s", c.name, got.Behavior)
		}
	}
	for _, other := range []string{"secre", "secrets", "se cret", "s\u0435cret", "secret.txt"} { // the fourth has a Cyrillic letter
		s := Subject{Tool: "Read", Class: terret.ClassRead, Input: object("file_path", other), Cwd: "/repo", Readlink: noLinks}
		if got := Judge(s, deny("Read(secret)"), terret.PolicyAutoApprove); got.Behavior != terret.BehaviorAllow {
			t.Errorf("%q is another file: %s (%s)", other, got.Behavior, got.Reason)
		}
	}
}

// links is a file system with those symbolic links.
func links(all map[string]string) func(string) (string, error) {
	return func(p string) (string, error) {
		if target, ok := all[p]; ok {
			return target, nil
		}
		return noLinks(p)
	}
}

// TestLinkedPaths follows links of every form. What they lead to is /repo/secret/key,
// which is denied, or /repo/open/key, which is allowed.
func TestLinkedPaths(t *testing.T) {
	t.Parallel()
	system := map[string]string{
		"/repo/rel":         "secret",
		"/repo/abs":         "/repo/secret",
		"/repo/dots":        "x/../secret",
		"/repo/slashes":     ".//secret///",
		"/repo/twice":       "rel",
		"/repo/file":        "secret/key",
		"/repo/deep/up":     "../secret",
		"/repo/top":         "/",
		"/repo/self":        ".",
		"/repo/parent":      "..",
		"/repo/fine":        "open",
		"/repo/open/escape": "../secret/key",
		"/link":             "/repo",
		"/repo/a":           "/repo/b",
		"/repo/b":           "/repo/a",
	}
	for path, want := range map[string]terret.Behavior{
		"secret/key": denied, "rel/key": denied, "abs/key": denied, "dots/key": denied, "slashes/key": denied, "twice/key": denied, "file": denied, "deep/up/key": denied,
		"top/repo/secret/key": denied, "self/self/secret/key": denied, "parent/repo/secret/key": denied, "/link/secret/key": denied, "/link/rel/../secret/key": denied,
		"fine/../secret/key": denied, "open/escape": denied, "rel/../open/key": terret.BehaviorAllow, "./rel/.././file": denied,
		"open/key": terret.BehaviorAllow, "fine/key": terret.BehaviorAllow, "/link/open/key": terret.BehaviorAllow, "open/new/file": terret.BehaviorAllow, "self/open/key": terret.BehaviorAllow,
		"a/key": asked, "other/key": asked, "top/etc/passwd": asked, "parent/key": asked,
	} {
		s := Subject{Tool: "Edit", Class: terret.ClassEdit, Input: object("file_path", path), Cwd: "/repo", Roots: []string{"/repo"}, Readlink: links(system)}
		if got := Judge(s, append(allow("Edit(open/**)"), deny("Edit(secret/**)")...), terret.PolicyRules); got.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", path, got.Behavior, got.Reason, want)
		}
	}
}

// TestTooManyLinks is that a path is followed as far as the kernel does, and that one
// which cannot be followed is neither allowed nor let past a deny rule.
func TestTooManyLinks(t *testing.T) {
	t.Parallel()
	chain := func(n int) func(string) (string, error) {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprintf("/repo/%d", i)] = fmt.Sprint(i + 1)
		}
		return links(all)
	}
	broken := func(err error) func(string) (string, error) {
		return func(p string) (string, error) {
			if strings.HasPrefix(p, "/repo/0") {
				return "", &fs.PathError{Op: "readlink", Path: p, Err: err}
			}
			return noLinks(p)
		}
	}
	for name, c := range map[string]struct {
		readlink    func(string) (string, error)
		allow, deny terret.Behavior
	}{
		"as many as may be": {chain(40), terret.BehaviorAllow, terret.BehaviorAllow},
		"one more":          {chain(41), asked, asked},
		"not there":         {broken(fs.ErrNotExist), terret.BehaviorAllow, terret.BehaviorAllow},
		"not a folder":      {broken(syscall.ENOTDIR), terret.BehaviorAllow, terret.BehaviorAllow},
		"may not be read":   {broken(syscall.EACCES), asked, asked},
		"fails":             {broken(syscall.EIO), asked, asked},
		"too long":          {broken(syscall.ENAMETOOLONG), asked, asked},
	} {
		s := Subject{Tool: "Edit", Class: terret.ClassEdit, Input: object("file_path", "0"), Cwd: "/repo", Roots: []string{"/repo"}, Readlink: c.readlink}
		if got := Judge(s, allow("Edit(**)"), terret.PolicyRules); got.Behavior != c.allow {
			t.Errorf("%s, allowed: %s (%s), want %s", name, got.Behavior, got.Reason, c.allow)
		}
		if got := Judge(s, deny("Edit(secret)"), terret.PolicyAutoApprove); got.Behavior != c.deny {
			t.Errorf("%s, another denied: %s (%s), want %s", name, got.Behavior, got.Reason, c.deny)
		}
		if got := Judge(s, nil, terret.PolicyAcceptEdits); got.Behavior != c.allow {
			t.Errorf("%s, edits accepted: %s (%s), want %s", name, got.Behavior, got.Reason, c.allow)
		}
	}
}

// TestGuardedNames is that every file from which programs take orders needs a rule that
// names it, in whatever spelling, at whatever depth, and through links.
func TestGuardedNames(t *testing.T) {
	t.Parallel()
	names := strings.Fields(`.git .terret .claude .codex .opencode .agents .gemini .cursor .husky .vscode .idea .ssh .mcp.json opencode.json opencode.jsonc .envrc
		.gitconfig .gitmodules .gitattributes .bashrc .bash_profile .profile .zshrc .zshenv .zprofile`)
	if len(names) != len(guarded) {
		t.Errorf("%d names are guarded, this test knows %d", len(guarded), len(names))
	}
	for _, name := range names {
		for _, path := range []string{name, strings.ToUpper(name), "a/b/" + name, name + "/x", "link/x", "./" + name, "a/../" + name} {
			s := Subject{Tool: "Edit", Class: terret.ClassEdit, Input: object("file_path", path), Cwd: "/repo", Roots: []string{"/repo"}, Readlink: links(map[string]string{"/repo/link": name})}
			if got := Judge(s, nil, terret.PolicyAcceptEdits); got.Behavior != asked {
				t.Errorf("%s: edits accepted: %s (%s)", path, got.Behavior, got.Reason)
			}
			if got := Judge(s, allow("Edit(**)"), terret.PolicyRules); got.Behavior != asked {
				t.Errorf("%s: Edit(**): %s (%s)", path, got.Behavior, got.Reason)
			}
		}
		named := Subject{Tool: "Edit", Class: terret.ClassEdit, Input: object("file_path", name), Cwd: "/repo", Roots: []string{"/repo"}, Readlink: noLinks}
		if got := Judge(named, allow("Edit("+name+")"), terret.PolicyRules); got.Behavior != terret.BehaviorAllow {
			t.Errorf("%s and a rule for it: %s (%s)", name, got.Behavior, got.Reason)
		}
	}
	// A project may lie below such a folder.
	s := Subject{Tool: "Edit", Class: terret.ClassEdit, Input: object("file_path", "main.go"), Cwd: "/home/dev/.claude/x", Roots: []string{"/home/dev/.claude/x"}, Readlink: noLinks}
	if got := Judge(s, nil, terret.PolicyAcceptEdits); got.Behavior != terret.BehaviorAllow {
		t.Errorf("a project below .claude: %s (%s)", got.Behavior, got.Reason)
	}
}

// TestGuarded is that what a driver says its agent takes orders from is guarded as well,
// by all parts of its name, also when it is copied there.
func TestGuarded(t *testing.T) {
	t.Parallel()
	guard := Guard([]terret.ProjectFile{{Path: ".lark/"}, {Path: ".forge/hooks/"}, {Path: ".forge/mcp.json"}, {Path: ""}})
	for path, want := range map[string]terret.Behavior{
		".lark/settings.json": asked, ".LARK/x": asked, "a/.lark": asked, ".forge/hooks/x.sh": asked, "b/.Forge/hooks": asked, ".forge/mcp.json": asked,
		".forge/workflows/x.yml": terret.BehaviorAllow, "hooks/x.sh": terret.BehaviorAllow, ".larks/x": terret.BehaviorAllow, "mcp.json": terret.BehaviorAllow,
	} {
		s := Subject{
			Tool: "Edit", Class: terret.ClassEdit, Input: object("file_path", path), Cwd: "/repo", Roots: []string{"/repo"}, Readlink: noLinks, Guarded: guard,
		}
		if got := Judge(s, nil, terret.PolicyAcceptEdits); got.Behavior != want {
			t.Errorf("%s: edits accepted: %s (%s)", path, got.Behavior, got.Reason)
		}
		if got := Judge(s, allow("Edit(**)"), terret.PolicyRules); got.Behavior != want {
			t.Errorf("%s: Edit(**): %s (%s)", path, got.Behavior, got.Reason)
		}
		if got := Judge(s, allow("Edit("+path+")"), terret.PolicyRules); got.Behavior != terret.BehaviorAllow && path != ".LARK/x" && path != "b/.Forge/hooks" {
			t.Errorf("%s and a rule for it: %s (%s)", path, got.Behavior, got.Reason)
		}
	}
	for command, want := range map[string]terret.Behavior{
		"cp a/mcp.json .forge": asked, "cp a/.lark b": asked, "cp -r a/hooks .forge/": asked, "cp a/mcp.json b": terret.BehaviorAllow,
	} {
		s := bash(command)
		s.Guarded = guard
		if got := Judge(s, allow("Bash(cp:*)", "Edit(**)"), terret.PolicyRules); got.Behavior != want {
			t.Errorf("%s: %s (%s)", command, got.Behavior, got.Reason)
		}
	}
}

// TestUnknownFiles has a rule for all edits not count for a file that may be any.
func TestUnknownFiles(t *testing.T) {
	t.Parallel()
	for cwd, want := range map[string]terret.Behavior{"/repo": terret.BehaviorAllow, "": asked} {
		s := Subject{Tool: "Edit", Class: terret.ClassEdit, Input: object("file_path", "a.go"), Cwd: cwd, Readlink: noLinks}
		if got := Judge(s, allow("Edit"), terret.PolicyAsk); got.Behavior != want {
			t.Errorf("in %q: %s (%s), want %s", cwd, got.Behavior, got.Reason, want)
		}
	}
}

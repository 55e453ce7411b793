package trust

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write puts files into a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func inspect(t *testing.T, dir string) State {
	t.Helper()
	s, err := Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func paths(s State) (out []string) {
	for _, f := range s.Files {
		out = append(out, f.Path)
	}
	return out
}

func TestWhatActs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"README.md": "x", "AGENTS.md": "x", "CLAUDE.md": "x", "main.go": "x", ".terret/logs/harness.log": "x", ".claude/worktrees/a": "x",
		"agents/notes.md": "x", "agents/AGENT_PLAIN.md": "Text", "agents/AGENT_LESS.md": "---\ntools: Read\ndisallowed_tools: Bash\nmax_turns: 3\nid: X\ndescription: y\n---\n",
		"agents/AGENT_BROKEN.md": "---\nauto_approve_tools: Bash\n", ".opencode/node_modules/a/index.js": "x",
	})
	if s := inspect(t, dir); !s.Empty() || s.Hash != "" {
		t.Fatalf("nothing acts, but: %+v", s)
	}
	acting := map[string]string{
		".terret/config.jsonc": "{}", "agents/AGENT_MORE.md": "---\nauto_approve_tools: Bash\nmodel: m\n---\n", ".mcp.json": "{}", ".env": "A=1",
		".claude/settings.json": "{}", ".claude/settings.local.json": "{}", ".claude/hooks/deep/down.sh": "x", ".claude/skills/s/SKILL.md": "x",
		".claude/agents/a.md": "x", ".claude/commands/c.md": "x", ".claude/output-styles/o.md": "x", ".claude/plugins/p.json": "x", ".claude/workflows/w.js": "x",
		".terret/agents/a.md": "x", ".terret/commands/c.md": "x", ".terret/plugins/p": "x", ".terret/skills/s/SKILL.md": "x",
		"opencode.json": "{}", "opencode.jsonc": "{}", ".opencode/plugin/p.js": "x", ".codex/config.toml": "x", ".gemini/settings.json": "{}", ".agents/skills/s.md": "x",
		".qwen/settings.json": "{}", ".github/hooks/h.json": "{}", ".github/copilot/c.json": "{}", ".github/mcp.json": "{}",
	}
	write(t, dir, acting)
	s := inspect(t, dir)
	if s.Problem != "" || len(s.Files) != len(acting) {
		t.Fatalf("problem %q, files %q", s.Problem, paths(s))
	}
	for _, f := range s.Files {
		if _, ok := acting[f.Path]; !ok || f.Why == "" {
			t.Errorf("%+v acts", f)
		}
		if f.Path == "agents/AGENT_MORE.md" && f.Why != "a persona with auto_approve_tools, model" {
			t.Errorf("why: %q", f.Why)
		}
	}
	if again := inspect(t, dir); again.Hash != s.Hash {
		t.Error("the hash of the same files differs")
	}
	// A change of any of them changes the hash; a change of any other does not.
	for name := range acting {
		write(t, dir, map[string]string{name: acting[name] + "\n"})
		if inspect(t, dir).Hash == s.Hash {
			t.Errorf("%s has changed, the hash has not", name)
		}
		write(t, dir, map[string]string{name: acting[name]})
	}
	write(t, dir, map[string]string{"README.md": "y", "agents/AGENT_PLAIN.md": "y", ".terret/logs/harness.log": "y"})
	if inspect(t, dir).Hash != s.Hash {
		t.Error("what does not act has changed the hash")
	}
	if err := os.Rename(filepath.Join(dir, ".claude/hooks/deep/down.sh"), filepath.Join(dir, ".claude/hooks/deep/up.sh")); err != nil {
		t.Fatal(err)
	}
	if inspect(t, dir).Hash == s.Hash {
		t.Error("a file has another name, the hash has not changed")
	}
}

func TestFoldersAbove(t *testing.T) {
	t.Parallel()
	dir, err := resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{".mcp.json": "outside", "repo/.git/HEAD": "x", "repo/.mcp.json": "{}", "repo/.terret/config.jsonc": "{}", "repo/agents/AGENT_X.md": "---\nmodel: m\n---\n", "repo/a/.env": "A=1", "repo/a/b/c.go": "x", "plain/a/x": "x", "plain/.mcp.json": "x", "odd/a/x": "x", "odd/.mcp.json": "x", "odd/.git/left-behind": ""})
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"repo", []string{".terret/config.jsonc", "agents/AGENT_X.md", ".mcp.json"}},
		{"repo/a", []string{".env", "../.mcp.json"}},
		{"repo/a/b", []string{"../.env", "../../.mcp.json"}},
		{"plain/a", nil},
		{"plain", []string{".mcp.json"}},
		{"odd/a", nil},
	} {
		// The folder of the test plays home: what lies above it is not the test's.
		s, err := inspectBelow(filepath.Join(dir, c.in), dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, paths(s)); diff != "" {
			t.Errorf("%s: %s", c.in, diff)
		}
	}
	home := filepath.Join(dir, "repo")
	if got := reach(home, home); got != nil {
		t.Errorf("the home folder itself: %q", got)
	}
	if got, want := reach(filepath.Join(home, "a/b"), home), []string{filepath.Join(home, "a/b")}; !cmp.Equal(got, want) {
		t.Errorf("below a home folder with a repository: %q", got)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make func(t *testing.T, dir, outside string)
		want string
	}{
		"a link out":               {func(t *testing.T, dir, outside string) { link(t, outside, dir, ".mcp.json") }, ".mcp.json leads out of the folder"},
		"a folder out":             {func(t *testing.T, dir, outside string) { link(t, filepath.Dir(outside), dir, ".claude") }, "leads out of the folder"},
		"inside a folder":          {func(t *testing.T, dir, outside string) { link(t, outside, dir, ".claude/hooks/x") }, ".claude/hooks/x leads out of the folder"},
		"personas out":             {func(t *testing.T, dir, outside string) { link(t, filepath.Dir(outside), dir, "agents") }, "agents leads out of the folder"},
		"a persona out":            {func(t *testing.T, dir, outside string) { link(t, outside, dir, "agents/AGENT_X.md") }, "agents/AGENT_X.md leads out"},
		"a link to nowhere":        {func(t *testing.T, dir, _ string) { link(t, "later", dir, ".mcp.json") }, ".mcp.json is a link that leads nowhere"},
		"a loop":                   {func(t *testing.T, dir, _ string) { link(t, "../skills", dir, ".claude/skills/again") }, "a link to itself"},
		"a folder for a file":      {func(t *testing.T, dir, _ string) { write(t, dir, map[string]string{".mcp.json/x": "x"}) }, ".mcp.json is not a regular file"},
		"a large file":             {func(t *testing.T, dir, _ string) { large(t, dir, ".mcp.json", maxFile+1) }, "too large"},
		"large together":           {func(t *testing.T, dir, _ string) { several(t, dir, maxTotal/maxFile+1, maxFile) }, "too large"},
		"too many":                 {func(t *testing.T, dir, _ string) { several(t, dir, maxFiles+1, 1) }, "more than 2000 files"},
		"a persona, a folder":      {func(t *testing.T, dir, _ string) { write(t, dir, map[string]string{"agents/AGENT_X.md/y": ""}) }, "AGENT_X.md is not a regular file"},
		"a link within is no harm": {func(t *testing.T, dir, _ string) { inside(t, dir) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
			write(t, filepath.Dir(outside), map[string]string{"secret": "x", "settings.json": "{}"})
			c.make(t, dir, outside)
			s := inspect(t, dir)
			if c.want == "" {
				if s.Problem != "" || s.Hash == "" {
					t.Errorf("%+v", s)
				}
				return
			}
			if !strings.Contains(s.Problem, c.want) || s.Hash != "" || s.Empty() {
				t.Errorf("problem %q, want %q; hash %q", s.Problem, c.want, s.Hash)
			}
			store := Open(t.TempDir())
			if d, _, err := store.Check(dir); d != Unknown || err != nil {
				t.Errorf("decision %s, error %v", d, err)
			}
			if err := store.Decide(dir, s.Hash, true, "ann"); err == nil || !strings.Contains(err.Error(), "cannot be trusted") {
				t.Errorf("it can be trusted: %v", err)
			}
		})
	}
}

func link(t *testing.T, target, dir, name string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func large(t *testing.T, dir, name string, size int64) {
	t.Helper()
	write(t, dir, map[string]string{name: ""})
	if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
		t.Fatal(err)
	}
}

func several(t *testing.T, dir string, n int, size int64) {
	t.Helper()
	for i := range n {
		large(t, dir, fmt.Sprintf(".codex/%d", i), size)
	}
}

// inside makes links that stay in the folder; what they lead to counts.
func inside(t *testing.T, dir string) {
	t.Helper()
	write(t, dir, map[string]string{"shared/skills/SKILL.md": "one", "shared/mcp.json": "{}"})
	link(t, "../../shared/skills", dir, ".claude/skills/mine")
	link(t, "shared/mcp.json", dir, ".mcp.json")
	before := inspect(t, dir)
	if diff := cmp.Diff([]string{".mcp.json", ".claude/skills/mine/SKILL.md"}, paths(before)); diff != "" {
		t.Error(diff)
	}
	write(t, dir, map[string]string{"shared/skills/SKILL.md": "two"})
	if inspect(t, dir).Hash == before.Hash {
		t.Error("what a link leads to has changed, the hash has not")
	}
}

func TestDecisions(t *testing.T) {
	t.Parallel()
	dir, home := t.TempDir(), filepath.Join(t.TempDir(), "new", "home")
	store := Open(home)
	expect := func(want Decision) State {
		t.Helper()
		got, s, err := store.Check(dir)
		if got != want || err != nil {
			t.Fatalf("decision %s, want %s; error %v", got, want, err)
		}
		return s
	}
	expect(Nothing)
	write(t, dir, map[string]string{".mcp.json": "1"})
	one := expect(Unknown)
	if _, err := os.Stat(home); err == nil {
		t.Error("looking has made a folder")
	}
	if err := store.Decide(dir, one.Hash, true, "ann"); err != nil {
		t.Fatal(err)
	}
	expect(Trusted)
	if info, err := os.Stat(filepath.Join(home, fileName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	write(t, dir, map[string]string{".mcp.json": "2"})
	two := expect(Unknown)
	if err := store.Decide(dir, one.Hash, true, "ann"); err == nil || !strings.Contains(err.Error(), "has changed since") {
		t.Errorf("a folder that has changed was decided about: %v", err)
	}
	if err := store.Decide(dir, two.Hash, false, "ann"); err != nil {
		t.Fatal(err)
	}
	expect(Refused)
	write(t, dir, map[string]string{".mcp.json": "1"})
	expect(Trusted) // it is what it was
	if err := store.Decide(dir, one.Hash, false, "ann"); err != nil {
		t.Fatal(err)
	}
	expect(Refused) // a later decision about the same counts
	// The same through a link, but not in another folder.
	link(t, dir, filepath.Dir(home), "link")
	if d, _, err := store.Check(filepath.Join(filepath.Dir(home), "link")); d != Refused || err != nil {
		t.Errorf("through a link: %s, error %v", d, err)
	}
	other := t.TempDir()
	write(t, other, map[string]string{".mcp.json": "1"})
	if d, _, err := store.Check(other); d != Unknown || err != nil {
		t.Errorf("another folder: %s, error %v", d, err)
	}
	for i := range 2 * maxKept {
		write(t, dir, map[string]string{".mcp.json": fmt.Sprint("many", i)})
		if err := store.Decide(dir, inspect(t, dir).Hash, true, "ann"); err != nil {
			t.Fatal(err)
		}
	}
	known, err := store.read()
	if err != nil || len(known.Folders[one.Folder]) != maxKept {
		t.Errorf("%d decisions are kept, error %v", len(known.Folders[one.Folder]), err)
	}
	expect(Trusted)
	if _, _, err := store.Check(filepath.Join(dir, "gone")); err == nil {
		t.Error("a folder that is not there was looked at")
	}
}

func TestForget(t *testing.T) {
	t.Parallel()
	store := Open(t.TempDir())
	if list, err := store.List(); err != nil || len(list) != 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	if known, err := store.Forget("/nowhere"); known || err != nil {
		t.Errorf("an unknown folder: %v, %v", known, err)
	}
	var want []Decided
	for i, trusted := range []bool{true, false} {
		dir := t.TempDir()
		write(t, dir, map[string]string{".mcp.json": "1"})
		s := inspect(t, dir)
		for _, decision := range []bool{!trusted, trusted} { // the last one counts
			if err := store.Decide(dir, s.Hash, decision, fmt.Sprint("ann", i)); err != nil {
				t.Fatal(err)
			}
		}
		want = append(want, Decided{Folder: s.Folder, Decision: map[bool]Decision{true: Trusted, false: Refused}[trusted], By: fmt.Sprint("ann", i)})
	}
	list, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if list[i].At.IsZero() {
			t.Errorf("%+v has no time", list[i])
		}
		list[i].At = time.Time{}
	}
	slices.SortFunc(want, func(a, b Decided) int { return strings.Compare(a.Folder, b.Folder) })
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	if known, err := store.Forget(want[0].Folder); !known || err != nil {
		t.Errorf("%v, %v", known, err)
	}
	if d, _, err := store.Check(want[0].Folder); d != Unknown || err != nil {
		t.Errorf("forgotten, but %s, %v", d, err)
	}
	if d, _, err := store.Check(want[1].Folder); d != want[1].Decision || err != nil {
		t.Errorf("the other folder: %s, %v", d, err)
	}
}

func TestCorruptStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{".mcp.json": "1"})
	hash := inspect(t, dir).Hash
	for name, c := range map[string]struct {
		change func(good string) string
		mode   os.FileMode
		want   string
	}{
		"cut off":         {func(good string) string { return good[:len(good)/2] }, 0o600, "cannot be read"},
		"empty":           {func(string) string { return "" }, 0o600, "cannot be read"},
		"garbage behind":  {func(good string) string { return good + "{}" }, 0o600, "data after its end"},
		"unknown field":   {func(good string) string { return strings.Replace(good, `"hash"`, `"hush"`, 1) }, 0o600, "unknown field"},
		"newer":           {func(good string) string { return strings.Replace(good, `"version": 1`, `"version": 2`, 1) }, 0o600, "newer terret"},
		"others may":      {func(good string) string { return good }, 0o666, "others can write"},
		"larger than all": {func(good string) string { return good + strings.Repeat(" ", maxStore) }, 0o600, "too large"},
	} {
		store := Open(t.TempDir())
		if err := store.Decide(dir, hash, true, "ann"); err != nil {
			t.Fatal(err)
		}
		good, err := os.ReadFile(store.path())
		if err != nil {
			t.Fatal(err)
		}
		bad := c.change(string(good))
		if err := os.WriteFile(store.path(), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(store.path(), c.mode); err != nil {
			t.Fatal(err)
		}
		if d, _, err := store.Check(dir); d != Unknown || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, error %v", name, d, err)
		}
		if err := store.Decide(dir, hash, true, "ann"); err == nil {
			t.Errorf("%s: it was written over", name)
		}
		if after, _ := os.ReadFile(store.path()); string(after) != bad {
			t.Errorf("%s: it has changed", name)
		}
	}
	store := Open(t.TempDir())
	if err := os.Mkdir(store.path(), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Check(dir); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestManyWriters(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var group sync.WaitGroup
	dirs := make([]string, 20)
	for i := range dirs {
		dirs[i] = t.TempDir()
		write(t, dirs[i], map[string]string{".mcp.json": fmt.Sprint(i)})
		group.Go(func() {
			if err := Open(home).Decide(dirs[i], inspect(t, dirs[i]).Hash, true, "ann"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for _, dir := range dirs {
		if d, _, err := Open(home).Check(dir); d != Trusted || err != nil {
			t.Errorf("%s: %s, error %v", dir, d, err)
		}
	}
}

// What a repository's own settings would run acts, and so does a .git that leads
// elsewhere. Other settings change nothing.
func TestGitActs(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git is needed: ", err)
	}
	top := t.TempDir()
	dir := filepath.Join(top, "repo")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	git("init", "-q")
	git("config", "branch.main.remote", "origin")
	if s := inspect(t, dir); !s.Empty() {
		t.Fatalf("nothing acts, but: %+v", s)
	}
	git("config", "core.fsmonitor", "evil")
	s := inspect(t, dir)
	if len(s.Files) != 1 || s.Files[0].Path != ".git/config" || !strings.Contains(s.Files[0].Why, "core.fsmonitor") {
		t.Fatalf("%+v", s)
	}
	git("config", "branch.main.remote", "upstream")
	if again := inspect(t, dir); again.Hash != s.Hash {
		t.Error("a setting that runs nothing changed the hash")
	}
	git("config", "core.fsmonitor", "worse")
	if again := inspect(t, dir); again.Hash == s.Hash {
		t.Error("a setting that runs something did not change the hash")
	}
	git("config", "--unset", "core.fsmonitor")
	write(t, dir, map[string]string{".git/objects/info/alternates": "/elsewhere/objects\n"})
	if s := inspect(t, dir); len(s.Files) != 1 || !strings.Contains(s.Files[0].Why, "/elsewhere/objects") {
		t.Errorf("alternates: %+v", s)
	}
	other := filepath.Join(top, "other")
	write(t, other, map[string]string{".git": "gitdir: " + filepath.Join(dir, ".git")})
	if s := inspect(t, other); len(s.Files) == 0 || !strings.Contains(s.Files[0].Why, "another repository") {
		t.Errorf("a file: %+v", s)
	}
}

package native_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestSkills is that the model is told which skills there are, and gets the text of one
// that it asks for; an untrusted project has none.
func TestSkills(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	put(t, user, map[string]string{
		"skills/release/SKILL.md": "---\nname: release\ndescription: how we release\n---\nTag it.", "skills/release/notes.txt": "x",
		"skills/release/extra.md": "---\ndescription: not this\n---\nNor that.", "skills/broken/SKILL.md": "---\n", "skills/README.md": "no skill",
	})
	for _, trusted := range []bool{true, false} {
		f, got := simulated(t, `
steps:
  - {answer: {tools: [{name: Skill, input: {skill: release}}, {name: Skill, input: {skill: nonsense}}]}}
  - {answer: {text: Done.}}
`, trusting(user, trusted))
		put(t, f.dir, map[string]string{".claude/skills/tests/SKILL.md": "---\ndescription: how we test\n---\nRun them."})
		f.says(f.session(claude), "go")
		w := got.nth(t, 0)
		about := w.Tools[len(w.Tools)-1].Description
		if !strings.Contains(about, "release: how we release") || strings.Contains(about, "tests: how we test") != trusted || strings.Contains(about, "broken") || strings.Contains(about, "README") {
			t.Error(about)
		}
		wantWords(t, spoken(got.nth(t, 1))[2], "result The files of this skill are in "+filepath.Join(user, "skills/release")+".\n\nTag it.", "there is no skill nonsense; there are release")
	}
	f, got := simulated(t, `{steps: [{answer: {text: ok}}]}`)
	start := last[terret.SessionStart](t, f.run(f.session(claude), "hi"))
	if slices.Contains(start.Tools, "Skill") || strings.Contains(string(got.list()[0].Body), "how something is done here") {
		t.Error("it is told of skills, and there are none")
	}
}

package persona

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/terret-dev/terret"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// project makes a folder with files.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, files)
	return dir
}

func put(t *testing.T, dir string, files map[string]string) {
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

func agent(id, text string) map[string]string {
	return map[string]string{"agents/AGENT_" + id + ".md": text}
}

// The named test of the persona manager: tools, all three files, the budget.
func TestDecomp(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"README.md": "the readme", "AGENTS.md": "the conventions",
		"agents/AGENT_DECOMP.md": "---\ntools: [Read, Grep]\n---\n# AGENT_DECOMP\n\nYou are the decomposition agent.\n",
	})
	l := New()
	p, err := l.Load(dir, "DECOMP")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(terret.Persona{ID: "DECOMP", SourceFile: "agents/AGENT_DECOMP.md", Tools: []string{"Read", "Grep"}}, p); diff != "" {
		t.Error(diff)
	}
	p.DisallowedTools, p.MaxTurns = []string{"WebFetch"}, 7
	want := Config{ID: "DECOMP", SourceFile: "agents/AGENT_DECOMP.md", AllowedTools: []string{"Read", "Grep"}, DisallowedTools: []string{"WebFetch"}, MaxTurns: 7}
	if diff := cmp.Diff(want, ConfigOf(p)); diff != "" {
		t.Error(diff)
	}
	got, err := l.Prompt(PromptRequest{Dir: dir, Persona: &p, Mode: terret.ModeWorkbench})
	if err != nil {
		t.Fatal(err)
	}
	text := "You are operating within Terret.\nProject root: " + dir + "\nMode: workbench\n\n" +
		"Contents of README.md:\n\nthe readme\n\nContents of AGENTS.md:\n\nthe conventions\n\n" +
		"Instructions of the persona DECOMP (agents/AGENT_DECOMP.md):\n\n---\ntools: [Read, Grep]\n---\n# AGENT_DECOMP\n\nYou are the decomposition agent.\n\n" +
		"Interactive workbench mode. Engage conversationally. Explain your reasoning. Ask for clarification when needed."
	if diff := cmp.Diff(text, got.Text); diff != "" {
		t.Error(diff)
	}
	if got.Tokens != (len(text)+3)/4 || got.Tokens > maxTokens || got.Notes != nil {
		t.Errorf("%d tokens, notes %q", got.Tokens, got.Notes)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want terret.Persona
	}{
		"none":     {"You are.", terret.Persona{}},
		"nothing":  {"", terret.Persona{}},
		"no keys":  {"---\n---\nYou are.", terret.Persona{}},
		"all tool": {"---\ntools: default\n---\n", terret.Persona{}},
		"everything": {
			"---\nid: LEAD\ndescription: Leads\ntools: \"Read,Grep,Glob,Bash, mcp__github__*\"  # as in the first design\ndisallowed_tools: [\"Write\",\"Edit\", 'Bash(rm *)']\n" +
				"auto_approve_tools: [\"Bash(git *)\",\"Read\"]\nmax_turns: 10\ngates: [stop, pre_tool]\nmodel: opus\nagent: claude\npolicy: deny-unless-allowed\n---\n",
			terret.Persona{
				ID: "LEAD", Description: "Leads", Tools: []string{"Read", "Grep", "Glob", "Bash", "mcp__github__*"}, DisallowedTools: []string{"Write", "Edit", "Bash(rm *)"},
				AutoApproveTools: []string{"Bash(git *)", "Read"}, MaxTurns: 10, Gates: []terret.Gate{terret.GateStop, terret.GatePreTool}, Model: "opus", Agent: "claude", Policy: terret.PolicyDenyUnlessAllowed,
			},
		},
		"CSV with commas inside": {"---\nauto_approve_tools: Bash(git log --format=a,b), Read\n---\n", terret.Persona{AutoApproveTools: []string{"Bash(git log --format=a,b)", "Read"}}},
		"no tools":               {"---\ntools: []\ndisallowed_tools: \"\"\n---\n", terret.Persona{Tools: []string{}, DisallowedTools: []string{}}},
		"no tools as text":       {"---\ntools: \"\"\n---\n", terret.Persona{Tools: []string{}}},
		"twice the same":         {"---\ntools: Read, Read\n---\n", terret.Persona{Tools: []string{"Read"}}},
		"windows":                {"\uFEFF---\r\ntools:\r\n  - Read\r\n---\r\nYou are.\r\n", terret.Persona{Tools: []string{"Read"}}},
		"quoted number":          {"---\nmax_turns: \"7\"\n---\n", terret.Persona{MaxTurns: 7}},
	} {
		got, err := New().Load(project(t, agent("X", c.text)), "X")
		c.want.SourceFile = "agents/AGENT_X.md"
		if c.want.ID == "" {
			c.want.ID = "X"
		}
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v\n%s", name, err, diff)
		}
	}
}

// Whatever is wrong is an error with file and line: never a persona that may do more.
func TestBadSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"not closed":        {"---\ntools: Read\nYou are.", ":1: the settings that begin here are not closed"},
		"late":              {"\n---\ntools: Read\n---\n", ":2: settings must begin with ---"},
		"no fence":          {"tools: Read\n\nYou are.", ":1: settings must be between two lines of ---"},
		"no fence, later":   {"\n\n disallowed_tools : Bash\n", ":3: settings must be between"},
		"unknown key":       {"---\ntools: Read\ncolour: red\n---\n", `:3: unknown key "colour"; the keys are id, description, tools,`},
		"near key":          {"---\ntool: Read\n---\n", `:2: unknown key "tool"; did you mean "tools"?`},
		"hyphen":            {"---\ndisallowed-tools: Read\n---\n", `did you mean "disallowed_tools"?`},
		"upper case":        {"---\nTools: Read\n---\n", `:2: unknown key "Tools"; did you mean "tools"?`},
		"together":          {"---\nmaxTurns: 3\n---\n", `did you mean "max_turns"?`},
		"twice":             {"---\ntools: Read\ntools: Bash\n---\n", ":3: "},
		"no value":          {"---\ntools:\n---\n", ":2: tools has no value"},
		"nested":            {"---\ntools: {a: b}\n---\n", ":2: tools must be"},
		"bad rule":          {"---\nx: 1\n---\n", `:2: unknown key "x"`},
		"unknown gate":      {"---\ngates: stop, stopp\n---\n", `:2: gates: there is no gate "stopp"`},
		"bad approval":      {"---\nauto_approve_tools: Bash(\n---\n", `:2: auto_approve_tools: `},
		"bad denial":        {"---\ndisallowed_tools: [Read, 'Bash(']\n---\n", `:2: disallowed_tools: `},
		"words for tools":   {"---\ntools: Read and Grep\n---\n", `:2: tools: `},
		"star":              {"---\ntools: \"*\"\n---\n", `:2: tools: `},
		"rule as a tool":    {"---\ntools: Read, Bash(git *)\n---\n", ":2: tools takes whole tools; write Bash here, and Bash(git *) in auto_approve_tools"},
		"default and more":  {"---\ntools: default, Read\n---\n", ":2: tools: default means all tools"},
		"empty entry":       {"---\ntools: Read,,Grep\n---\n", ":2: tools has an empty entry"},
		"zero turns":        {"---\nmax_turns: 0\n---\n", `:2: max_turns must be a number from 1 to 10000, not "0"`},
		"negative turns":    {"---\nmax_turns: -1\n---\n", "max_turns must be a number"},
		"words for turns":   {"---\nmax_turns: many\n---\n", "max_turns must be a number"},
		"turns beyond":      {"---\nmax_turns: 99999999999999999999\n---\n", "max_turns must be a number"},
		"list for one":      {"---\nmodel: [a, b]\n---\n", ":2: model must be one value, not a list"},
		"empty model":       {"---\nmodel: \"\"\n---\n", ":2: model has no value"},
		"flag for a model":  {"---\nmodel: --x\n---\n", "is not a model name"},
		"lines":             {"---\nmodel: |\n  a\n  b\n---\n", "contains control characters or several lines"},
		"policy":            {"---\npolicy: yolo\n---\n", `there is no policy "yolo"; use ask, `},
		"path for an agent": {"---\nagent: ../x\n---\n", "is not a name"},
		"path for an id":    {"---\nid: a/b\n---\n", "is not a name"},
		"long description":  {"---\ndescription: " + strings.Repeat("x", 600) + "\n---\n", "description must not be longer than"},
		"NUL":               {"---\ntools: Read\n---\nYou\x00", ":4: it contains a NUL byte"},
		"not UTF-8":         {"You \xff", ":1: it is not UTF-8"},
		"huge":              {strings.Repeat("x", maxFile+1), " is larger than 256 KB"},
		"many tools":        {"---\ntools: [" + manyNames(201) + "]\n---\n", "more than 200 entries"},
	} {
		dir := project(t, agent("X", c.text))
		got, err := New().Load(dir, "X")
		e, ok := errors.AsType[*terret.Error](err)
		if !ok || e.Code != terret.CodeInvalidRequest || e.Field != "persona" || !strings.HasPrefix(e.Message, "agents/AGENT_X.md") || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %+v, error %v, want %q", name, got, err, c.want)
		}
		listing, err := New().List(dir)
		if err != nil || len(listing.Personas) != 0 || len(listing.Broken) != 1 {
			t.Errorf("%s: listed as %+v, error %v", name, listing, err)
		}
		if _, err := New().Prompt(PromptRequest{Dir: dir, Persona: &terret.Persona{ID: "X", SourceFile: "agents/AGENT_X.md"}}); err == nil {
			t.Errorf("%s: there is a prompt", name)
		}
	}
}

func manyNames(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("T", i))
	}
	return strings.Join(names, ", ")
}

func TestFinding(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"agents/AGENT_PROJECT_DECOMP.md": "a", "agents/AGENT_A_TWIN.md": "b", "agents/AGENT_B_TWIN.md": "c", "agents/AGENT_LONG.md": "---\nid: SHORT\n---\n",
		"agents/AGENT_EXACT.md": "d", "agents/AGENT_OLD_EXACT.md": "e", "agents/AGENT_BAD.md": "---\nx: 1\n---\n", "agents/AGENT_GOOD_BAD.md": "f",
		"agents/AGENT_THIEF.md": "---\nid: EXACT\n---\n", "agents/AGENT_X_OTHER_BAD.md": "---\nx: 1\n---\n", "agents/AGENT_with space.md": "g", "agents/AGENT_.md": "h",
		"agents/agent_lower.md": "i", "agents/README.md": "j", "agents/AGENT_DIR.md/x": "k", "agents/AGENT_TEXT.txt": "l",
	})
	l := New()
	for _, c := range []struct{ id, source, want string }{
		{"PROJECT_DECOMP", "PROJECT_DECOMP", ""},
		{"DECOMP", "PROJECT_DECOMP", ""},
		{"EXACT", "EXACT", ""},
		{"SHORT", "LONG", ""},
		{"LONG", "LONG", ""},
		{"TWIN", "", `"TWIN" could be any of A_TWIN, B_TWIN`},
		{"BAD", "", `agents/AGENT_BAD.md:2: unknown key "x"`}, // not another one that ends so
		{"OTHER_BAD", "", "agents/AGENT_X_OTHER_BAD.md:2: "},
		{"THIEF", "", "its id EXACT already belongs to agents/AGENT_EXACT.md"},
		{"COMP", "", `there is no persona "COMP"; use one of A_TWIN, B_TWIN, EXACT, GOOD_BAD, OLD_EXACT, PROJECT_DECOMP, SHORT; ` + "`terret personas ls` shows what is wrong with the others"},
		{"decomp", "", `there is no persona "decomp"`},
		{"", "", "is not a name"},
		{"../x", "", "is not a name"},
		{"with space", "", "is not a name"},
		{"lower", "", "there is no persona"},
		{"DIR", "", "not a regular file"},
	} {
		p, err := l.Load(dir, c.id)
		switch {
		case c.want == "" && (err != nil || p.SourceFile != "agents/AGENT_"+c.source+".md"):
			t.Errorf("%q: %+v, error %v", c.id, p, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%q: error %v, want %q", c.id, err, c.want)
		}
		if strings.HasPrefix(c.want, "there is no") && !errors.Is(err, terret.ErrNotFound) {
			t.Errorf("%q: kind %s", c.id, terret.AsError(err).Code)
		}
	}
	listing, err := l.List(dir)
	if err != nil || len(listing.Personas) != 7 || len(listing.Broken) != 6 {
		t.Errorf("%+v, error %v", listing, err)
	}
	for _, p := range listing.Personas {
		if p.Trusted {
			t.Errorf("%s is trusted", p.ID)
		}
	}
	for name, dir := range map[string]string{"no folder": project(t, nil), "a file": project(t, map[string]string{"agents": "x"})} {
		listing, err := l.List(dir)
		if err != nil || listing.Personas == nil || len(listing.Personas)+len(listing.Broken) > 0 {
			t.Errorf("%s: %+v, error %v", name, listing, err)
		}
		if _, err := l.Load(dir, "X"); !errors.Is(err, terret.ErrNotFound) || !strings.Contains(err.Error(), "this project has none; a persona is a file named agents/AGENT_*.md") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := l.List(filepath.Join(dir, "gone")); err == nil {
		t.Error("a folder that is not there has personas")
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "secret.md")
	put(t, filepath.Dir(outside), map[string]string{"secret.md": "secret", "AGENT_Y.md": "secret"})
	link := func(target, dir, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	dir := project(t, map[string]string{"agents/AGENT_X.md": "X", "docs/README.md": "the readme"})
	link(outside, dir, "agents/AGENT_OUT.md")
	link("AGENT_X.md", dir, "agents/AGENT_IN.md")
	link("docs/README.md", dir, "README.md")
	link(outside, dir, "AGENTS.md")
	l := New()
	if _, err := l.Load(dir, "OUT"); err == nil || !strings.Contains(err.Error(), "agents/AGENT_OUT.md: it is a link that leads out of the project's folder") {
		t.Errorf("a link out: %v", err)
	}
	p, err := l.Load(dir, "IN")
	if err != nil {
		t.Fatal(err)
	}
	got, err := l.Prompt(PromptRequest{Dir: dir, Persona: &p})
	if err != nil || strings.Contains(got.Text, "secret") || !strings.Contains(got.Text, "the readme") || !strings.Contains(got.Text, "\n\nX\n\n") {
		t.Errorf("%q, error %v", got.Text, err)
	}
	if diff := cmp.Diff([]string{"AGENTS.md is omitted: it is a link that leads out of the project's folder"}, got.Notes); diff != "" {
		t.Error(diff)
	}
	for _, source := range []string{"../x", "agents/../README.md", "README.md", "agents/AGENT_../../x.md", "/agents/AGENT_X.md", "agents/AGENT_X"} {
		if _, err := l.Prompt(PromptRequest{Dir: dir, Persona: &terret.Persona{ID: "X", SourceFile: source}}); err == nil {
			t.Errorf("a persona was read from %s", source)
		}
	}
	moved := project(t, nil)
	link(filepath.Dir(outside), moved, "agents")
	if got, err := l.List(moved); err == nil || len(got.Personas) > 0 {
		t.Errorf("a folder of personas outside: %+v, error %v", got, err)
	}
}

// A file is read again when it has changed, and only then.
func TestCache(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"README.md": "first", "agents/AGENT_X.md": "You are one."})
	readme := filepath.Join(dir, "README.md")
	l := New()
	prompt := func() string {
		t.Helper()
		p, err := l.Load(dir, "X")
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.Prompt(PromptRequest{Dir: dir, Persona: &p})
		if err != nil {
			t.Fatal(err)
		}
		return got.Text
	}
	change := func(path, text string, at time.Time) {
		t.Helper()
		put(t, dir, map[string]string{path: text})
		if err := os.Chtimes(filepath.Join(dir, path), at, at); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-time.Hour).Truncate(time.Second)
	change("README.md", "first", before)
	expect := func(want string) {
		t.Helper()
		if got := prompt(); !strings.Contains(got, want) {
			t.Errorf("the prompt does not hold %q:\n%s", want, got)
		}
	}
	expect("first")
	change("README.md", "other", before) // behind our back: same size, same time
	expect("first")
	change("README.md", "other", before.Add(time.Nanosecond*1000))
	expect("other")
	change("README.md", "a longer one", before.Add(time.Nanosecond*1000))
	expect("a longer one")
	change("README.md", "an older one", before.Add(-time.Hour)) // somebody put it back
	expect("an older one")
	if err := os.Remove(readme); err != nil {
		t.Fatal(err)
	}
	if got := prompt(); strings.Contains(got, "README") {
		t.Errorf("a file that is gone is in the prompt:\n%s", got)
	}
	// Times that are too new tell nothing.
	now := time.Now()
	change("README.md", "one", now)
	expect("one")
	change("README.md", "two", now)
	expect("two")
	change("agents/AGENT_X.md", "You are two.", time.Now())
	expect("You are two.")
}

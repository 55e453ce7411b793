package persona

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

func TestModes(t *testing.T) {
	t.Parallel()
	dir := project(t, nil)
	for mode, want := range map[terret.Mode]string{
		terret.ModeWorkbench: "Mode: workbench\n\nInteractive workbench mode. Engage conversationally. Explain your reasoning. Ask for clarification when needed.",
		terret.ModePipeline:  "Mode: pipeline\n\nPipeline execution mode. Execute the task efficiently with minimal interaction. Report results concisely.",
		terret.ModeDirect:    "Mode: direct\n\nDirect terminal mode. Execute commands as requested. Minimal commentary.",
		"":                   "Mode: direct\n\nDirect terminal mode. Execute commands as requested. Minimal commentary.",
	} {
		got, err := New().Prompt(PromptRequest{Dir: dir, Mode: mode, Product: "Acme"})
		if diff := cmp.Diff("You are operating within Acme.\nProject root: "+dir+"\n"+want, got.Text); diff != "" || err != nil {
			t.Errorf("%q: error %v\n%s", mode, err, diff)
		}
	}
	if _, err := New().Prompt(PromptRequest{Dir: dir, Mode: "loud"}); err == nil || !strings.Contains(err.Error(), `unknown mode "loud"; use workbench, pipeline or direct`) {
		t.Errorf("error %v", err)
	}
}

// Without a persona there is no part of one.
func TestNoPersona(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"README.md": "the readme", "agents/AGENT_X.md": "You are X."})
	got, err := New().Prompt(PromptRequest{Dir: dir, Mode: terret.ModeDirect, Append: "  Be brief.\n"})
	want := "You are operating within Terret.\nProject root: " + dir + "\nMode: direct\n\nContents of README.md:\n\nthe readme\n\n" +
		"Direct terminal mode. Execute commands as requested. Minimal commentary.\n\nBe brief."
	if diff := cmp.Diff(want, got.Text); diff != "" || err != nil {
		t.Errorf("error %v\n%s", err, diff)
	}
}

func TestProjectContext(t *testing.T) {
	t.Parallel()
	euro := "€" // three bytes
	for name, c := range map[string]struct{ text, want, note string }{
		"4 KB":             {strings.Repeat("x", 4096), strings.Repeat("x", 4096), ""},
		"more":             {strings.Repeat("x", 4096) + "y", strings.Repeat("x", 4096), "README.md is cut to its first 4 KB"},
		"a lot":            {strings.Repeat("x", 10<<20), strings.Repeat("x", 4096), "README.md is cut to its first 4 KB"},
		"inside a rune":    {strings.Repeat(euro, 2000), strings.Repeat(euro, 1365), "README.md is cut to its first 4 KB"},
		"end of a rune":    {"x" + strings.Repeat(euro, 2000), "x" + strings.Repeat(euro, 1365), "README.md is cut to its first 4 KB"},
		"not UTF-8":        {"a\xffb", "a\uFFFDb", ""},
		"NUL and escape":   {"a\x00b\x1bc", "a\uFFFDb\uFFFDc", ""},
		"windows":          {"\uFEFFa\r\n\tb\r\n", "a\n\tb", ""},
		"broken at 4 KB":   {strings.Repeat("x", 4095) + "\xff" + "y", strings.Repeat("x", 4095) + "\uFFFD", "README.md is cut to its first 4 KB"},
		"continued at 4KB": {strings.Repeat("x", 4090) + strings.Repeat("\x80", 20), strings.Repeat("x", 4090) + "\uFFFD", "README.md is cut to its first 4 KB"},
	} {
		got, err := New().Prompt(PromptRequest{Dir: project(t, map[string]string{"README.md": c.text})})
		_, text, _ := strings.Cut(got.Text, "Contents of README.md:\n\n")
		text, _, _ = strings.Cut(text, "\n\nDirect")
		if text != c.want || err != nil || strings.Join(got.Notes, "") != c.note {
			t.Errorf("%s: %d bytes, want %d; notes %q, error %v", name, len(text), len(c.want), got.Notes, err)
		}
	}
	for _, blank := range []string{"", " \n\n"} {
		got, err := New().Prompt(PromptRequest{Dir: project(t, map[string]string{"README.md": blank})})
		if err != nil || strings.Contains(got.Text, "README") {
			t.Errorf("%q: %q, error %v", blank, got.Text, err)
		}
	}
	dir := project(t, map[string]string{"README.md/x": ""})
	got, err := New().Prompt(PromptRequest{Dir: dir})
	if err != nil || !cmp.Equal(got.Notes, []string{"README.md is omitted: not a regular file"}) {
		t.Errorf("notes %q, error %v", got.Notes, err)
	}
}

// The folder's name is a name and nothing else.
func TestFolderName(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a\nMode: yours")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := New().Prompt(PromptRequest{Dir: dir})
	if err != nil || strings.Contains(got.Text, "\nMode: yours") {
		t.Errorf("%q, error %v", got.Text, err)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	size := utf8.RuneCountInString
	dir := project(t, map[string]string{
		"README.md": strings.Repeat("r", 5000), "AGENTS.md": strings.Repeat("a", 5000), "agents/AGENT_X.md": strings.Repeat("é", 100_000),
	})
	got, err := New().Prompt(PromptRequest{Dir: dir, Persona: &terret.Persona{ID: "X", SourceFile: "agents/AGENT_X.md"}, Mode: terret.ModePipeline, Append: "last words"})
	if err != nil {
		t.Fatal(err)
	}
	if size(got.Text) != 64_000 || got.Tokens != maxTokens {
		t.Errorf("%d characters, %d tokens", size(got.Text), got.Tokens)
	}
	for _, want := range []string{"Mode: pipeline\n", strings.Repeat("r", 4096), strings.Repeat("a", 4096), "é" + cutMark + "\n\nPipeline execution mode.", "\n\nlast words"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("the prompt does not hold %.40q", want)
		}
	}
	if !strings.Contains(strings.Join(got.Notes, "\n"), "agents/AGENT_X.md is cut: the system prompt is too long") {
		t.Errorf("notes %q", got.Notes)
	}
	if _, err := New().Prompt(PromptRequest{Dir: dir, Append: strings.Repeat("x", 64_000)}); err == nil || !strings.Contains(err.Error(), "system_append: the text is too long") {
		t.Errorf("error %v", err)
	}
}

// With any budget: base, mode and the person's text are whole, the rest is cut from
// its end and in order, and the budget holds.
func TestCutOrder(t *testing.T) {
	t.Parallel()
	parts := promptParts{base: "BASE", mode: "MODE", own: "OWN", texts: []section{
		{"head1:", "README.md", strings.Repeat("r", 100)}, {"head2:", "AGENTS.md", strings.Repeat("a", 100)}, {"head3:", "agents/AGENT_X.md", strings.Repeat("ü", 100)},
	}}
	whole, cuts, err := parts.join(1 << 20)
	if err != nil || cuts != nil {
		t.Fatalf("cuts %q, error %v", cuts, err)
	}
	size := utf8.RuneCountInString(whole)
	least := len("BASE\n\nMODE\n\nOWN")
	lastR, lastA, lastP := 100, 100, 100
	for limit := size; limit >= 0; limit-- {
		text, _, err := parts.join(limit)
		if limit < least {
			if err == nil {
				t.Fatalf("limit %d: no error", limit)
			}
			continue
		}
		if err != nil || utf8.RuneCountInString(text) > limit || !strings.HasPrefix(text, "BASE\n\n") || !strings.HasSuffix(text, "\n\nMODE\n\nOWN") {
			t.Fatalf("limit %d: %q, error %v", limit, text, err)
		}
		body := strings.ReplaceAll(text, cutMark, "")
		for _, head := range []string{"head1:", "head2:", "head3:", "BASE", "MODE", "OWN"} {
			body = strings.ReplaceAll(body, head, "")
		}
		r, a, p := strings.Count(body, "r"), strings.Count(body, "a"), strings.Count(body, "ü")
		if r > lastR || a > lastA || p > lastP || r < 100 && a > 0 || a < 100 && p > 0 {
			t.Fatalf("limit %d: %d, %d, %d characters after %d, %d, %d", limit, r, a, p, lastR, lastA, lastP)
		}
		lastR, lastA, lastP = r, a, p
	}
	if lastR+lastA+lastP > 0 {
		t.Errorf("at the least, %d, %d, %d characters are left", lastR, lastA, lastP)
	}
}

// Any number of goroutines may use a library.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"README.md": "x", "agents/AGENT_X.md": "---\ntools: Read\n---\n"})
	l := New()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 20 {
				if i == 0 {
					put(t, dir, map[string]string{"README.md": fmt.Sprint(n)})
				}
				p, err := l.Load(dir, "X")
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := l.Prompt(PromptRequest{Dir: dir, Persona: &p}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

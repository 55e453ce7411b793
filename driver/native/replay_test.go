package native_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// recorded is the recording of a session with several calls at once, a call that fails, a
// thought, and an attempt that is repeated. Its folder is gone.
func recorded(t *testing.T) (path, dir string) {
	t.Helper()
	home := t.TempDir()
	f, _ := simulated(t, `
steps:
  - answer:
      text: "I look. The key is {{key}}."
      tools:
        - {name: Read, input: {file_path: there}}
        - {name: Read, input: {file_path: missing}}
        - {name: Bash, input: {command: "echo {{key}} > made; cat made"}}
  - answer: {error: {status: 529, type: overloaded_error}}
  - {answer: {text: I have seen it.}}
  - {answer: {tools: [{name: Write, input: {file_path: new, content: words}}]}}
  - {answer: {text: Done.}}
`, func(s *setup) { s.native.Home = home })
	f.write("there", "words")
	id := f.session(claude, withOptions(terret.SessionOptions{Record: true}))
	f.says(id, "look, with the key "+canary)
	if text := f.says(id, "write"); text != "Done." {
		t.Error(text)
	}
	f.close()
	return native.RecordingPath(home, id), f.dir
}

// again runs a recording again, and returns what differs.
func again(t *testing.T, path, dir string, change func(*setup, *terret.Session)) []native.Difference {
	t.Helper()
	r, err := native.ReadReplay(path)
	if err != nil {
		t.Fatal(err)
	}
	s := setup{native: native.Config{Replay: r}}
	session := terret.Session{Agent: native.Name, Model: "anthropic/claude-test", Policy: terret.PolicyAutoApprove}
	if change != nil {
		change(&s, &session)
	}
	f := newFixture(t, s)
	r.Here, r.There = f.dir, dir
	id := f.session(func(made *terret.Session) { session.Cwd = f.dir; *made = session })
	for _, p := range r.Prompts() {
		f.end(id, f.promptWith(id, p).ID)
	}
	if left, err := os.ReadDir(f.dir); err != nil || len(left) != 0 && !r.RealTools {
		t.Errorf("something was done: %v, %v", left, err)
	}
	return r.Differences()
}

func TestReplay(t *testing.T) {
	t.Parallel()
	path, dir := recorded(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), canary) {
		t.Errorf("%v, or there is a key in %s", err, text)
	}
	if got := again(t, path, dir, nil); len(got) != 0 {
		t.Errorf("nothing has changed, but %+v", got)
	}
	if r, err := native.ReadReplay(path); err != nil || r.Calls() != 5 || len(r.Prompts()) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReplayDiffers(t *testing.T) {
	t.Parallel()
	path, dir := recorded(t)
	for name, c := range map[string]struct {
		change func(*setup, *terret.Session)
		want   []string // of each difference
	}{
		"a prompt": {func(_ *setup, s *terret.Session) { s.Options.SystemAppend = "Be brief." }, []string{"1 system prompt +Be brief."}},
		"a model":  {func(_ *setup, s *terret.Session) { s.Model = "openai/gpt-test" }, []string{"1 model -anthropic/claude-test"}},
		"a new tool": {
			func(s *setup, _ *terret.Session) { s.native.Tools = []native.Tool{counter()} },
			[]string{"1 tools +Count: Counts."},
		},
		"a tool less": {
			func(_ *setup, s *terret.Session) { s.Options.DisallowedTools = []string{"Bash"} },
			[]string{"1 tools -Bash: ", "2 message 3 +result there is no tool Bash"},
		},
		"effort": {func(_ *setup, s *terret.Session) { s.Options.Effort = "high" }, []string{"1 effort +high"}},
		"tools in an empty folder": {
			func(s *setup, _ *terret.Session) { s.native.Replay.RealTools = true },
			[]string{"2 message 3 +result there does not exist"},
		},
		"a limit": {
			func(_ *setup, s *terret.Session) { s.Options.MaxTurns = 1 },
			[]string{"2 message 3 +text write", "4 calls -2 more calls"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := again(t, path, dir, c.change)
			var all strings.Builder
			for _, d := range got {
				all.WriteString(strings.Join([]string{strconv.Itoa(d.Call), d.What, d.Diff}, " ") + "\n")
			}
			for _, want := range c.want {
				call, words, _ := strings.Cut(want, " ")
				what, diff, _ := strings.Cut(words, " +")
				if diff == "" {
					what, diff, _ = strings.Cut(words, " -")
				}
				if !slices.ContainsFunc(got, func(d native.Difference) bool {
					return strconv.Itoa(d.Call) == call && d.What == what && strings.Contains(d.Diff, diff)
				}) {
					t.Errorf("it does not say %q:\n%s", want, all.String())
				}
			}
			if len(got) != len(c.want) {
				t.Errorf("%d differences:\n%s", len(got), all.String())
			}
		})
	}
}

func TestBadRecordings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}\nnonsense\n{}\n":                     ":2: ",
		`{"call":{"model":"m","same":3}}` + "\n": ":1: a call before it is missing",
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := native.ReadReplay(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	cut := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(cut, []byte("{\"prompt\":{\"blocks\":[]}}\n{\"call\":{\"mod"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := native.ReadReplay(cut); err != nil || len(r.Prompts()) != 1 {
		t.Errorf("%v", err)
	}
}

// TestRecordNowhere refuses to record if there is no folder for it.
func TestRecordNowhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, setup{})
	id := f.session(withOptions(terret.SessionOptions{Record: true}))
	if e := last[terret.TurnError](t, f.run(id, "go")); !strings.Contains(e.Error.Message, "cannot be recorded") {
		t.Errorf("%+v", e)
	}
}

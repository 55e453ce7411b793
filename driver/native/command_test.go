package native_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// put writes files into a folder.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// trusting has a user's folder, and trusts the project or not.
func trusting(user string, trusted bool) func(*setup) {
	return func(s *setup) {
		s.native.UserDir = user
		s.config = func(c *engine.Config) {
			c.Home = user
			c.Trust = func(string) bool { return trusted }
		}
	}
}

// TestCommands runs commands from all places, with arguments; an untrusted project has
// none. What the model heard is remembered, and can be undone.
func TestCommands(t *testing.T) {
	t.Parallel()
	user := t.TempDir()
	put(t, user, map[string]string{
		"commands/greet.md":  "---\ndescription: says hello\nargument-hint: NAME\n---\nGreet $1 and $2, in short: $ARGUMENTS.",
		"commands/plain.md":  "Do the plain thing.",
		"commands/broken.md": "---\nnot closed",
		"commands/a.txt":     "no",
	})
	for _, trusted := range []bool{true, false} {
		f, got := simulated(t, `{steps: [{answer: {text: ok}, repeat: forever}]}`, trusting(user, trusted))
		put(t, f.dir, map[string]string{".terret/commands/git/tidy.md": "Tidy up.", ".claude/commands/plain.md": "Do theirs.", ".terret/commands/plain.md": "Do the project's."})
		id, ctx := f.session(claude), t.Context()
		list, err := f.Commands(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range list {
			names = append(names, c.Name+": "+c.Description+" "+c.Hint)
		}
		want := []string{
			"broken: its file cannot be read: line 1: the settings that begin here are not closed; write --- on its own line after them ",
			"context: show what fills the context ", "git:tidy: Tidy up. ", "greet: says hello NAME", "init: write AGENTS.md for this project ", "plain: Do the project's. ",
		}
		if !trusted {
			want = append(want[:2:2], "greet: says hello NAME", "init: write AGENTS.md for this project ", "plain: Do the plain thing. ")
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("trusted %v: %s", trusted, diff)
		}
		run := func(name, args string) []terret.Event {
			t.Helper()
			turn, err := f.RunCommand(ctx, engine.CommandRequest{Session: id, Name: name, Args: args})
			if err != nil {
				t.Fatal(err)
			}
			return f.end(id, turn.ID)
		}
		last[terret.TurnComplete](t, run("greet", "Ada $1"))
		last[terret.TurnComplete](t, run("plain", "now"))
		if e := last[terret.TurnError](t, run("unheard-of", "")).Error; e.Code != terret.CodeNotFound {
			t.Errorf("%+v", e)
		}
		if e := last[terret.TurnError](t, run("broken", "")).Error; e.Code != terret.CodeInvalidRequest {
			t.Errorf("%+v", e)
		}
		if err := f.CloseSession(ctx, id, ""); err != nil {
			t.Fatal(err)
		}
		plain := map[bool]string{true: "Do the project's.", false: "Do the plain thing."}[trusted] + "\n\nnow"
		f.says(id, "more")
		said := spoken(got.nth(t, len(got.list())-1))
		if diff := cmp.Diff([]string{"user Greet Ada and $1, in short: Ada $1.", "assistant ok", "user " + plain, "assistant ok", "user more"}, said); diff != "" {
			t.Error(diff)
		}
	}
}

// TestUndoOfCommand goes back to before a command, of which the agent has no id.
func TestUndoOfCommand(t *testing.T) {
	t.Parallel()
	f, got := simulated(t, `{steps: [{answer: {text: ok}, repeat: forever}]}`, trusting(t.TempDir(), false))
	id := f.session(claude)
	f.says(id, "one")
	turn, err := f.RunCommand(t.Context(), engine.CommandRequest{Session: id, Name: "init", Args: "in Latin"})
	if err != nil {
		t.Fatal(err)
	}
	f.end(id, turn.ID)
	if said := spoken(got.nth(t, 1)); !strings.Contains(said[2], "AGENTS.md") || !strings.Contains(said[2], "in Latin") {
		t.Errorf("%q", said)
	}
	if r, err := f.Undo(t.Context(), id, "tester", false); err != nil || !r.Conversation {
		t.Fatalf("%+v, %v", r, err)
	}
	f.says(id, "two")
	if diff := cmp.Diff([]string{"user one", "assistant ok", "user two"}, spoken(got.nth(t, 2))); diff != "" {
		t.Error(diff)
	}
}

// TestInstructions is what the model is told of AGENTS.md and CLAUDE.md: the user's own,
// and those of a trusted project from the repository's root down.
func TestInstructions(t *testing.T) {
	t.Parallel()
	user, repo := t.TempDir(), t.TempDir()
	put(t, user, map[string]string{"AGENTS.md": "All: be kind."})
	put(t, repo, map[string]string{
		"AGENTS.md": "Outside.", "r/.git/HEAD": "x", "r/AGENTS.md": "Root: use tabs.", "r/CLAUDE.md": "Not this.", "r/a/b/CLAUDE.md": "Deep: use spaces.",
	})
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, filepath.Dir(secret), map[string]string{"secret": "hush"})
	if err := os.Symlink(secret, filepath.Join(repo, "r/a/AGENTS.md")); err != nil && runtime.GOOS != "windows" {
		t.Fatal(err)
	}
	for _, trusted := range []bool{true, false} {
		f, got := simulated(t, `{steps: [{answer: {text: ok}}]}`, trusting(user, trusted))
		f.says(f.session(claude, func(s *terret.Session) { s.Cwd = filepath.Join(repo, "r/a/b") }), "hi")
		system := got.nth(t, 0).System[0].Text
		at := -1
		for _, words := range []string{"All: be kind.", "Root: use tabs.", "Deep: use spaces."} {
			i := strings.Index(system, words)
			if want := trusted || words == "All: be kind."; (i >= 0) != want || want && i < at {
				t.Errorf("trusted %v: %q is at %d, after %d", trusted, words, i, at)
			}
			at = i
		}
		for _, words := range []string{"Outside", "Not this", "hush"} {
			if strings.Contains(system, words) {
				t.Errorf("it is told %q", words)
			}
		}
	}
}

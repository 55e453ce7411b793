package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/project"
	"github.com/terret-dev/terret/store/sqlite"
)

// A session of Claude Code whose system prompt was saved is shown with the command
// that does the last turn without Terret.
func TestShowReplay(t *testing.T) {
	t.Parallel()
	ctx, home := t.Context(), t.TempDir()
	store, err := sqlite.Open(ctx, filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Create(ctx, terret.Session{ID: terret.NewSessionID(), Agent: "claude", Cwd: t.TempDir(), Mode: terret.ModeDirect, Policy: terret.PolicyAsk})
	if err != nil {
		t.Fatal(err)
	}
	claim, err := store.Claim(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	turn := terret.NewID(terret.PrefixTurn)
	done, err := store.Commit(ctx, []terret.Batch{{Session: s.ID, Epoch: claim.Session.Epoch, After: claim.Session.LastSeq, Events: []terret.Event{
		{Session: s.ID, Turn: turn, Time: terret.Now(), Data: terret.TurnStart{Prompt: []terret.Block{terret.Text("what's up?")}}},
		{Session: s.ID, Turn: turn, Time: terret.Now(), Data: terret.TurnComplete{}},
	}}})
	if err != nil || done[0].Err != nil {
		t.Fatal(err, done)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	show := func() string {
		code, out, stderr := inProcess(t, "", nil, "sessions", "show", s.ID, "--data", home)
		if code != 0 {
			t.Fatal(code, stderr)
		}
		return out
	}
	if out := show(); strings.Contains(out, "without Terret") {
		t.Errorf("no prompt was saved:\n%s", out)
	}
	if _, err := project.New(project.Options{}).SavePrompt(s, "be brief"); err != nil {
		t.Fatal(err)
	}
	want := `claude -p 'what'\''s up?' --output-format=stream-json --verbose --append-system-prompt-file=.terret/prompts/` + s.ID + "-system.txt\n"
	if out := show(); !strings.HasSuffix(out, want) {
		t.Errorf("shown:\n%s\nwant at its end:\n%s", out, want)
	}
}

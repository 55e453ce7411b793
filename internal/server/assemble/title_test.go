package assemble

import (
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/config"
)

// TestTitle holds that the configured model gives a session its title, from the beginning of
// the prompt.
func TestTitle(t *testing.T) {
	t.Parallel()
	h := start(t, Options{Config: config.Config{TitleModel: "demo"}})
	s, err := h.Sessions(nil).Create(t.Context(), terret.Session{Agent: "native", Model: "demo", Cwd: t.TempDir(), Policy: terret.PolicyAutoApprove}, CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	prompt := "list files\n" + strings.Repeat("é", maxTitled)
	if _, err := h.Engine.Prompt(t.Context(), engine.PromptRequest{Session: s.ID, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text(prompt)}}}); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		now, err := h.Store.Session(t.Context(), s.ID)
		if err != nil || time.Now().After(deadline) {
			t.Fatal(now.Title, err)
		}
		if now.Title != "" && now.Title != "list files" {
			if !strings.HasPrefix(now.Title, "I am the built-in demo model") {
				t.Error(now.Title)
			}
			return
		}
	}
}

package httpapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/httpapi"
)

// TestReplayCommand shows the command that does a turn without Terret, for the agent that
// has one and only if a system prompt was saved.
func TestReplayCommand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *httpapi.Config, e *engine.Config) {
		d := mock.NewFunc("claude", func(terret.Session) mock.Script { return mock.Script{Turns: [][]mock.Step{{{Text: "hm"}}}} })
		c.Drivers, e.Drivers = []terret.Driver{d}, []terret.Driver{d}
	})
	s := f.session(func(b map[string]any) { b["agent"] = "claude" })
	turn := f.prompt(s.ID, "what's up?")
	f.wait(s.ID, terret.KindTurnComplete)
	at := "/v1/sessions/" + s.ID + "/turns/" + turn.ID + "/replay"
	f.do("GET", at, nil).problem(501, terret.CodeUnsupported, "")
	f.do("GET", "/v1/sessions/"+s.ID+"/turns/trn_none/replay", nil).problem(404, terret.CodeNotFound, "")
	prompts := filepath.Join(s.Cwd, ".terret", "prompts")
	if err := os.MkdirAll(prompts, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(prompts, s.ID+"-system.txt"), []byte("be brief"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct{ Command string }
	f.do("GET", at, nil).want(200, &got)
	if !strings.HasPrefix(got.Command, `claude -p 'what'\''s up?' --output-format=stream-json --verbose --append-system-prompt-file=.terret/prompts/`+s.ID) {
		t.Errorf("the command is %s", got.Command)
	}
}

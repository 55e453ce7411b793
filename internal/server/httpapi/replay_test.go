package httpapi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// handy is an agent that people can use by hand.
type handy struct{ *mock.Driver }

func (handy) ByHand(s terret.Session, message, promptFile string) []string {
	return []string{s.Agent, "-p", message, "--system=" + promptFile}
}

// TestReplayCommand shows the command that does a turn without Terret, for an agent that
// has one and only if a system prompt was saved.
func TestReplayCommand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *httpapi.Config, e *engine.Config) {
		script := func(terret.Session) mock.Script { return mock.Script{Turns: [][]mock.Step{{{Text: "hm"}}}} }
		c.Drivers = []terret.Driver{mock.NewFunc("shy", script), handy{mock.NewFunc("handy", script)}}
		e.Drivers = c.Drivers
	})
	s := f.session(func(b map[string]any) { b["agent"] = "handy" })
	turn := f.prompt(s.ID, "what's up?")
	f.wait(s.ID, terret.KindTurnComplete)
	at := "/v1/sessions/" + s.ID + "/turns/" + turn.ID + "/replay"
	f.do("GET", at, nil).problem(501, terret.CodeUnsupported, "")
	shy := f.session(func(b map[string]any) { b["agent"] = "shy" })
	its := f.prompt(shy.ID, "what's up?")
	f.wait(shy.ID, terret.KindTurnComplete)
	if said := f.do("GET", "/v1/sessions/"+shy.ID+"/turns/"+its.ID+"/replay", nil).problem(501, terret.CodeUnsupported, ""); !strings.Contains(said.Detail, "the agent shy has none") {
		t.Errorf("an agent without one: %s", said.Detail)
	}
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
	if got.Command != `handy -p 'what'\''s up?' --system=.terret/prompts/`+s.ID+"-system.txt" {
		t.Errorf("the command is %s", got.Command)
	}
}

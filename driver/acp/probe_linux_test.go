package acp

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/terret-dev/terret"
)

// TestMeet has programs without a profile introduce themselves.
func TestMeet(t *testing.T) {
	t.Parallel()
	for name, fix := range map[string]string{
		"fair":     "",
		"dead":     "does not answer as an agent that speaks ACP: it did not start (exit code 3): I do not feel well",
		"later":    "it speaks version 2 of ACP; Terret speaks version 1",
		"nonsense": "does not answer as an agent that speaks ACP",
		"mute":     "it did not answer within 1s",
		"missing":  "/there/is/none was not found; install it, or remove the agent",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			argv := []string{os.Args[0], "--acp"}
			if name == "missing" {
				argv = []string{"/there/is/none"}
			}
			d := New(Profile{Name: "mine", Argv: argv}, Config{Environ: append(os.Environ(), fakeEnv+"="+name), Env: []string{fakeEnv}})
			if name == "mute" {
				d.patience = time.Second
			}
			p, err := d.Probe(t.Context())
			if err != nil || p.Agent != "mine" || !strings.Contains(p.Fix, fix) || p.Found != (fix == "") {
				t.Fatalf("%+v, %v", p, err)
			}
			if !p.Found {
				return
			}
			c := p.Capabilities
			if p.Version != "1.2.3" || p.Auth != "unknown" || p.Tested != "" || p.Path != argv[0] || c.Oversight != terret.OversightAsked {
				t.Errorf("%+v", p)
			}
			if !c.Has(terret.CanFork) || !c.Has(terret.CanReconnect) || c.Has(terret.CanAttachments) || c.Has(terret.CanSelectModel) {
				t.Errorf("%+v", c)
			}
		})
	}
}

package engine

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/redact"
)

// TestSecretsInRawPieces holds that the agent's own messages do not give away together what
// none of them holds alone.
func TestSecretsInRawPieces(t *testing.T) {
	t.Parallel()
	const canary = "canary-5c1e-77a0-of-the-harness"
	s := secrets{known: redact.Known(map[string]string{"SOME_API_KEY": canary})}
	raw := ""
	for _, piece := range []string{"it is " + canary[:12], canary[12:20], canary[20:] + ", ", "as you see"} {
		for _, d := range []terret.Data{
			terret.MessageDelta{MessageID: "m", Text: piece},
			terret.ReasoningDelta{MessageID: "m", Text: piece},
			terret.ToolDelta{ToolID: "t", PartialInput: piece},
			terret.ToolProgress{ToolID: "t", Text: piece},
		} {
			raw += string(s.hide(terret.Event{Data: d, Raw: []byte(`{"delta":"` + piece + `"}`)}).Raw)
		}
	}
	for _, part := range []string{canary[:12], canary[12:20], canary[20:]} {
		if strings.Contains(raw, part) {
			t.Errorf("%q is in %s", part, raw)
		}
	}
	if strings.Count(raw, "as you see") != 4 {
		t.Errorf("what is no secret is gone from %s", raw)
	}
}

package engine_test

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
)

// TestSecretsStayOut has an agent print a secret that it was given: in the output of a
// tool, in what it asks for, in its words, and in pieces of them.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	const canary = "canary-5c1e-77a0-of-the-harness"
	piece := func(text string) mock.Step {
		return mock.Step{Event: &mock.RawEvent{Kind: "message.delta", Data: terret.JSON(`{"message_id":"m","index":0,"text":"` + text + `"}`)}}
	}
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{
		{Tool: &mock.Tool{Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"echo ` + canary + `"}`), Ask: true, Result: "KEY=" + canary}},
		piece("it is " + canary[:12]), piece(canary[12:] + ", as you see"),
		{Event: &mock.RawEvent{Kind: "retry", Data: terret.JSON(`{"error":"bad key ` + canary + `"}`)}},
		{Text: "the key is " + canary},
	}}}, func(c *engine.Config) {
		c.Secrets = map[string]string{"SOME_API_KEY": canary, "SHORT": "x"}
	})
	id := f.session()
	if err := f.Update(t.Context(), id, terret.SessionUpdated{Policy: new(terret.PolicyAutoApprove)}, "ann"); err != nil {
		t.Fatal(err)
	}
	f.run(id, "use "+canary)
	marked := 0
	said := ""
	for entry, err := range f.Events(t.Context(), engine.EventQuery{Session: id}) {
		if err != nil {
			t.Fatal(err)
		}
		body := string(entry.Body)
		if strings.Contains(body, canary) {
			t.Errorf("the secret is in %s", body)
		}
		if strings.Contains(body, "SOME_API_KEY") {
			marked++
		}
		ev, err := entry.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.Data.(terret.MessageDelta); ok && d.MessageID == "m" {
			said += d.Text
		}
	}
	if strings.Contains(said, canary) || strings.Contains(said, canary[12:]) {
		t.Errorf("the pieces together say %q", said)
	}
	if !strings.HasPrefix(said, "it is ") || !strings.HasSuffix(said, ", as you see") {
		t.Errorf("what is no secret is gone from %q", said)
	}
	if marked < 4 { // the prompt, the tool's input, its result, the words
		t.Errorf("%d events say which secret was taken out", marked)
	}
}

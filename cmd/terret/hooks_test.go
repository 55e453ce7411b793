package main

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestHooks holds that whoever wants to decide at a gate can: at the terminal, and by
// the command that `terret pending` names.
func TestHooks(t *testing.T) {
	t.Parallel()
	for gate, c := range map[terret.Gate]struct {
		data terret.Data
		text string
		no   terret.Behavior
	}{
		terret.GateStop:         {terret.StopRequest{LastMessage: "All\ndone."}, "the agent is about to stop: All done.", terret.BehaviorBlock},
		terret.GateSubagentStop: {terret.SubagentStop{Result: "found"}, "a subagent is about to stop: found", terret.BehaviorBlock},
		terret.GateCompact:      {terret.CompactPre{Trigger: "auto"}, "the agent is about to compact its context", terret.BehaviorBlock},
		terret.GatePrompt:       {terret.UserPrompt{Blocks: []terret.Block{terret.Text("hi")}}, "the agent is about to read a prompt: hi", terret.BehaviorBlock},
		terret.GatePreTool:      {terret.ToolPre{Name: "Bash", Input: terret.JSON(`{"command":"ls"}`)}, "the agent is about to use Bash: ls", terret.BehaviorDeny},
	} {
		data, err := json.Marshal(c.data)
		if err != nil {
			t.Fatal(err)
		}
		what, how := (&app{}).describeRequest(terret.Request{RequestID: "req_1", Gate: gate, Data: data})
		if what != c.text || !strings.HasSuffix(how, " allow  (or "+string(c.no)+")") {
			t.Errorf("%s: %q, %q", gate, what, how)
		}
		for typed, want := range map[string]terret.Decision{
			"what\nyes\n":          {Behavior: terret.BehaviorAllow},
			"n it is not tested\n": {Behavior: c.no, Reason: "it is not tested"},
		} {
			var shown strings.Builder
			keys := newKeyboard(strings.NewReader(typed))
			ask := &asker{screen: &screen{words: io.Discard, talk: &shown}, keys: keys, by: "ann"}
			ev := terret.Event{Data: c.data, Expects: &terret.Expects{RequestID: "req_1", Gate: gate}}
			d, err := ask.ask(t.Context(), ev)
			close(keys.want)
			if err != nil || d.Behavior != want.Behavior || d.Reason != want.Reason || d.RequestID != "req_1" || !strings.Contains(shown.String(), c.text) {
				t.Errorf("%s: %+v, %v, shown %q", gate, d, err, shown.String())
			}
			d.Gate = gate
			if err := d.Validate(); err != nil {
				t.Errorf("%s: the engine would refuse it: %v", gate, err)
			}
		}
	}
}

package tui_test

import (
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/tui"
)

// A conversation is printed from the events of its session.
func Example() {
	said := tui.NewTranscript(terret.Session{ID: "s1", Agent: "claude", Cwd: "/src/api"}, "")
	for i, data := range []terret.Data{
		terret.ToolPre{ToolID: "t1", Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"go test ./..."}`)},
		terret.ToolPost{ToolID: "t1", Name: "Bash"},
		terret.MessageComplete{MessageID: "m1", Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("All tests **pass**.")}},
	} {
		said.Add(terret.Event{Seq: int64(i + 1), Actor: terret.ActorRoot, Data: data})
	}
	_ = said.Write(os.Stdout, 60)
	// Output:
	// ✓ Run go test ./...
	//
	// All tests pass.
}

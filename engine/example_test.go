package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
)

// A session from its first prompt to undo, with an agent that follows a script.
func Example() {
	ctx := context.Background()
	home, _ := os.MkdirTemp("", "home")
	project, _ := os.MkdirTemp("", "project")
	defer os.RemoveAll(home)
	defer os.RemoveAll(project)
	hello := filepath.Join(project, "hello.txt")
	agent := mock.New(mock.Script{Turns: [][]mock.Step{
		{{Tool: &mock.Tool{Name: "Bash", Input: terret.JSON(`{"command":"echo hi > hello.txt"}`), Ask: true}}, {Do: func(context.Context, string) error {
			return os.WriteFile(hello, []byte("hi\n"), 0o600)
		}}, {Text: "Done."}},
		{{Text: "Let me think."}, {Hang: true}},
	}})
	store, err := sqlite.Open(ctx, filepath.Join(home, "terret.db"), sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	e, err := engine.New(ctx, engine.Config{Store: store, Drivers: []terret.Driver{agent}, Home: home})
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)

	s, _ := e.Create(ctx, terret.Session{Agent: "mock", Cwd: project})
	say := func(words string) {
		if _, err := e.Prompt(ctx, engine.PromptRequest{Session: s.ID, Prompt: terret.Prompt{Blocks: []terret.Block{terret.Text(words)}}}); err != nil {
			fmt.Println(err)
		}
	}
	say("Write a file.")
	for entry := range e.Events(ctx, engine.EventQuery{Session: s.ID, Follow: true}) {
		ev, _ := entry.Decode()
		switch d := ev.Data.(type) {
		case terret.PermissionRequest:
			fmt.Println("the agent asks:", string(d.Input))
			_ = e.Decide(ctx, terret.Decision{RequestID: d.RequestID, Behavior: terret.BehaviorAllow, By: "ann"})
		case terret.TurnComplete:
			fmt.Println("the agent says:", d.Text)
			say("Now do it better.")
		case terret.MessageComplete:
			if terret.TextOf(d.Blocks) == "Let me think." {
				_ = e.Interrupt(ctx, s.ID, "ann")
			}
		case terret.TurnError:
			fmt.Println("the turn ended:", d.Error.Message)
			undone, err := e.Undo(ctx, s.ID, "ann", false)
			_, gone := os.Stat(hello)
			fmt.Println("undone:", undone.Files, err, os.IsNotExist(gone))
			return
		}
	}
	// Output:
	// the agent asks: {"command":"echo hi > hello.txt"}
	// the agent says: Done.
	// the turn ended: the turn was interrupted by ann
	// undone: [hello.txt] <nil> true
}

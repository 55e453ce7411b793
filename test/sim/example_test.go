package sim_test

import (
	"context"
	"fmt"
	"log"

	"github.com/terret-dev/terret/test/sim"
)

// A scenario is played in-process, without HTTP.
func ExamplePlayer() {
	s, err := sim.Parse("greeting.yaml", []byte(`
steps:
  - match: {user: hello}
    answer:
      text: Let me look.
      tools: [{name: Bash, input: {command: "ls {{dir}}"}}]
`))
	if err != nil {
		log.Fatal(err)
	}
	p, err := sim.NewPlayer(s, map[string]string{"dir": "/tmp"})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	reply, err := p.Answer(ctx, sim.Request{
		Model:    "any",
		Messages: []sim.Message{{Role: "user", Blocks: []sim.Block{{Type: sim.BlockText, Text: "hello there"}}}},
		Tools:    []sim.Tool{{Name: "Bash"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for ev, err := range reply.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if ev.Kind == sim.BlockPiece {
			fmt.Printf("%s %q\n", ev.Block.Type, ev.Text)
		}
	}
	fmt.Println(reply.Stop, len(p.Unmatched()), len(p.Remaining()))
	// Output:
	// text "Let "
	// text "me "
	// text "look."
	// tool_use "{\"command\":\"ls /"
	// tool_use "tmp\"}"
	// tool_use 0 0
}

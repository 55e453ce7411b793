package claude_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret/driver/claude"
)

// Probe says whether Claude Code can be used, and else what to do about it.
func ExampleDriver_Probe() {
	d := claude.New(claude.Config{Path: "/nowhere/claude"})
	p, err := d.Probe(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Agent, "is installed:", p.Found)
	fmt.Println("something can be done about it:", p.Fix != "")
	// Output:
	// claude is installed: false
	// something can be done about it: true
}

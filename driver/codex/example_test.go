package codex_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret/driver/codex"
)

// Probe says whether Codex can be used, and else what to do about it.
func ExampleDriver_Probe() {
	d := codex.New(codex.Config{Path: "/nowhere/codex"})
	p, err := d.Probe(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Agent, "is installed:", p.Found)
	fmt.Println("something can be done about it:", p.Fix != "")
	// Output:
	// codex is installed: false
	// something can be done about it: true
}

package opencode_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret/driver/opencode"
)

// Probe says whether OpenCode can be used, and else what to do about it.
func ExampleDriver_Probe() {
	d := opencode.New(opencode.Config{Path: "/nowhere/opencode"})
	p, err := d.Probe(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Agent, "is installed:", p.Found)
	fmt.Println("something can be done about it:", p.Fix != "")
	// Output:
	// opencode is installed: false
	// something can be done about it: true
}

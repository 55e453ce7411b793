package pi_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret/driver/pi"
)

// Probe says whether Pi can be used, and else what to do about it.
func ExampleDriver_Probe() {
	d := pi.New(pi.Config{Path: "/nowhere/pi"})
	p, err := d.Probe(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Agent, "is installed:", p.Found)
	fmt.Println("something can be done about it:", p.Fix != "")
	// Output:
	// pi is installed: false
	// something can be done about it: true
}

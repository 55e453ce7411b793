package all_test

import (
	"fmt"

	"github.com/terret-dev/terret/driver/all"
)

// All agents that this version of Terret knows; here, those that come first.
func ExampleDrivers() {
	drivers, err := all.Drivers(all.Config{Env: []string{"PATH=/usr/bin"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range drivers[:4] {
		fmt.Println(d.Name())
	}
	// Output:
	// claude
	// opencode
	// codex
	// gemini
}

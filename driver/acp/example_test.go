package acp_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret/driver/acp"
)

// Any program that speaks ACP can be an agent.
func ExampleNew() {
	d := acp.New(acp.Profile{Name: "mine", Argv: []string{"/nowhere/mine", "--acp"}}, acp.Config{})
	p, err := d.Probe(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Agent, "is installed:", p.Found)
	// Output:
	// mine is installed: false
}

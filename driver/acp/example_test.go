package acp_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/acp"
)

// Any program that speaks ACP can be driven. What is not there is told with what to do
// about it.
func ExampleNew() {
	d := acp.New(acp.Profile{Name: "mine", Title: "My Agent", Argv: []string{"my-agent", "--acp"}, Install: "npm install -g my-agent"}, acp.Config{})
	p, err := d.Probe(context.Background())
	fmt.Println(d.Name(), p.Found, p.Fix, err)
	fmt.Println(p.Capabilities.Has(terret.CanPermissions), p.Capabilities.Oversight)
	// Output:
	// mine false my-agent was not found; install My Agent with `npm install -g my-agent` <nil>
	// true asked
}

// The agents that were tried on the real programs.
func ExampleProfiles() {
	for _, p := range acp.Profiles() {
		fmt.Println(p.Name, p.Argv)
	}
	// Output:
	// gemini [gemini --acp]
	// qwen [qwen --acp]
	// copilot [copilot --acp]
	// goose [goose acp]
	// claude-acp [claude-agent-acp]
	// codex-acp [codex-acp]
	// opencode-acp [opencode acp]
}

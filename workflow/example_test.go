package workflow_test

import (
	"fmt"

	"github.com/terret-dev/terret/workflow"
)

// A file of steps, of which the second gets what the first has answered.
func ExampleParse() {
	w, err := workflow.Parse("fix.yaml", []byte(`
name: fix
steps:
  - id: find
    agent: claude
    prompt: Find out why this fails, and change nothing. {{input}}
    tools: [Read, Grep, Glob]
  - id: mend
    agent: codex
    prompt: Mend it. This is what was found so far. {{find}}
    check: go test ./...
    on_failure: retry
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range w.Steps {
		fmt.Println(s.ID, s.Agent, s.OnFailure)
	}
	_, err = workflow.Parse("bad.yaml", []byte("name: bad\nsteps:\n  - id: a\n    promt: go\n"))
	fmt.Println(err)
	// Output:
	// find claude stop
	// mend codex retry
	// workflow: bad.yaml:4:5: unknown field "promt"
}

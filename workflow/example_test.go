package workflow_test

import (
	"fmt"

	"github.com/terret-dev/terret/workflow"
)

// A file with a typo says where it is.
func ExampleParse() {
	w, err := workflow.Parse("fix.yaml", []byte(`
name: fix
steps:
  - id: plan
    agent: claude
    prompt: "Plan how to do this: {{input}}"
  - id: build
    prompt: "Carry out this plan: {{plan}}"
    check: go test ./...
    on_failure: retry
`))
	fmt.Println(w.Name, len(w.Steps), w.Steps[1].Retries, err)
	_, err = workflow.Parse("fix.yaml", []byte("steps:\n  - id: plan\n    prompt: see {{paln}}\n"))
	fmt.Println(err)
	// Output:
	// fix 2 2 <nil>
	// workflow: fix.yaml:3:13: {{paln}} is neither an earlier step nor input; use one of input
}

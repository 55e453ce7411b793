package workflow_test

import (
	"fmt"

	"github.com/terret-dev/terret/workflow"
)

<<<<<<< HEAD
// A file of steps, of which the second gets what the first has answered.
=======
// A file with a typo says where it is.
>>>>>>> e94a23d (workflow, review, race: an example each)
func ExampleParse() {
	w, err := workflow.Parse("fix.yaml", []byte(`
name: fix
steps:
<<<<<<< HEAD
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
=======
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
>>>>>>> e94a23d (workflow, review, race: an example each)
}

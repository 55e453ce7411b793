package workflow_test

import (
	"context"
	"fmt"
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
	"github.com/terret-dev/terret/work/workflow"
)

// A runner needs an engine, its store and providers of agents. Those of races and reviews
// are made the same way.
func ExampleRunner() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	drivers := []terret.Driver{mock.Talker(func(_ context.Context, _, prompt string) (string, error) { return "I did: " + prompt, nil })}
	e, err := engine.New(ctx, engine.Config{Store: store, Drivers: drivers})
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)

	host := team.Host{Engine: e, Store: store}
	runner := workflow.Runner{
		Log: workflow.Log{Host: host, List: store.ListSessions}, Providers: team.FromDrivers(host, drivers), Env: os.Environ(),
		Default: func(context.Context, string) string { return "talker" },
	}
	run, err := runner.Start(ctx, "ann", "fix.yaml", []byte(`
name: fix
steps:
  - {id: plan, prompt: "plan {{input}}"}
  - {id: build, prompt: "carry out: {{plan}}"}
`), os.TempDir(), "the bridge")
	if err != nil {
		panic(err)
	}
	run, err = runner.Run(ctx, "ann", run.ID)
	if err != nil {
		panic(err)
	}
	fmt.Println(run.State, len(run.Steps))
	// Output: completed 2
}

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

package race_test

import (
	"context"
	"fmt"

	"github.com/terret-dev/terret/race"
)

// Three agents get the same task; the fastest whose work passes the tests is kept.
func ExampleRunner() {
	race3 := func(ctx context.Context, r *race.Runner) error {
		started, err := r.Start(ctx, "somebody", race.Request{
			Task: "make the tests pass", Cwd: "/project", Agents: []string{"claude", "codex", "native"}, Check: "go test ./...",
		})
		if err != nil {
			return err
		}
		done, err := r.Run(ctx, "somebody", started.ID)
		if err != nil {
			return err
		}
		for _, racer := range done.Racers {
			fmt.Println(racer.Name, racer.State)
		}
		return nil
	}
	_ = race3 // a program makes the Runner from its engine and store
	// Output:
}

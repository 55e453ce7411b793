package race_test

import (
<<<<<<< HEAD
	"context"
=======
>>>>>>> e94a23d (workflow, review, race: an example each)
	"fmt"

	"github.com/terret-dev/terret/race"
)

<<<<<<< HEAD
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
=======
// The best racer is the fastest of those that changed something and passed the check.
func ExampleRace_Best() {
	x := race.Race{Racers: []race.Racer{
		{Name: "claude-1", State: race.Finished, Files: 2, Check: "passed", DurationMS: 9000},
		{Name: "codex-2", State: race.Finished, Files: 1, Check: "failed", DurationMS: 3000},
		{Name: "native-3", State: race.Finished, Files: 1, Check: "passed", DurationMS: 5000},
	}}
	fmt.Println(x.Best())
	// Output: native-3
>>>>>>> e94a23d (workflow, review, race: an example each)
}

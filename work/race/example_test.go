package race_test

import (
	"fmt"

	"github.com/terret-dev/terret/work/race"
)

// The best racer is the fastest of those that changed something and passed the check.
func ExampleRace_Best() {
	x := race.Race{Racers: []race.Racer{
		{Name: "claude-1", State: race.Finished, Files: 2, Check: "passed", DurationMS: 9000},
		{Name: "codex-2", State: race.Finished, Files: 1, Check: "failed", DurationMS: 3000},
		{Name: "native-3", State: race.Finished, Files: 1, Check: "passed", DurationMS: 5000},
	}}
	fmt.Println(x.Best())
	// Output: native-3
}

package team_test

import (
	"context"
	"fmt"
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/store/sqlite"
	"github.com/terret-dev/terret/work/team"
)

// A program asks one agent and reads what it says.
func Example() {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Memory, sqlite.Options{})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	drivers := []terret.Driver{mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "Looks good."}}}})}
	e, err := engine.New(ctx, engine.Config{Store: store, Drivers: drivers})
	if err != nil {
		panic(err)
	}
	defer e.Close(ctx)

	providers := team.FromDrivers(team.Host{Engine: e, Store: store}, drivers)
	provider, err := providers.Get("mock")
	if err != nil {
		panic(err)
	}
	reviewer, err := provider.CreateAgent(ctx, team.Config{Name: "reviewer", Cwd: os.TempDir()})
	if err != nil {
		panic(err)
	}
	defer reviewer.Shutdown(ctx)
	for m, err := range reviewer.HandleMessage(ctx, team.NewMessage("ann", "Review the last commit.", "reviewer")) {
		if err != nil {
			panic(err)
		}
		fmt.Println(m.Sender, m.Type, m.Metadata["sdk_type"], m.Content)
	}
	// Output:
	// reviewer chat assistant_text Looks good.
	// reviewer chat result Looks good.
}

package mock_test

import (
	"context"
	"fmt"
	"os"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/sdk"
)

// A program that uses agents is tested with one that follows a script.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	agent := mock.New(mock.Script{Turns: [][]mock.Step{{{Text: "There is one file."}}}})
	result, err := sdk.Prompt(context.Background(), "What is here?", sdk.Options{Agent: "mock", Cwd: dir, Drivers: []terret.Driver{agent}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content)
	// Output: There is one file.
}

package native_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
	"github.com/terret-dev/terret/sdk"
	"github.com/terret-dev/terret/test/sim"
)

// Without a key there is a model all the same, to try things out with.
func ExampleDriver_DefaultModel() {
	without := native.New(native.Config{Getenv: func(string) string { return "" }})
	fmt.Println(without.Name(), "uses", without.DefaultModel())
	// Output: native uses demo
}

// A program gives the agent a tool of its own: a function with typed input.
func ExampleNewTool() {
	type place struct {
		City string `json:"city" jsonschema:"the name of the city"`
	}
	weather := native.NewTool("Weather", "Tells the weather in a city.", func(_ context.Context, in place) (string, error) {
		return "It rains in " + in.City + ".", nil
	})
	model := scripted(`{steps: [{answer: {tools: [{name: Weather, input: {city: Oslo}}]}}, {match: {tool_result: It rains in Oslo.}, answer: {text: Take an umbrella.}}]}`)
	defer model.Close() // in a real program this is a model of a provider, and a key

	agent := native.New(native.Config{Tools: []native.Tool{weather}, Providers: map[string]native.Provider{"lab": {BaseURL: model.URL + "/v1"}}})
	s, err := sdk.NewSession(context.Background(), sdk.Options{Model: "lab/any", Drivers: []terret.Driver{agent}})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	if err := s.Send(context.Background(), "What do I need in Oslo?"); err != nil {
		panic(err)
	}
	for m := range s.Receive(context.Background()) {
		if end, ok := m.(*sdk.ResultMessage); ok {
			fmt.Println(end.Content)
		}
	}
	// Output: Take an umbrella.
}

// scripted is a server with a model that follows a script.
func scripted(script string) *httptest.Server {
	parsed, err := sim.Parse("example.yaml", []byte(script))
	if err != nil {
		panic(err)
	}
	server, err := sim.NewServer(parsed, sim.Options{})
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(server)
}

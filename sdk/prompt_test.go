package sdk_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret/sdk"
	"github.com/terret-dev/terret/test/sim"
)

// A model is named provider/model, and told the product's name.
func TestProductName(t *testing.T) {
	t.Parallel()
	scenario, err := sim.Parse("scenario.yaml", []byte("steps:\n  - {match: {user: hello}, answer: {text: Hello to you.}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var bodies []string
	srv, err := sim.NewServer(scenario, sim.Options{Record: func(r sim.Recorded) error {
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(r.Body))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	running, err := srv.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	o := demo(t)
	o.Model, o.ProductName = "anthropic/claude-sonnet-4-5", "Acme Coder"
	o.Env = append(o.Env, "ANTHROPIC_API_KEY=not-a-key", "ANTHROPIC_BASE_URL="+running.URL())
	result, err := sdk.Prompt(deadline(t), "hello", o)
	if err != nil || result.Content != "Hello to you." {
		t.Fatalf("%+v, %v", result, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(bodies) != 1 {
		t.Fatalf("%d requests", len(bodies))
	}
	for text, want := range map[string]bool{`"model":"claude-sonnet-4-5"`: true, "operating within Acme Coder": true, "operating within Terret": false} {
		if got := strings.Contains(bodies[0], text); got != want {
			t.Errorf("%q in the request: %v\n%s", text, got, bodies[0])
		}
	}
}

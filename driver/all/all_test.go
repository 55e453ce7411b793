package all

import (
	"errors"
	"slices"
	"testing"

	"github.com/terret-dev/terret"
)

// TestOrder is the order in which an agent is chosen if none is named: those of the
// configuration come after ours, and the built-in one is the last resort.
func TestOrder(t *testing.T) {
	t.Parallel()
	drivers, err := Drivers(Config{Env: []string{"PATH=/usr/bin"}, Agents: map[string]Agent{"mine": {Path: "my-agent", ACP: true}}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range drivers {
		names = append(names, d.Name())
	}
	first, last := []string{"claude", "opencode", "codex", "gemini"}, []string{"mine", "native"}
	if !slices.Equal(names[:len(first)], first) || !slices.Equal(names[len(names)-len(last):], last) {
		t.Errorf("the drivers are %v", names)
	}
}

// TestAdded holds that a program that speaks ACP can be added under a name of its own,
// and that other names are refused.
func TestAdded(t *testing.T) {
	t.Parallel()
	names := func(agents map[string]Agent) ([]string, error) {
		drivers, err := Drivers(Config{Env: []string{"PATH=/usr/bin"}, Agents: agents})
		var out []string
		for _, d := range drivers {
			out = append(out, d.Name())
		}
		return out, err
	}
	got, err := names(map[string]Agent{"mine": {Path: "my-agent", ACP: true}, "gemini": {Path: "/opt/gemini"}})
	if err != nil || !slices.Contains(got, "mine") || len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
		t.Errorf("%v, %v", got, err)
	}
	for name, agents := range map[string]map[string]Agent{
		"not known":    {"mine": {Path: "my-agent"}},
		"no program":   {"mine": {ACP: true}},
		"the built-in": {"native": {Path: "x", ACP: true}},
		"the mock":     {"mock": {Path: "x", ACP: true}},
	} {
		if _, err := names(agents); !errors.Is(err, terret.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

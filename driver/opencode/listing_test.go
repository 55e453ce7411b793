package opencode

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// TestPrintedModels reads what opencode models --verbose prints.
func TestPrintedModels(t *testing.T) {
	t.Parallel()
	said := "Performing one time database migration\nanthropic/opus\n{\n  \"id\": \"opus\",\n  \"name\": \"Opus\",\n  \"limit\": {\n    \"context\": 200000,\n    \"output\": 32000\n  },\n" +
		"  \"variants\": {\n    \"low\": {},\n    \"high\": {}\n  }\n}\nopenai/gpt\n{\n  \"name\": \"GPT\"\n}\nlab/cut\n{\n  \"name\": \"Cut"
	want := []terret.Model{
		{ID: "anthropic/opus", Name: "Opus", Context: 200_000, MaxOutput: 32_000, Efforts: []string{"high", "low"}},
		{ID: "openai/gpt", Name: "GPT"},
		{ID: "lab/cut"},
	}
	if d := cmp.Diff(want, printedModels(said)); d != "" {
		t.Error(d)
	}
	if got := printedModels(""); len(got) != 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

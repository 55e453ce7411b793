package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

func TestSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../../docs/config.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("docs/config.schema.json is not current; run go generate ./internal/server/config\n%s", diff)
	}
}

// TestPageHasEveryKey holds that the page about the configuration lists today's keys.
func TestPageHasEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/CONFIG.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := withKeys(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(page)); diff != "" {
		t.Errorf("docs/CONFIG.md is not current; run go generate ./internal/server/config\n%s", diff)
	}
	var s jsonschema.Schema
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for name := range s.Properties {
		if name != "$schema" && !strings.Contains(string(page), "| `"+name) {
			t.Errorf("docs/CONFIG.md does not list %s", name)
		}
	}
}

func TestSchemaChecks(t *testing.T) {
	t.Parallel()
	text, err := schema()
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for in, ok := range map[string]bool{
		`{}`: true,
		`{"$schema": "x", "agent": "claude", "timeouts": {"plan": "never"}, "agents": {"a": {"env": ["A"]}}}`: true,
		`{"idle_after": "1h30m", "undo": {"max_files": 1}, "rules": {"deny": []}}`:                            true,
		`{"modell": "x"}`:             false,
		`{"model": 1}`:                false,
		`{"model": null}`:             false,
		`{"roots": null}`:             false,
		`{"policy": "yolo"}`:          false,
		`{"timeouts": {"x": "1s"}}`:   false,
		`{"idle_after": "soon"}`:      false,
		`{"undo": {"max_files": -1}}`: false,
		`{"agents": {"a": {"x": 1}}}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}

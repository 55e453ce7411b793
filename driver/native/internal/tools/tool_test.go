package tools

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAll(t *testing.T) {
	t.Parallel()
	var names []string
	for _, tool := range All() {
		names = append(names, tool.Name)
		var schema struct {
			Type                 string
			Properties           map[string]struct{ Type, Description string }
			Required             []string
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Errorf("%s: schema: %v", tool.Name, err)
		}
		if schema.Type != "object" || schema.AdditionalProperties == nil || *schema.AdditionalProperties || len(schema.Required) == 0 {
			t.Errorf("%s: schema %s", tool.Name, tool.Schema)
		}
		for _, r := range schema.Required {
			if _, ok := schema.Properties[r]; !ok {
				t.Errorf("%s: %s is required and not described", tool.Name, r)
			}
		}
		if !slices.Contains([]string{Execute, Reads, Edits, Search, Fetch}, tool.Class) || tool.Description == "" {
			t.Errorf("%s: class %q", tool.Name, tool.Class)
		}
		// The fields of the schema are those that Prepare knows.
		_, err := tool.Prepare(t.Context(), Env{Dir: t.TempDir()}, json.RawMessage(`{"no such field":1}`))
		if err == nil {
			t.Fatalf("%s took an unknown field", tool.Name)
		}
		_, list, _ := strings.Cut(err.Error(), "fields are: ")
		known := strings.Split(list, ", ")
		for name := range schema.Properties {
			if !slices.Contains(known, name) {
				t.Errorf("%s: %s is not known", tool.Name, name)
			}
		}
		if len(known) != len(schema.Properties) {
			t.Errorf("%s knows %v, the schema %v", tool.Name, known, schema.Properties)
		}
	}
	if d := cmp.Diff([]string{"Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch"}, names); d != "" {
		t.Error(d)
	}
	if _, ok := Find("bash"); ok {
		t.Error("names are found in other case")
	}
}

func TestInputIsReadStrictly(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for in, word := range map[string]string{
		``:                                     "must be a JSON object",
		`[]`:                                   "must be a JSON object",
		`"x"`:                                  "must be a JSON object",
		`null`:                                 "must be a JSON object",
		`{`:                                    "not valid JSON",
		`{"file_path":`:                        "not valid JSON",
		`{"file_path":"a"} x`:                  "data after",
		`{}`:                                   `"file_path" is missing`,
		`{"file_path":null}`:                   `"file_path" is missing`,
		`{"file_path":5}`:                      "must be a string",
		`{"file_path":"a","File_Path":"b"}`:    `no field "File_Path"`,
		`{"file_path":"a","file_path":"b"}`:    "set twice",
		`{"file_path":"a","offset":"1"}`:       "whole number",
		`{"file_path":"a","offset":1.5}`:       "whole number",
		`{"file_path":"a","offset":-1}`:        "between 0 and",
		`{"file_path":"a","offset":1e300}`:     "between 0 and",
		`{"file_path":"a","limit":0}`:          "between 1 and",
		`{"file_path":"a","unheard":0}`:        "fields are: file_path, offset, limit",
		`{"file_path":""}`:                     "is empty",
		`{"file_path":"a\u0000b"}`:             "NUL",
		`{"file_path":"/proc/self/environ"}`:   "/proc",
		`{"file_path":"/proc/1/../2/environ"}`: "/proc",
	} {
		_, err := prepareRead(t.Context(), b.Env, json.RawMessage(in))
		if err == nil {
			t.Errorf("%s was taken", in)
			continue
		}
		wantWords(t, err.Error(), word)
	}
	b.write("a", "x\n")
	use, err := prepareRead(t.Context(), b.Env, json.RawMessage(`{"file_path":"a","offset":1.0,"limit":null}`))
	if err != nil || !use.Inside {
		t.Errorf("use %+v, error %v", use, err)
	}
	if _, err := prepareRead(t.Context(), Env{Dir: "relative"}, json.RawMessage(`{"file_path":"a"}`)); err == nil {
		t.Error("a relative folder was taken")
	}
}

func TestContextThatHasEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("a", "x\n")
	cause := errors.New("my cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	uses := []*Use{
		b.prepare("Bash", input{"command": "echo > made"}),
		b.prepare("Read", input{"file_path": "a"}),
		b.prepare("Write", input{"file_path": "made", "content": ""}),
		b.prepare("Edit", input{"file_path": "a", "old_string": "x", "new_string": "y"}),
		b.prepare("Glob", input{"pattern": "*"}),
		b.prepare("Grep", input{"pattern": "x"}),
	}
	cancel(cause)
	for _, u := range uses {
		if _, err := u.Run(ctx, nil); !errors.Is(err, cause) {
			t.Errorf("%s: %v", u.Tool, err)
		}
	}
	if d := cmp.Diff([]string{"a"}, b.names()); d != "" || b.read("a") != "x\n" {
		t.Errorf("%s; a is %q", d, b.read("a"))
	}
}

// Command gen writes the types of the TypeScript SDK that come from the OpenAPI
// description: gen OPENAPI FILE.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

//go:generate go run . ../../../docs/openapi.json ../src/schema.ts

// wanted are the schemas that the SDK uses, by their names there.
var wanted = map[string]string{
	"Block": "Block", "Usage": "Usage", "Error": "ErrorInfo", "Problem": "Problem", "ProblemDetail": "ProblemDetail",
	"Request": "SDKRequest", "Decision": "MadeDecision", "NewDecision": "SDKDecision",
	"NewSession": "NewSession", "NewTurn": "NewTurn", "TurnOptions": "TurnOptions",
}

type schema struct {
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Enum        []string          `json:"enum"`
	Description string            `json:"description"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
	Items       *schema           `json:"items"`
	OneOf       []schema          `json:"oneOf"`
	Additional  json.RawMessage   `json:"additionalProperties"`
}

type description struct {
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
	Paths map[string]map[string]struct {
		Errors []string `json:"x-errors"`
	} `json:"paths"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen OPENAPI FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var d description
	if err := json.Unmarshal(text, &d); err != nil {
		return err
	}
	out, err := types(d)
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(out), 0o644)
}

func types(d description) (string, error) {
	codes := map[string]bool{}
	for _, item := range d.Paths {
		for _, op := range item {
			for _, code := range op.Errors {
				codes[code] = true
			}
		}
	}
	var b strings.Builder
	b.WriteString("// Generated from docs/openapi.json by gen. Do not edit.\n\n")
	fmt.Fprintf(&b, "/** What went wrong, for programs to branch on. */\nexport type ErrorCode =\n  | %s;\n", strings.Join(quoted(slices.Sorted(maps.Keys(codes))), "\n  | "))
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		s, ok := d.Components.Schemas[name]
		if !ok {
			return "", errors.New("there is no schema " + name)
		}
		fmt.Fprintf(&b, "\nexport interface %s %s\n", wanted[name], object(s, ""))
	}
	return b.String(), nil
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return out
}

// object is the type of an object with properties.
func object(s schema, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if p.Description != "" {
			fmt.Fprintf(&b, "%s  /** %s */\n", indent, p.Description)
		}
		mark := "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		of := typeOf(p, indent+"  ")
		if name == "kind" && of == "string" {
			of = "ErrorCode"
		}
		fmt.Fprintf(&b, "%s  %s%s: %s;\n", indent, name, mark, of)
	}
	return b.String() + indent + "}"
}

// typeOf is the type of a value. What it does not know is unknown.
func typeOf(s schema, indent string) string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		if known := wanted[name]; known != "" {
			return known
		}
		return "unknown"
	case len(s.Enum) > 0:
		return strings.Join(quoted(s.Enum), " | ")
	case len(s.OneOf) > 0:
		var all []string
		for _, o := range s.OneOf {
			all = append(all, typeOf(o, indent))
		}
		return strings.Join(all, " | ")
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type.(string)
	case "integer", "number":
		return "number"
	case "array":
		if s.Items == nil {
			return "unknown[]"
		}
		return "Array<" + typeOf(*s.Items, indent) + ">"
	case "object":
		var of schema
		if json.Unmarshal(s.Additional, &of) == nil {
			return "Record<string, " + typeOf(of, indent) + ">"
		}
		return object(s, indent)
	}
	return "unknown"
}

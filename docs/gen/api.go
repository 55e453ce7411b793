package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// description is what the page shows of an OpenAPI description.
type description struct {
	Tags  []struct{ Name, Description string }
	Paths map[string]map[string]struct {
		Summary, Description string
		Tags                 []string
		Parameters           []struct {
			Name, In, Description string
			Required              bool
		}
		RequestBody struct {
			Content map[string]struct{ Schema schema }
		}
		Responses map[string]struct {
			Description string
			Content     map[string]struct{ Schema schema }
		}
	}
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Ref         string `json:"$ref"`
	Type        any
	Description string
	Enum        []any
	Items       *schema
	Properties  map[string]schema
	Required    []string
}

// apiPage is the HTTP API on one page.
func apiPage(spec []byte) ([]byte, error) {
	var d description
	if err := json.Unmarshal(spec, &d); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("# HTTP API\n\nMade from [openapi.json](../openapi.json) by `go generate`; do not edit. A running server serves that file at `/openapi.json`. " +
		"Send `Authorization: Bearer TOKEN`; `terret token` makes tokens. Errors are `application/problem+json` with a `kind`.\n")
	for _, tag := range d.Tags {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", tag.Name, tag.Description)
		for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
			for _, method := range []string{"get", "post", "put", "patch", "delete"} {
				op, ok := d.Paths[path][method]
				if !ok || !slices.Contains(op.Tags, tag.Name) {
					continue
				}
				fmt.Fprintf(&b, "\n### %s %s\n\n%s.", strings.ToUpper(method), path, strings.TrimSuffix(op.Summary, "."))
				if op.Description != "" {
					b.WriteString(" " + inline(op.Description))
				}
				b.WriteString("\n")
				writeInOut(&b, op.RequestBody.Content["application/json"].Schema, func(yield func(string, schema) bool) {
					for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
						if strings.HasPrefix(status, "2") && !yield(status, op.Responses[status].Content["application/json"].Schema) {
							return
						}
					}
				})
				if len(op.Parameters) > 0 {
					b.WriteString("\n| parameter | in | |\n|---|---|---|\n")
					for _, p := range op.Parameters {
						fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, p.In, inline(p.Description))
					}
				}
			}
		}
	}
	b.WriteString("\n## Records\n")
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		s := d.Components.Schemas[name]
		fmt.Fprintf(&b, "\n### %s\n", name)
		if s.Description != "" {
			fmt.Fprintf(&b, "\n%s\n", inline(s.Description))
		}
		if len(s.Properties) == 0 {
			continue
		}
		b.WriteString("\n| field | type | |\n|---|---|---|\n")
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[field]
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", field, typeOf(p), inline(p.Description))
		}
	}
	return []byte(b.String()), nil
}

// writeInOut says what an operation takes and answers.
func writeInOut(b *strings.Builder, body schema, answers func(func(string, schema) bool)) {
	var parts []string
	if body.Ref != "" || body.Type != nil {
		parts = append(parts, "Body: "+typeOf(body))
	}
	for status, s := range answers {
		if s.Ref != "" || s.Type != nil {
			parts = append(parts, status+": "+typeOf(s))
		} else {
			parts = append(parts, status)
		}
	}
	if len(parts) > 0 {
		fmt.Fprintf(b, "\n%s.\n", strings.Join(parts, "; "))
	}
}

// typeOf names a type, with a link to the record if it is one.
func typeOf(s schema) string {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return "[" + name + "](#" + strings.ToLower(name) + ")"
	}
	if s.Items != nil {
		return "list of " + typeOf(*s.Items)
	}
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		var names []string
		for _, one := range t {
			names = append(names, fmt.Sprint(one))
		}
		return strings.Join(names, " or ")
	default:
		return "any"
	}
}

// inline is text for a line of Markdown, also in a table.
func inline(s string) string {
	return strings.NewReplacer("\n", " ", "|", "\\|", "<", "&lt;").Replace(s)
}

package sim

import (
	"encoding/json"
	"slices"
	"strings"
)

// schema is the part of a JSON schema that examples need.
type schema struct {
	Type       json.RawMessage   `json:"type"` // a name, or a list of names
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	Enum       []any             `json:"enum"`
	Const      any               `json:"const"`
	Default    any               `json:"default"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	Minimum    *float64          `json:"minimum"`
	MinItems   int               `json:"minItems"`
}

// parseSchema reads a schema; anything else counts as an empty one.
func parseSchema(text json.RawMessage) schema {
	var s schema
	if json.Unmarshal(text, &s) != nil {
		return schema{}
	}
	return s
}

// example is a value that fits the schema, as short as possible. Free strings are that
// text.
func (s schema) example(text string) any {
	switch {
	case s.Const != nil:
		return s.Const
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].example(text)
	case len(s.OneOf) > 0:
		return s.OneOf[0].example(text)
	}
	switch s.kind() {
	case "object":
		out := map[string]any{}
		for _, name := range s.Required {
			out[name] = s.Properties[name].example(text)
		}
		return out
	case "array":
		out := make([]any, 0)
		for range min(s.MinItems, 10) {
			if s.Items != nil {
				out = append(out, s.Items.example(text))
			}
		}
		return out
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return false
	case "null":
		return nil
	default:
		return text
	}
}

// kind is the schema's type in lower case; one API writes it in upper case.
func (s schema) kind() string {
	var names []string
	var one string
	if json.Unmarshal(s.Type, &one) == nil {
		names = []string{one}
	} else if json.Unmarshal(s.Type, &names) != nil || len(names) == 0 {
		names = []string{"string"}
		if len(s.Properties) > 0 {
			names = []string{"object"}
		}
	}
	return strings.ToLower(names[0])
}

// has reports whether there is such a property, or could be.
func (s schema) has(name string) bool {
	_, ok := s.Properties[name]
	return ok || len(s.Properties) == 0
}

// missing lists the required properties that are not in the object, in order.
func (s schema) missing(object map[string]any) []string {
	return slices.DeleteFunc(slices.Clone(s.Required), func(name string) bool {
		_, ok := object[name]
		return ok
	})
}

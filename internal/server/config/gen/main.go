// Command gen writes the JSON schema of the configuration, which editors use to check and
// explain config.jsonc, and the table of keys in the page about it.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/terret-dev/terret/internal/server/config"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gen SCHEMA PAGE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(schemaFile, pageFile string) error {
	text, err := schema()
	if err != nil {
		return err
	}
	if err := os.WriteFile(schemaFile, text, 0o644); err != nil {
		return err
	}
	page, err := os.ReadFile(pageFile)
	if err != nil {
		return err
	}
	if page, err = withKeys(page); err != nil {
		return err
	}
	return os.WriteFile(pageFile, page, 0o644)
}

func schema() ([]byte, error) {
	s, err := jsonschema.For[config.Config](&jsonschema.ForOptions{
		TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			reflect.TypeFor[config.Duration](): {Type: "string", Pattern: `^(never|[0-9]+d|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`},
		},
	})
	if err != nil {
		return nil, err
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "Terret's configuration"
	s.Description = "Generated from internal/server/config by go generate; do not edit."
	refine(s, reflect.TypeFor[config.Config]())
	s.Properties["$schema"] = &jsonschema.Schema{Type: "string", Description: "For editors; Terret ignores it."}
	s.PropertyOrder = append([]string{"$schema"}, s.PropertyOrder...)

	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(s)
	return buf.Bytes(), err
}

// refine adds what the types alone do not say: words, minimum values, and that lists
// and objects are never null.
func refine(s *jsonschema.Schema, t reflect.Type) {
	for f := range t.Fields() {
		p := s.Properties[key(f)]
		if words := config.Words(f.Tag.Get("check")); words != nil {
			enum := &jsonschema.Schema{}
			for _, w := range words {
				enum.Enum = append(enum.Enum, w)
			}
			if f.Type.Kind() == reflect.Map {
				p.PropertyNames = enum
			} else {
				p.Enum = enum.Enum
			}
		}
		switch f.Type.Kind() {
		case reflect.Slice:
			p.Type, p.Types = "array", nil
		case reflect.Int, reflect.Int64:
			if p.Type == "integer" && f.Tag.Get("check") != "signed" {
				p.Minimum = new(0.0)
			}
		case reflect.Struct:
			refine(p, f.Type)
		case reflect.Map:
			p.Type, p.Types = "object", nil
			if f.Type.Elem().Kind() == reflect.Struct {
				refine(p.AdditionalProperties, f.Type.Elem())
			}
		default:
		}
	}
}

func key(f reflect.StructField) string {
	name, _, _ := bytes.Cut([]byte(f.Tag.Get("json")), []byte(","))
	return string(name)
}

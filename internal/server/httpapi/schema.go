package httpapi

import (
	"encoding/json"
	"path"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/terret-dev/terret"
)

// OpenAPI stand-ins for the types of package terret that write their own JSON.
type (
	nullableString     string
	anyChoice          struct{}
	capabilitiesObject struct{}
	nullableRevert     struct {
		_ struct{} `nullable:"true"`
		terret.Revert
	}
)

// Schema implements huma.SchemaProvider.
func (nullableString) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Nullable: true}
}

// Schema implements huma.SchemaProvider.
func (anyChoice) Schema(huma.Registry) *huma.Schema {
	text := &huma.Schema{Type: huma.TypeString}
	return &huma.Schema{
		Description: "One answer, or several.",
		OneOf:       []*huma.Schema{text, {Type: huma.TypeArray, Items: text}},
	}
}

// Schema implements huma.SchemaProvider.
func (capabilitiesObject) Schema(r huma.Registry) *huma.Schema {
	ability := r.Schema(reflect.TypeFor[terret.Ability](), true, "Ability")
	props := map[string]*huma.Schema{"oversight": {Type: huma.TypeString, Enum: []any{"all", "asked", "none"}}}
	for _, c := range terret.AllCapabilities() {
		props[string(c)] = ability
	}
	return &huma.Schema{Type: huma.TypeObject, Properties: props, AdditionalProperties: true}
}

func newRegistry() huma.Registry {
	r := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	r.RegisterTypeAlias(reflect.TypeFor[terret.Time](), reflect.TypeFor[time.Time]())
	r.RegisterTypeAlias(reflect.TypeFor[terret.JSON](), reflect.TypeFor[json.RawMessage]())
	r.RegisterTypeAlias(reflect.TypeFor[terret.Cost](), reflect.TypeFor[float64]())
	r.RegisterTypeAlias(reflect.TypeFor[terret.NullString](), reflect.TypeFor[nullableString]())
	r.RegisterTypeAlias(reflect.TypeFor[terret.Choice](), reflect.TypeFor[anyChoice]())
	r.RegisterTypeAlias(reflect.TypeFor[terret.Capabilities](), reflect.TypeFor[capabilitiesObject]())
	r.RegisterTypeAlias(reflect.TypeFor[terret.Revert](), reflect.TypeFor[nullableRevert]())
	return r
}

// tidy adapts the description. Lists are never null in it: ours are empty instead. What
// only huma needs is removed.
func tidy(o *huma.OpenAPI) {
	schemas := o.Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
	sent := map[string]bool{}
	for _, item := range o.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil && op.RequestBody != nil {
				for _, media := range op.RequestBody.Content {
					reach(media.Schema, o.Components.Schemas, sent)
				}
			}
		}
	}
	for name, s := range schemas {
		tidySchema(s)
		if !sent[name] && s.Type == huma.TypeObject {
			s.AdditionalProperties = nil // records may get more fields
		}
	}
}

// reach collects the schemas that callers send, by name.
func reach(s *huma.Schema, r huma.Registry, sent map[string]bool) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		name := path.Base(s.Ref)
		if !sent[name] {
			sent[name] = true
			reach(r.SchemaFromRef(s.Ref), r, sent)
		}
		return
	}
	reach(s.Items, r, sent)
	for _, p := range s.Properties {
		reach(p, r, sent)
	}
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		reach(more, r, sent)
	}
}

func tidySchema(s *huma.Schema) {
	if s == nil {
		return
	}
	if s.Type == huma.TypeArray {
		s.Nullable = false
	}
	tidySchema(s.Items)
	for _, p := range s.Properties {
		tidySchema(p)
	}
}

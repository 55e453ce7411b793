package httpapi_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// TestDescription holds that the file in docs is what servers say, and that it says
// what a reader needs.
func TestDescription(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	served := f.do("GET", "/openapi.json", nil).want(200, nil).body
	made, err := httpapi.Describe()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(served, made) || !bytes.Equal(file, made) {
		t.Error("docs/openapi.json is not up to date: run `make gen`")
	}
	f.do("GET", "/openapi.json", nil, "Authorization", "").problem(401, terret.CodeUnauthorized, "")

	d := newDescription(t)
	if d.OpenAPI != "3.1.0" || len(d.Paths) < 35 || len(d.Servers) != 1 {
		t.Errorf("version %s, %d paths, servers %v", d.OpenAPI, len(d.Paths), d.Servers)
	}
	var tags []string
	for _, tag := range d.Tags {
		if tags = append(tags, tag.Name); tag.Description == "" {
			t.Errorf("tag %s has no description", tag.Name)
		}
	}
	ids := map[string]bool{}
	for at, op := range d.operations {
		if op.ID == "" || ids[op.ID] || op.Summary == "" || op.Description == "" || strings.HasSuffix(op.Summary, ".") {
			t.Errorf("%s: id %q, summary %q, description %q", at, op.ID, op.Summary, op.Description)
		}
		if ids[op.ID] = true; len(op.Tags) != 1 || !slices.Contains(tags, op.Tags[0]) {
			t.Errorf("%s has tags %v; there are %v", at, op.Tags, tags)
		}
	}
}

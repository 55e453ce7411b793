package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

// described is an operation of the description, as far as tests look at it.
type described struct {
	Method, Path string `json:"-"`
	ID           string `json:"operationId"`
	Summary      string
	Description  string
	Tags         []string
	Scope        access.Scope       `json:"x-scope"`
	Errors       []terret.ErrorCode `json:"x-errors"`
	RequestBody  *struct {
		Content map[string]any
	}
	Responses map[string]any
}

// description is the whole of it.
type description struct {
	OpenAPI string
	Servers []struct{ URL string }
	Tags    []struct{ Name, Description string }
	Paths   map[string]map[string]described

	operations map[string]*described // by method and pattern
	mux        *http.ServeMux
}

var describe = sync.OnceValues(func() (*description, error) {
	text, err := httpapi.Describe()
	if err != nil {
		return nil, err
	}
	d := &description{operations: map[string]*described{}, mux: http.NewServeMux()}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, err
	}
	for path, methods := range d.Paths {
		for method, op := range methods {
			op.Method, op.Path = strings.ToUpper(method), path
			d.operations[op.Method+" "+path] = &op
			d.mux.Handle(op.Method+" "+path, http.NotFoundHandler())
		}
	}
	return d, nil
})

func newDescription(t *testing.T) *description {
	t.Helper()
	d, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// of finds the operation that a request is for; nil if the description has none.
func (d *description) of(r *http.Request) *described {
	_, pattern := d.mux.Handler(r)
	return d.operations[pattern]
}

// check fails the test unless the description says that the operation can answer so.
func (op *described) check(t *testing.T, a answer) {
	t.Helper()
	if _, ok := op.Responses[strconv.Itoa(a.status)]; !ok {
		t.Errorf("%s %s (%s) answers with %d, which its description does not list: %s", op.Method, op.Path, op.ID, a.status, a.body)
	}
	var p httpapi.Problem
	if a.status >= 400 && (json.Unmarshal(a.body, &p) != nil || !slices.Contains(op.Errors, p.Kind)) {
		t.Errorf("%s %s (%s) fails with %q, which its x-errors do not list: %s", op.Method, op.Path, op.ID, p.Kind, a.body)
	}
}

package httpapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/httpapi"
	"github.com/terret-dev/terret/internal/access"
)

// spec is as much of the description as tests look at.
type spec struct {
	OpenAPI string
	Paths   map[string]map[string]struct {
		OperationID string `json:"operationId"`
		Scope       string `json:"x-scope"`
		RequestBody *struct {
			Content map[string]any
		}
		Responses map[string]any
	}
}

// TestDescription holds that the file in docs is what servers say.
func TestDescription(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	served := f.do("GET", "/openapi.json", nil).want(200, nil).body
	described, err := httpapi.Describe()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(served, described) || !bytes.Equal(file, described) {
		t.Error("docs/openapi.json is not up to date: run `make gen`")
	}
	var s spec
	if err := json.Unmarshal(served, &s); err != nil {
		t.Fatal(err)
	}
	if s.OpenAPI != "3.1.0" || len(s.Paths) < 35 {
		t.Errorf("version %s, %d paths", s.OpenAPI, len(s.Paths))
	}
	f.do("GET", "/openapi.json", nil, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
}

// fill puts ids into a path.
func fill(path string) string {
	return strings.NewReplacer("{id}", terret.NewSessionID(), "{turn}", "trn_x", "{request}", "req_x", "{agent}", "x", "{name}", "x").Replace(path)
}

// TestEveryRoute tries every route without what it needs, and with nonsense.
func TestEveryRoute(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	described, err := httpapi.Describe()
	if err != nil {
		t.Fatal(err)
	}
	var s spec
	if err := json.Unmarshal(described, &s); err != nil {
		t.Fatal(err)
	}
	viewer, _, err := f.tokens.Create(t.Context(), access.Spec{Name: "viewer", Scope: access.View})
	if err != nil {
		t.Fatal(err)
	}
	lone, _, err := f.tokens.Create(t.Context(), access.Spec{Name: "lone", Scope: access.Decide, Session: terret.NewSessionID()})
	if err != nil {
		t.Fatal(err)
	}
	for path, ops := range s.Paths {
		for method, op := range ops {
			t.Run(op.OperationID, func(t *testing.T) {
				method, at := strings.ToUpper(method), fill(path)
				do := func(body any, header ...string) answer {
					a := f.do(method, at, body, header...)
					a.t = t
					return a
				}
				if _, ok := op.Responses["default"]; !ok {
					t.Error("it does not say how it fails")
				}
				if op.OperationID == "sign-in" {
					do(map[string]any{"code": "x"}, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
					return
				}
				do(nil, "Authorization", "").problem(401, terret.CodeUnauthorized, "")
				do(nil, "Host", "evil.example").problem(403, terret.CodeForbidden, "")
				do(nil, "Origin", "http://evil.example").problem(403, terret.CodeForbidden, "")
				if op.Scope != "view" {
					do(nil, "Authorization", "Bearer "+viewer).problem(403, terret.CodeForbidden, "")
				}
				if strings.Contains(path, "/sessions/{id}") && op.RequestBody == nil {
					do(nil).problem(404, terret.CodeSessionNotFound, "")
					do(nil, "Authorization", "Bearer "+lone).problem(403, terret.CodeForbidden, "")
				}
				if p := do(nil, "Accept", "application/x-ndjson"); p.status >= 500 && p.status != 501 {
					t.Errorf("status %d: %s", p.status, p.body)
				}
				a := f.do(method, at+"?nonsense=1", nil)
				a.t = t
				if a.status != 422 && a.status != 400 || !bytes.Contains(a.body, []byte(`"kind":"invalid_request"`)) {
					t.Errorf("an unknown parameter: %d %s", a.status, a.body)
				}
				if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
					for _, body := range []string{"{", `"x"`, "[1]", `{"nonsense":1}`, "\xff", "{}{}", strings.Repeat("[", 20_000)} {
						if a := do(body); a.status != 400 && a.status != 422 {
							t.Errorf("body %.20q: %d %s", body, a.status, a.body)
						}
					}
					do("x", "Content-Type", "text/plain").problem(415, terret.CodeInvalidRequest, "")
					do("x=1", "Content-Type", "application/x-www-form-urlencoded").problem(415, terret.CodeInvalidRequest, "")
				}
			})
		}
	}
}

package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/door/within"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

type openHatch func(http.ResponseWriter, *http.Request)

func (h openHatch) ServeHTTP(w http.ResponseWriter, r *http.Request) { h(w, r) }
func (h openHatch) Close()                                           {}

// hatch is a door that creates a session and tells its id.
func hatch(hc *httpapi.Config, _ *engine.Config) {
	hc.Doors = []httpapi.Door{{
		Path: "/hatch",
		Open: func(server http.Handler) httpapi.OpenDoor {
			return openHatch(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if r.URL.Path == "/hatch/open" || err != nil {
					_, _ = io.WriteString(w, "open")
					return
				}
				c, err := within.Client(server, r)
				if err == nil {
					_, err = c.Agents(r.Context())
				}
				if err == nil && len(body) > 0 {
					_, err = c.PutRules(r.Context(), nil)
				}
				if err != nil {
					w.WriteHeader(http.StatusTeapot)
					_, _ = io.WriteString(w, string(terret.AsError(err).Code))
				}
			})
		},
		Public:    func(r *http.Request) bool { return r.URL.Path == "/hatch/open" },
		OtherBody: func(r *http.Request) bool { return r.URL.Path == "/hatch/form" },
		Refuse: func(w http.ResponseWriter, _ *http.Request, status int, err *terret.Error) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"refused": err.Code})
		},
	}}
}

// TestDoor holds that what comes through a door passes the checks of every request, that
// the door answers refusals in its own form, and that it has the rights of its caller only.
func TestDoor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, hatch)
	refused := func(a answer, status int, code string) {
		t.Helper()
		if a.status != status || strings.TrimSpace(string(a.body)) != `{"refused":"`+code+`"}` {
			t.Errorf("%d %s, want %d %s", a.status, a.body, status, code)
		}
	}
	for _, c := range []struct {
		path   string
		header []string
		status int
		code   string
	}{
		{"/hatch/x", []string{"Authorization", ""}, 401, "unauthorized"},
		{"/hatch/x", []string{"Authorization", "Bearer wrong"}, 401, "unauthorized"},
		{"/hatch/x", []string{"Origin", "https://evil.example"}, 403, "forbidden"},
		{"/hatch/open", []string{"Origin", "https://evil.example"}, 403, "forbidden"},
		{"/hatch/..%2f..%2fetc", nil, 422, "invalid_request"},
	} {
		refused(f.do("GET", c.path, nil, c.header...), c.status, c.code)
	}
	refused(f.do("POST", "/hatch/x", "a=b", "Content-Type", "application/x-www-form-urlencoded"), 415, "invalid_request")
	f.do("GET", "/hatch/open", nil, "Authorization", "").want(200, nil)
	f.do("POST", "/hatch/form", "a=b", "Content-Type", "application/x-www-form-urlencoded").want(200, nil)

	// A door may what its caller may.
	f.do("POST", "/hatch/x", map[string]any{"x": 1}).want(200, nil)
	if a := f.holding("prompt", access.Prompt, "").do("POST", "/hatch/x", map[string]any{"x": 1}); a.status != http.StatusTeapot || string(a.body) != "forbidden" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

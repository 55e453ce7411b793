package native_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native"
)

// TestKeptKeys has keys that are not in the environment, and headers of a provider. A key
// in the environment counts more, and a keyring that fails says so.
func TestKeptKeys(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var keys, teams string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys += r.Header.Get("X-Api-Key")
		teams += r.Header.Get("X-Team")
		_, _ = w.Write([]byte(`{"data":[{"id":"claude-new-1","display_name":"Claude New 1"}]}`))
	}))
	t.Cleanup(server.Close)
	env := map[string]string{"ANTHROPIC_BASE_URL": server.URL}
	d := native.New(native.Config{
		Getenv: func(name string) string { return env[name] },
		Key: func(provider string) (string, error) {
			switch provider {
			case "anthropic":
				return "kept", nil
			case "openai":
				return "", errors.New("the keyring is locked")
			}
			return "", nil
		},
		Providers: map[string]native.Provider{"own": {BaseURL: server.URL, Headers: map[string]string{"X-Team": "red"}}},
	})
	t.Cleanup(func() { _ = d.Shutdown(t.Context()) })
	names := func() string {
		t.Helper()
		list, err := d.Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range list {
			out = append(out, m.ID+"="+m.Name)
		}
		return strings.Join(out, " ")
	}
	if got := names(); !strings.Contains(got, "anthropic/claude-new-1=Claude New 1") || !strings.Contains(got, "own/claude-new-1=") || strings.Contains(got, "claude-sonnet-4-5") {
		t.Errorf("%s", got)
	}
	if d.DefaultModel() != "anthropic/claude-sonnet-4-5" {
		t.Errorf("the default is %s", d.DefaultModel())
	}
	mu.Lock()
	if keys != "kept" || teams != "red" {
		t.Errorf("keys %q, teams %q", keys, teams)
	}
	mu.Unlock()
	server.Close() // then what is known is listed
	if got := names(); !strings.Contains(got, "anthropic/claude-sonnet-4-5=") {
		t.Errorf("%s", got)
	}
	_, err := d.Open(t.Context(), terret.OpenRequest{Session: terret.Session{Model: "openai/gpt-5"}})
	if e := terret.AsError(err); err == nil || e.Code != terret.CodeNotAuthenticated || !strings.Contains(e.Message, "the keyring is locked") {
		t.Errorf("%v", err)
	}
}

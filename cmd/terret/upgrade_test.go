package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNewerVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b              string
		newer, comparable bool
	}{
		{"0.2.0", "v0.1.9", true, true},
		{"v0.10.0", "0.9.0", true, true},
		{"0.1.0", "0.1.0", false, true},
		{"0.1.0", "0.2.0", false, true},
		{"1.0.0", "1.0.0-rc.1", true, true},
		{"1.0.0-rc.1", "1.0.0", false, true},
		{"1.0.0-rc.2", "1.0.0-rc.1", false, false},
		{"0.1.0", "(devel)", false, false},
		{"0.1.0", "v0.0.0-20261119010203-abcdef123456+dirty", true, true},
		{"one", "0.1.0", false, false},
	} {
		if newer, comparable := newerVersion(c.a, c.b); newer != c.newer || comparable != c.comparable {
			t.Errorf("%s and %s: %v %v", c.a, c.b, newer, comparable)
		}
	}
}

func TestReadRelease(t *testing.T) {
	t.Parallel()
	served := ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/r.json" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(served))
	}))
	defer srv.Close()
	served = `{"version": "1.2.3", "notes": ["red\u001b[31m\nblood"], "url": "https://example.com"}`
	r, err := readRelease(t.Context(), srv.URL+"/r.json")
	if err != nil || r.Version != "1.2.3" || r.Notes[0] != "red [31m blood" {
		t.Errorf("%+v, %v", r, err)
	}
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for from, say := range map[string]string{
		srv.URL + "/other":                                               "404",
		"http://example.com/r.json":                                      "not encrypted",
		filepath.Join(dir, "none"):                                       "no such file",
		file("odd", `{"version": "\u001b[31m"}`):                         "names no version",
		file("large", `{"version": "`+strings.Repeat("1", releaseBytes)): "larger than",
	} {
		if _, err := readRelease(t.Context(), from); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v, want %q", from, err, say)
		}
	}
}

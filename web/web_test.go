//go:build !noweb

package web_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret/web"
)

// sources lists what dist is built from, as scripts/stamp.mjs does.
func sources(t *testing.T) []string {
	t.Helper()
	files := []string{"index.html", "package-lock.json", "package.json", "tsconfig.json", "vite.config.ts"}
	for _, dir := range []string{"public", "src"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !strings.HasSuffix(name, ".test.ts") && !strings.HasSuffix(name, ".test.tsx") {
				files = append(files, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	return files
}

func TestDistIsBuiltFromTheseSources(t *testing.T) {
	t.Parallel()
	sum := sha256.New()
	for _, name := range sources(t) {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(sum, "%s\n%d\n%s", name, len(body), body)
	}
	recorded, err := os.ReadFile("dist/sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.TrimSpace(string(recorded)), hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("dist was built from other sources (%.12s, now %.12s): run `make web`", got, want)
	}
}

// chunk is an entry of the build's manifest.
type chunk struct {
	File    string   `json:"file"`
	CSS     []string `json:"css"`
	Imports []string `json:"imports"`
	IsEntry bool     `json:"isEntry"`
}

// TestFirstLoadIsSmall measures what a browser fetches before it shows anything:
// the page, the entry, and what that imports.
func TestFirstLoadIsSmall(t *testing.T) {
	t.Parallel()
	const limit = 250 << 10
	raw, err := os.ReadFile("dist/.vite/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest map[string]chunk
	if err := json.Unmarshal(raw, &manifest); err != nil {
		t.Fatal(err)
	}
	first := map[string]bool{"index.html": true, "theme.js": true}
	var add func(name string)
	add = func(name string) {
		c := manifest[name]
		if first[c.File] {
			return
		}
		first[c.File] = true
		for _, css := range c.CSS {
			first[css] = true
		}
		for _, next := range c.Imports {
			add(next)
		}
	}
	for name, c := range manifest {
		if c.IsEntry {
			add(name)
		}
	}
	if len(first) < 4 {
		t.Fatalf("the manifest names only %v", first)
	}
	total := 0
	for name := range first {
		body, err := os.ReadFile(filepath.Join("dist", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, _ = z.Write(body)
		_ = z.Close()
		total += packed.Len()
	}
	t.Logf("first load: %d bytes in %d files", total, len(first))
	if total > limit {
		t.Errorf("the first load is %d bytes compressed, more than %d: make something lazy", total, limit)
	}
}

func get(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/", nil)
	r.URL.Path = path
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	web.Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestPagesAndFiles(t *testing.T) {
	t.Parallel()
	page := body(t, get(t, "/"))
	script := regexp.MustCompile(`/assets/index-[\w-]+\.js`).FindString(page)
	if script == "" {
		t.Fatalf("the page names no script:\n%s", page)
	}
	const forever = "public, max-age=31536000, immutable"
	for _, c := range []struct {
		path   string
		status int
		media  string
		cache  string
	}{
		{"/", 200, "text/html; charset=utf-8", "no-cache"},
		{"/s/01a1dd9b-98f7-77fb-a114-33187a174b30", 200, "text/html; charset=utf-8", "no-cache"},
		{"/usage", 200, "text/html; charset=utf-8", "no-cache"},
		{"/theme.js", 200, "text/javascript; charset=utf-8", "no-cache"},
		{"/icon.svg", 200, "image/svg+xml", "no-cache"},
		{"/icon-192.png", 200, "image/png", "no-cache"},
		{"/manifest.webmanifest", 200, "application/manifest+json", "no-cache"},
		{"/sw.js", 200, "text/javascript; charset=utf-8", "no-cache"},
		{script, 200, "text/javascript; charset=utf-8", forever},
		{"/assets/gone-12345678.js", 404, "", ""},
		{"/assets", 200, "text/html; charset=utf-8", "no-cache"},
		{"/sources.sha256", 404, "", ""},
		{"/.vite/manifest.json", 404, "", ""},
		{"/../web.go", 404, "", ""},
		{"/assets/../../web.go", 404, "", ""},
	} {
		r := get(t, c.path)
		if r.StatusCode != c.status {
			t.Errorf("%s: status %d, want %d", c.path, r.StatusCode, c.status)
		}
		if c.status != http.StatusOK {
			continue
		}
		got := []string{r.Header.Get("Content-Type"), r.Header.Get("Cache-Control")}
		if diff := cmp.Diff([]string{c.media, c.cache}, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.path, diff)
		}
	}
}

// TestPageObeysItsPolicy holds the page to what the policy allows: it has no inline
// script or style and names no other host.
func TestPageObeysItsPolicy(t *testing.T) {
	t.Parallel()
	page := body(t, get(t, "/"))
	for _, forbidden := range []string{"<style", " style=", " onload", "http://", "https://", "javascript:"} {
		if strings.Contains(page, forbidden) {
			t.Errorf("the page holds %q:\n%s", forbidden, page)
		}
	}
	for _, tag := range regexp.MustCompile(`<script[^>]*>`).FindAllString(page, -1) {
		if !strings.Contains(tag, " src=") {
			t.Errorf("inline script %s", tag)
		}
	}
}

func TestCompressedAndNotModified(t *testing.T) {
	t.Parallel()
	plain := get(t, "/icon.svg")
	if got := get(t, "/icon.svg", "If-None-Match", plain.Header.Get("ETag")).StatusCode; got != http.StatusNotModified {
		t.Errorf("asked with its tag: status %d", got)
	}
	script := regexp.MustCompile(`/assets/index-[\w-]+\.js`).FindString(body(t, get(t, "/")))
	packed := get(t, script, "Accept-Encoding", "gzip, br")
	if packed.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("not compressed: %v", packed.Header)
	}
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if string(unpacked) != body(t, get(t, script)) {
		t.Error("the compressed script is another one")
	}
}

func TestOnlyRead(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	web.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d %v", w.Code, w.Header())
	}
}

// TestNoPrivateRegistry keeps addresses of registries out of the lock file.
func TestNoPrivateRegistry(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Packages map[string]struct {
			Resolved  string `json:"resolved"`
			Integrity string `json:"integrity"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(lock, &parsed); err != nil {
		t.Fatal(err)
	}
	for name, p := range parsed.Packages {
		if p.Resolved != "" && !strings.HasPrefix(p.Resolved, "https://registry.npmjs.org/") {
			t.Errorf("%s comes from %s", name, p.Resolved)
		}
		if name != "" && p.Integrity == "" {
			t.Errorf("%s has no hash", name)
		}
	}
}

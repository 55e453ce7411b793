package docs

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
)

// Prefix is the address of the pages on a server.
const Prefix = "/docs"

// media are the types of the site's files.
var media = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".json": "application/json",
	".svg":  "image/svg+xml",
	".png":  "image/png",
}

// Beside serves the pages of this version at /docs, and everything else by the other
// handler. The pages are made when somebody first asks for one.
func Beside(other http.Handler, version string) http.Handler {
	site := sync.OnceValues(func() (map[string][]byte, error) { return Site(version) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ours := strings.CutPrefix(path.Clean("/"+r.URL.Path), Prefix)
		if !ours || name != "" && !strings.HasPrefix(name, "/") {
			other.ServeHTTP(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the documentation is only read", http.StatusMethodNotAllowed)
			return
		}
		if r.URL.Path == Prefix { // links are relative
			http.Redirect(w, r, Prefix+"/", http.StatusMovedPermanently)
			return
		}
		pages, err := site()
		if err != nil {
			http.Error(w, "the documentation cannot be made: "+err.Error(), http.StatusInternalServerError)
			return
		}
		name = strings.TrimPrefix(name, "/")
		body, ok := pages[name]
		if !ok {
			name = path.Join(name, "index.html")
			body, ok = pages[name]
			if ok && !strings.HasSuffix(r.URL.Path, "/") {
				http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
				return
			}
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		sum := sha256.Sum256(body)
		h := w.Header()
		h.Set("Content-Type", media[path.Ext(name)])
		if path.Ext(name) == ".svg" { // a picture that moves does so by a style of its own
			h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		}
		h.Set("Cache-Control", "no-cache")
		h.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
		if strings.Contains(r.Header.Get("If-None-Match"), h.Get("ETag")) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.Method == http.MethodGet {
			_, _ = w.Write(body) // an error means that the reader is gone
		}
	})
}

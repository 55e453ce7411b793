package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"path"
	"strings"
	"sync"
)

const index = "index.html"

// types are those of the files that the build makes, so that the answer does not
// depend on the machine.
var types = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".svg":         "image/svg+xml",
	".png":         "image/png",
	".webmanifest": "application/manifest+json",
}

// asset is a file that browsers may have.
type asset struct {
	body   []byte
	packed func() []byte // made when it is first asked for
	media  string
	tag    string
	keep   bool // its name holds a hash of the body
}

func newAsset(name string, body []byte) asset {
	sum := sha256.Sum256(body)
	return asset{
		body: body, media: types[path.Ext(name)], tag: `"` + hex.EncodeToString(sum[:12]) + `"`,
		keep:   strings.HasPrefix(name, "assets/"),
		packed: sync.OnceValue(func() []byte { return pack(body) }),
	}
}

// serve hands out files. Those under assets have a hash of what they hold in their
// name and may be kept for ever; the others are asked for again each time. What is
// no file is a page of the UI, which finds its way by itself.
func serve(assets map[string]asset) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		a, ok := assets[name]
		if !ok && path.Ext(name) == "" && !strings.HasPrefix(name, "assets/") {
			a, ok = assets[index]
		}
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the web UI is only read", http.StatusMethodNotAllowed)
		case !ok:
			http.NotFound(w, r)
		default:
			a.write(w, r)
		}
	})
}

func pack(body []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(body)
	if cerr := z.Close(); err != nil || cerr != nil {
		panic("writing to memory failed") // it never does
	}
	return out.Bytes()
}

func (a asset) write(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.media)
	h.Set("Vary", "Accept-Encoding")
	h.Set("ETag", a.tag)
	h.Set("Cache-Control", "no-cache")
	if a.keep {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), a.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.body
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(body) > 1024 {
		h.Set("Content-Encoding", "gzip")
		body = a.packed()
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // an error means that the reader is gone
	}
}

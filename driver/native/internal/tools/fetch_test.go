package tools

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// site is a web server that WebFetch may reach, unless it must not.
func site(t *testing.T, allowed bool, pages map[string]http.HandlerFunc) (*bench, string) {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range pages {
		mux.HandleFunc(path, h)
	}
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	b := newBench(t)
	if allowed {
		b.Private = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	}
	return b, srv.URL
}

// page answers with a type and a body.
func page(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = fmt.Fprint(w, body)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	b, url := site(t, true, map[string]http.HandlerFunc{
		"/": page("text/html; charset=iso-8859-1", "<html><head><title>T</title><style>p{}</style><script>evil()</script></head><body><h1>Caf\xe9</h1>"+
			"<p>See <a href='/more'>more</a>.</p><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>"),
		"/json":  page("application/json", `{"a":1}`),
		"/image": page("image/png", "\x89PNG\r\n\x1a\n\x00\x00"),
		"/lies":  page("text/plain", "\x00\x01\x02"),
		"/gone": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, "nothing\x1b[31m here")
		},
		"/near": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", http.StatusFound) },
		"/far": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.org/x", http.StatusFound)
		},
		"/round": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) },
		"/file": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		},
		"/empty": page("text/html", ""),
		"/deep":  page("text/html", strings.Repeat("<div>", 100_000)+"x"),
	})
	get := func(path string) Result { return b.run("WebFetch", input{"url": url + path}) }

	got := b.works("WebFetch", input{"url": url + "/"}).Text
	wantWords(t, got, "# Café", "[more]("+url+"/more)", "| 1 | 2 |")
	if strings.Contains(got, "evil") || strings.Contains(got, "p{}") {
		t.Errorf("what people do not see is there: %s", got)
	}
	wantText(t, `{"a":1}`, get("/json").Text)
	wantText(t, `{"a":1}`, get("/near").Text)
	wantText(t, "[the page is empty]", get("/empty").Text)
	for path, words := range map[string]string{
		"/image": "not text (image/png)", "/lies": "not text", "/gone": "404 Not Found.\nnothing here", "/round": "redirects more than 5 times", "/deep": "cannot be read",
	} {
		if r := get(path); !r.IsError || !strings.Contains(r.Text, words) {
			t.Errorf("%s: %+v", path, r)
		}
	}
	for path, to := range map[string]string{"/far": "https://example.org/x", "/file": "file:///etc/passwd"} {
		if r := get(path); r.IsError || !strings.Contains(r.Text, "redirects to another host: "+to) {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// TestFetchIsBounded has pages that never end, in one way or another.
func TestFetchIsBounded(t *testing.T) {
	t.Parallel()
	chunk := strings.Repeat("word ", 20_000)
	b, url := site(t, true, map[string]http.HandlerFunc{
		"/endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, chunk); err != nil {
					return
				}
			}
		},
		"/bomb": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(z, chunk); err != nil {
					return
				}
			}
		},
	})
	for _, path := range []string{"/endless", "/bomb"} {
		r := b.works("WebFetch", input{"url": url + path})
		if !r.Truncated || len(r.Text) > fetchChars+200 {
			t.Errorf("%s: %d characters, truncated %v", path, len(r.Text), r.Truncated)
		}
		wantWords(t, r.Text, "only its beginning is shown")
	}
}

func TestFetchStaysPublic(t *testing.T) {
	t.Parallel()
	asked := false
	b, url := site(t, false, map[string]http.HandlerFunc{"/": func(http.ResponseWriter, *http.Request) { asked = true }})
	port := url[strings.LastIndexByte(url, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		b.fails(b.prepare("WebFetch", input{"url": "http://" + host + port + "/"}), "not an address of the public internet")
	}
	if asked {
		t.Error("the server was asked")
	}
	for _, bad := range []string{"", "example.org", "ftp://example.org/", "file:///etc/passwd", "http://", "http://user:secret@example.org/", "https://" + strings.Repeat("x", 5000)} {
		b.refused("WebFetch", input{"url": bad}, "url must")
	}
	b.refused("WebFetch", input{"URL": url}, `no field "URL"`)
}

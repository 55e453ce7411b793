package docs

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	hrefRE = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	idRE   = regexp.MustCompile(` id="([^"]*)"`)
)

// linkFaults are the links of a site that lead nowhere in it.
func linkFaults(site map[string][]byte) (faults []string, links int) {
	for name, body := range site {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, m := range hrefRE.FindAllStringSubmatch(string(body), -1) {
			if strings.Contains(m[1], ":") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			target, ok := site[to]
			if !ok {
				faults = append(faults, name+": there is no "+to)
			} else if anchor != "" && !strings.Contains(string(target), ` id="`+anchor+`"`) {
				faults = append(faults, name+": there is no "+to+"#"+anchor)
			}
		}
	}
	return faults, links
}

func TestLinks(t *testing.T) {
	t.Parallel()
	site, err := Site("v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	faults, links := linkFaults(site)
	for _, fault := range faults {
		t.Error(fault)
	}
	if links < 1000 || len(site) < 50 {
		t.Errorf("only %d links in %d files", links, len(site))
	}
	if !strings.Contains(string(site["index.html"]), "v1.2.3") {
		t.Error("the page does not say its version")
	}
}

// TestBuild holds what becomes of links, anchors, HTML and the menu.
func TestBuild(t *testing.T) {
	t.Parallel()
	site, err := build(fstest.MapFS{
		"guide/README.md": {Data: []byte("# Guide\n\n[two](two.md) [one](one.md#a-part) [code](../../main.go) [out](https://example.com/x.md)\n\n![seen](../pictures/a.svg) ![unseen](../pictures/b.svg)\n")},
		"pictures/a.svg":  {Data: []byte("<svg/>")},
		"guide/one.md":    {Data: []byte("# One\n\n## A part\n\nPineapples <script>bad()</script>\n\n| a |\n|---|\n| b |\n")},
		"guide/two.md":    {Data: []byte("# Two\n\n[up](README.md) [config](../CONFIG.md) [all](../decisions)\n\n```sh\nterret run\n```\n")},
		"CONFIG.md":       {Data: []byte("# Configuration\n\n[here](#keys)\n\n## Keys\n")},

		"decisions/README.md": {Data: []byte("# Decisions\n")},
	}, "v1")
	if err != nil {
		t.Fatal(err)
	}
	if faults, _ := linkFaults(site); len(faults) > 0 {
		t.Errorf("%q", faults)
	}
	for name, wants := range map[string][]string{
		"index.html":      {`<a href="guide/two.html">two</a>`, `<a href="guide/one.html#a-part">one</a>`, " code ", `href="https://example.com/x.md"`, `data-root=""`, `<img src="pictures/a.svg" alt="seen"> unseen`},
		"pictures/a.svg":  {"<svg/>"},
		"guide/one.html":  {`<h2 id="a-part">`, "<td>b</td>", `data-root="../"`},
		"guide/two.html":  {`href="../index.html">up<`, `href="../CONFIG.html">config<`, `href="../decisions/index.html">all<`, `<code class="language-sh">`},
		"CONFIG.html":     {`href="#keys"`},
		"style.css":       {"prefers-color-scheme: dark"},
		"guide/two.html ": nil,
	} {
		for _, want := range wants {
			if !strings.Contains(string(site[name]), want) {
				t.Errorf("%s has no %s:\n%s", name, want, site[name])
			}
		}
	}
	if strings.Contains(string(site["guide/one.html"]), "<script>bad") {
		t.Error("a page's HTML is on the site")
	}
	menu := string(site["CONFIG.html"])
	if two, one := strings.Index(menu, ">Two<"), strings.Index(menu, ">One<"); two < 0 || one < two {
		t.Errorf("the menu is not in the order of the first page:\n%s", menu)
	}
	var index []entry
	if err := json.Unmarshal(site["search.json"], &index); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range index {
		found = found || e.Path == "guide/one.html#a-part" && e.Heading == "A part" && strings.Contains(e.Text, "Pineapples")
	}
	if !found {
		t.Errorf("the search does not know a part: %+v", index)
	}
}

func TestLinkFaults(t *testing.T) {
	t.Parallel()
	faults, _ := linkFaults(map[string][]byte{"a.html": []byte(`<a href="b.html"><a href="#x"><a href="https://x">`)})
	if len(faults) != 2 {
		t.Errorf("%q", faults)
	}
}

// TestPagesObeyThePolicy holds the pages to the server's policy: no inline script or style,
// nothing from elsewhere.
func TestPagesObeyThePolicy(t *testing.T) {
	t.Parallel()
	site, err := Site("v1")
	if err != nil {
		t.Fatal(err)
	}
	tag := regexp.MustCompile(`<(script|link|img|iframe|style)[^>]*>`)
	for name, body := range site {
		if path.Ext(name) != ".html" {
			continue
		}
		for _, found := range tag.FindAllString(string(body), -1) {
			if strings.Contains(found, "://") || strings.HasPrefix(found, "<style") || strings.HasPrefix(found, "<script") && !strings.Contains(found, " src=") {
				t.Errorf("%s: %s", name, found)
			}
		}
		if strings.Contains(string(body), " style=") && !strings.Contains(string(body), "&lt;") {
			t.Errorf("%s has an inline style", name)
		}
		ids := map[string]bool{}
		for _, m := range idRE.FindAllStringSubmatch(string(body), -1) {
			if ids[m[1]] {
				t.Errorf("%s has the id %s twice", name, m[1])
			}
			ids[m[1]] = true
		}
	}
}

func TestServed(t *testing.T) {
	t.Parallel()
	other := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := Beside(other, "v1")
	get := func(method, at string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, at, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, c := range []struct {
		at     string
		status int
		media  string
	}{
		{"/", http.StatusTeapot, ""},
		{"/docsx", http.StatusTeapot, ""},
		{"/docs", http.StatusMovedPermanently, ""},
		{"/docs/", http.StatusOK, "text/html; charset=utf-8"},
		{"/docs/guide/undo.html", http.StatusOK, "text/html; charset=utf-8"},
		{"/docs/decisions", http.StatusMovedPermanently, ""},
		{"/docs/decisions/", http.StatusOK, "text/html; charset=utf-8"},
		{"/docs/style.css", http.StatusOK, "text/css; charset=utf-8"},
		{"/docs/search.js", http.StatusOK, "text/javascript; charset=utf-8"},
		{"/docs/search.json", http.StatusOK, "application/json"},
		{"/docs/nothing.html", http.StatusNotFound, ""},
		{"/docs/docs.go", http.StatusNotFound, ""},
		{"/docs/../docs.go", http.StatusTeapot, ""},
	} {
		w := get(http.MethodGet, c.at)
		if w.Code != c.status || c.media != "" && w.Header().Get("Content-Type") != c.media {
			t.Errorf("%s: %d %s", c.at, w.Code, w.Header().Get("Content-Type"))
		}
	}
	if w := get(http.MethodPost, "/docs/"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
	if w := get(http.MethodGet, "/docs/", "If-None-Match", get(http.MethodGet, "/docs/").Header().Get("ETag")); w.Code != http.StatusNotModified {
		t.Errorf("asked with its tag: %d", w.Code)
	}
}

// Package docs is the documentation as a small site: the Markdown files of this folder as
// pages that need no network, with a search. A server shows them at /docs, in its own
// version; `make site` writes the same files.
package docs

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

//go:embed *.md guide/*.md reference/*.md decisions/*.md site/* pictures/*.svg
//go:embed screenshots/desktop-dark-permission.png screenshots/phone-dark-needs-you.png
var files embed.FS

// first is the page that the site begins with.
const first = "guide/README.md"

// references are the pages of the menu that are not the guide's.
var references = []string{
	"reference/commands.md", "reference/api.md", "CONFIG.md", "PLUGINS.md", "SECURITY.md", "FLEET.md", "CONFORMANCE.md", "ROUGH_EDGES.md",
}

// page is a Markdown file, read.
type page struct {
	file, out string // "guide/undo.md", "guide/undo.html"
	title     string
	source    []byte
	root      ast.Node
}

// entry is what the search finds: a part of a page, from its heading to the next.
type entry struct {
	Path    string `json:"path"` // with the anchor
	Title   string `json:"title"`
	Heading string `json:"heading,omitempty"`
	Text    string `json:"text"`
}

// Site returns the files of the site by their paths. Links between them are relative, so it
// may stand anywhere.
func Site(version string) (map[string][]byte, error) { return build(files, version) }

// build makes the site of the Markdown files of a tree.
func build(tree fs.FS, version string) (map[string][]byte, error) {
	layout, err := template.ParseFS(files, "site/page.html")
	if err != nil {
		return nil, err
	}
	pages, err := read(tree)
	if err != nil {
		return nil, err
	}
	site, index := map[string][]byte{}, []entry{}
	for _, kind := range []string{"pictures/*.svg", "screenshots/*.png"} {
		names, err := fs.Glob(tree, kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if site[name], err = fs.ReadFile(tree, name); err != nil {
				return nil, err
			}
		}
	}
	menu := menuOf(pages)
	for _, p := range pages {
		index = append(index, p.entries()...)
		p.relink(pages)
		p.showPictures(site)
		var body, whole bytes.Buffer
		if err := markdown().Renderer().Render(&body, p.source, p.root); err != nil {
			return nil, fmt.Errorf("%s: %w", p.file, err)
		}
		err := layout.Execute(&whole, map[string]any{
			"Title": p.title, "Root": strings.Repeat("../", strings.Count(p.out, "/")), "Out": p.out, "Menu": menu, "Version": version,
			"Body": template.HTML(body.String()), //nolint:gosec // goldmark leaves HTML out of what it makes
		})
		if err != nil {
			return nil, err
		}
		site[p.out] = whole.Bytes()
	}
	slices.SortFunc(index, func(a, b entry) int { return strings.Compare(a.Path, b.Path) })
	if site["search.json"], err = json.Marshal(index); err != nil {
		return nil, err
	}
	for _, name := range []string{"style.css", "search.js"} {
		if site[name], err = files.ReadFile("site/" + name); err != nil {
			return nil, err
		}
	}
	return site, nil
}

// markdown is how pages are read: as GitHub does, without HTML.
func markdown() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))
}

// read parses all pages.
func read(tree fs.FS) (map[string]*page, error) {
	pages := map[string]*page{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		p := &page{file: name, out: strings.TrimSuffix(name, ".md") + ".html", source: source}
		p.out = strings.Replace(p.out, "README.html", "index.html", 1)
		if name == first {
			p.out = "index.html"
		}
		p.root = markdown().Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext()))
		if h, ok := p.root.FirstChild().(*ast.Heading); ok {
			p.title = words(h, source)
		}
		pages[name] = p
		return nil
	})
	return pages, err
}

// words is the text of a node, without marks.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the visitor does not fail
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(t.Segment.Value(source))
				if t.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(t.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// link is a line of the menu.
type link struct{ Out, Title string }

// menuOf is the guide's pages in the order in which its first page names them, and the
// references.
func menuOf(pages map[string]*page) map[string][]link {
	menu := map[string][]link{}
	add := func(group, name string) {
		if p := pages[name]; p != nil && !slices.Contains(menu[group], link{p.out, p.title}) {
			menu[group] = append(menu[group], link{p.out, p.title})
		}
	}
	if p := pages[first]; p != nil {
		add("Guide", first)
		for l := range p.links() {
			if name, _ := p.target(string(l.Destination)); strings.HasPrefix(name, "guide/") {
				add("Guide", name)
			}
		}
	}
	for _, name := range references {
		add("Reference", name)
	}
	return menu
}

// links yields the links of a page.
func (p *page) links() func(yield func(*ast.Link) bool) {
	return func(yield func(*ast.Link) bool) {
		_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			if l, ok := n.(*ast.Link); ok && entering && !yield(l) {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
}

// target is the file of this folder that a link of the page leads to, and the anchor in it.
func (p *page) target(to string) (file, anchor string) {
	to, anchor, _ = strings.Cut(to, "#")
	if to == "" {
		return p.file, anchor
	}
	return path.Join(path.Dir(p.file), to), anchor
}

// relink makes links between pages lead to pages of the site. Links into the rest of the
// repository become text.
func (p *page) relink(pages map[string]*page) {
	var gone []ast.Node
	for l := range p.links() {
		to := string(l.Destination)
		if strings.Contains(to, ":") {
			continue
		}
		name, anchor := p.target(to)
		other := pages[name]
		if other == nil {
			other = pages[name+"/README.md"]
		}
		if other == nil {
			gone = append(gone, l)
			continue
		}
		out := strings.Repeat("../", strings.Count(p.out, "/")) + other.out
		if other == p {
			out = ""
		}
		if anchor != "" {
			out += "#" + anchor
		}
		l.Destination = []byte(out)
	}
	for _, l := range gone {
		unwrap(l)
	}
}

// showPictures makes pictures lead to those of the site. One that is not there becomes its
// description.
func (p *page) showPictures(site map[string][]byte) {
	var gone []ast.Node
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if img, ok := n.(*ast.Image); ok && entering {
			name, _ := p.target(string(img.Destination))
			img.Destination = []byte(strings.Repeat("../", strings.Count(p.out, "/")) + name)
			if site[name] == nil {
				gone = append(gone, img)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, img := range gone {
		unwrap(img)
	}
}

// unwrap puts what is in a node into its place.
func unwrap(n ast.Node) {
	parent := n.Parent()
	for c := n.FirstChild(); c != nil; c = n.FirstChild() {
		parent.InsertBefore(parent, n, c)
	}
	parent.RemoveChild(parent, n)
}

// entries are what the search knows of a page.
func (p *page) entries() []entry {
	var found []entry
	at := -1
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok && h.Level <= 3 || at < 0 {
			e := entry{Path: p.out, Title: p.title}
			if ok && h.Level > 1 {
				id, _ := h.AttributeString("id")
				anchor, _ := id.([]byte)
				e.Path, e.Heading = p.out+"#"+string(anchor), words(h, p.source)
			}
			found, at = append(found, e), at+1
			if ok {
				continue
			}
		}
		found[at].Text = strings.TrimSpace(found[at].Text + " " + plain(n, p.source))
	}
	return found
}

// plain is the text of a block, with that of code.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindText:
			b.Write(n.(*ast.Text).Segment.Value(source)) //nolint:forcetypeassert // its kind says so
			b.WriteByte(' ')
		case ast.KindFencedCodeBlock, ast.KindCodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				b.Write(line.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

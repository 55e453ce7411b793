package acp

import (
	"encoding/base64"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/textdiff"
)

// promptBlocks are the content of a prompt as agents get it.
func (s *session) promptBlocks(content []block) ([]terret.Block, error) {
	var out []terret.Block
	text := func(t string) {
		if n := len(out); n > 0 && out[n-1].Type == terret.BlockText { // one text, as a person would have typed it
			out[n-1].Text += t
			return
		}
		out = append(out, terret.Text(t))
	}
	for _, b := range content {
		switch b.Type {
		case "text":
			text(b.Text)
		case "image":
			bytes, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil {
				return nil, terret.Invalid("prompt", "the data of a picture are not base64")
			}
			out = append(out, terret.Block{Type: terret.BlockImage, MediaType: b.MimeType, Bytes: bytes})
		case "resource_link":
			text(s.mention(b.URI))
		case "resource":
			if err := s.embedded(b.Resource, text, &out); err != nil {
				return nil, err
			}
		default:
			return nil, terret.Invalid("prompt", "content of type %q cannot be sent to an agent; send text, images or resources", b.Type)
		}
	}
	if len(out) == 0 {
		return nil, terret.Invalid("prompt", "the prompt is empty")
	}
	return out, nil
}

func (s *session) embedded(r *resource, text func(string), out *[]terret.Block) error {
	switch {
	case r == nil:
		return terret.Invalid("prompt", "a resource has no content")
	case r.Text != nil:
		text(s.mention(r.URI) + "\n<context ref=\"" + strings.ReplaceAll(r.URI, `"`, "%22") + "\">\n" + *r.Text + "\n</context>\n")
		return nil
	}
	bytes, err := base64.StdEncoding.DecodeString(r.Blob)
	if err != nil {
		return terret.Invalid("prompt", "the data of %s are not base64", r.URI)
	}
	kind := terret.BlockDocument
	if strings.HasPrefix(r.MimeType, "image/") {
		kind = terret.BlockImage
	}
	*out = append(*out, terret.Block{Type: kind, MediaType: r.MimeType, Bytes: bytes, Name: filepath.Base(r.URI)})
	return nil
}

// mention is what a person would type to name a resource: a file as @path.
func (s *session) mention(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if rel, err := filepath.Rel(s.cwd, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	if u.Fragment != "" {
		path += "#" + u.Fragment
	}
	return "@" + path
}

// contentOf is a block of an agent as editors get it, if they know something like it.
func contentOf(b terret.Block) (block, bool) {
	switch {
	case b.Type == terret.BlockText && b.Text != "":
		return block{Type: "text", Text: b.Text}, true
	case b.Type == terret.BlockImage && len(b.Bytes) > 0:
		return block{Type: "image", MimeType: b.MediaType, Data: base64.StdEncoding.EncodeToString(b.Bytes)}, true
	case b.URL != "":
		return block{Type: "resource_link", URI: b.URL, Name: b.URL}, true
	case b.Name != "":
		return block{Type: "text", Text: "[" + b.Name + "]"}, true
	}
	return block{}, false
}

func contentText(text string) toolContent {
	return toolContent{Type: "content", Content: &block{Type: "text", Text: text}}
}

// kinds are the classes of tools in the words of the protocol.
var kinds = map[terret.ToolClass]string{
	terret.ClassExecute: "execute", terret.ClassRead: "read", terret.ClassEdit: "edit", terret.ClassSearch: "search",
	terret.ClassFetch: "fetch", terret.ClassThink: "think",
}

func kindOf(class terret.ToolClass) string {
	if kind := kinds[class]; kind != "" {
		return kind
	}
	return "other"
}

// maxHunks bounds the pieces in which a change is shown.
const maxHunks = 200

// changes are the hunks of a unified diff, each with its text before and after.
func changes(cwd, diff string) []toolContent {
	var out []toolContent
	for _, file := range textdiff.Parse(diff) {
		path := file.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		for _, h := range hunks(file.Text) {
			if len(out) == maxHunks {
				return out
			}
			c := toolContent{Type: "diff", Path: path, NewText: &h.after}
			if !h.fresh {
				c.OldText = &h.before
			}
			out = append(out, c)
		}
	}
	return out
}

type hunk struct {
	before, after string
	fresh         bool // the file is new
}

func hunks(text string) []hunk {
	var out []hunk
	var before, after strings.Builder
	in, fresh := false, false
	flush := func() {
		if in {
			out = append(out, hunk{before.String(), after.String(), fresh})
		}
		before.Reset()
		after.Reset()
	}
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "@@"):
			flush()
			in = true
		case !in:
			fresh = fresh || strings.HasPrefix(line, "--- "+textdiff.None)
		case strings.HasPrefix(line, "-"):
			before.WriteString(line[1:])
		case strings.HasPrefix(line, "+"):
			after.WriteString(line[1:])
		case strings.HasPrefix(line, " "):
			before.WriteString(line[1:])
			after.WriteString(line[1:])
		}
	}
	flush()
	return out
}

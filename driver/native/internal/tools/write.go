package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/terret-dev/terret/internal/textdiff"
)

func writeTool() Tool {
	return Tool{
		Name: "Write", Class: Edits,
		Description: "Writes a file: creates it, with its folders, or replaces all of its content. The content is written as it is given. To change a part of a file use Edit.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"The file, absolute or relative to the session's folder"},` +
			`"content":{"type":"string","description":"All of the file's new content"}},` +
			`"required":["file_path","content"],"additionalProperties":false}`),
		Prepare: prepareWrite,
	}
}

func prepareWrite(ctx context.Context, env Env, input json.RawMessage) (*Use, error) {
	a := parse("Write", input, "file_path", "content")
	path, content := a.text("file_path"), a.text("content")
	if len(content) > writeLimit {
		a.fail("the content is longer than %d bytes", writeLimit)
	}
	if strings.HasSuffix(path, "/") {
		a.fail("file_path %s names a folder, not a file", plain(path))
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	p, err := env.locate("file_path", path)
	if err != nil {
		return nil, err
	}
	r := &replacement{env: env, place: p, after: []byte(content)}
	use := &Use{
		Tool: "Write", Class: Edits,
		Title: "Write " + brief(p.shown), Paths: []string{p.real}, Inside: p.inside,
		run: r.write,
	}
	if r.before, err = look(ctx, p, textdiff.MaxInput+1); err == nil {
		err = errors.Join(r.writable(), r.known())
	}
	if err == nil {
		r.diff = unified(p, r.before, r.after)
		use.Diff = r.diff
	}
	return settle(use, err)
}

// writeFacts is the structured part of a Write result.
type writeFacts struct {
	Path    string `json:"path"`
	Created bool   `json:"created"`
	Size    int    `json:"size"`
}

func (r *replacement) write(ctx context.Context, _ func(string)) (Result, error) {
	if r.before.info != nil && r.before.whole && string(r.before.content) == string(r.after) {
		return Result{Text: r.place.shown + " already has this content; nothing was written."}, nil
	}
	kind, err := r.commit(ctx)
	if err != nil {
		return Result{}, err
	}
	verb := "Replaced the content of"
	if kind == Created {
		verb = "Created"
	}
	return Result{
		Text:       fmt.Sprintf("%s %s (%s).", verb, r.place.shown, count(len(r.after), "byte")),
		Diff:       r.diff,
		Changed:    []Change{{Path: r.place.real, Kind: kind}},
		Structured: structured(writeFacts{Path: r.place.real, Created: kind == Created, Size: len(r.after)}),
	}, nil
}

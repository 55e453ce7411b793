package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// occurrencesShown is how many lines an error about occurrences names.
const occurrencesShown = 10

// maxEdits bounds the changes of one Edit.
const maxEdits = 200

func editTool() Tool {
	return Tool{
		Name: "Edit", Class: Edits,
		Description: "Replaces a string in a file. old_string must be in the file exactly once, white space included; give more of the lines around it to make it unique, " +
			"or set replace_all to replace every occurrence. For several changes of a file give edits: each is made in what the ones before it left, and either all are made or none. " +
			"Line endings (CRLF) and a byte order mark are kept. A file that has changed since you read it must be read again first.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"The file, absolute or relative to the session's folder"},` +
			`"old_string":{"type":"string","description":"The text to replace, without line numbers"},` +
			`"new_string":{"type":"string","description":"The text to put in its place"},` +
			`"replace_all":{"type":"boolean","description":"Replace every occurrence"},` +
			`"edits":{"type":"array","description":"Several changes, in place of old_string and new_string","items":{"type":"object","properties":{` +
			`"old_string":{"type":"string"},"new_string":{"type":"string"},"replace_all":{"type":"boolean"}},"required":["old_string","new_string"],"additionalProperties":false}}},` +
			`"required":["file_path"],"additionalProperties":false}`),
		Prepare: prepareEdit,
	}
}

// editing is a prepared Edit use.
type editing struct {
	replacement
	changes  []change
	replaced int // occurrences
}

// change is one of the changes of an Edit.
type change struct {
	old, new string
	all      bool
}

// changeIn reads a change.
func changeIn(a *args) change {
	c := change{a.text("old_string"), a.text("new_string"), a.flag("replace_all")}
	switch {
	case a.has("old_string") && c.old == "":
		a.fail("old_string is empty; to create a file or to replace all of it use Write")
	case c.old == c.new && a.has("new_string"):
		a.fail("old_string and new_string are the same")
	}
	return c
}

// changesIn reads the changes of an Edit: one, or a list of them.
func changesIn(a *args) []change {
	if !a.has("edits") {
		return []change{changeIn(a)}
	}
	if a.has("old_string") || a.has("new_string") || a.has("replace_all") {
		a.fail("give either edits, or old_string and new_string")
	}
	var list []json.RawMessage
	if json.Unmarshal(a.fields["edits"], &list) != nil || len(list) == 0 || len(list) > maxEdits {
		a.fail("edits must be a list of 1 to %d changes", maxEdits)
		return nil
	}
	var out []change
	for i, raw := range list {
		one := parse("Edit", raw, "old_string", "new_string", "replace_all")
		out = append(out, changeIn(one))
		if one.err != nil {
			a.fail("edits[%d]: %v", i, one.err)
		}
	}
	return out
}

func prepareEdit(ctx context.Context, env Env, input json.RawMessage) (*Use, error) {
	a := parse("Edit", input, "file_path", "old_string", "new_string", "replace_all", "edits")
	path, changes := a.text("file_path"), changesIn(a)
	if err := a.done(); err != nil {
		return nil, err
	}
	p, err := env.locate("file_path", path)
	if err != nil {
		return nil, err
	}
	e := &editing{replacement: replacement{env: env, place: p}, changes: changes}
	use := &Use{
		Tool: "Edit", Class: Edits,
		Title: "Edit " + brief(p.shown), Paths: []string{p.real}, Inside: p.inside,
		run: e.edit,
	}
	if err = e.prepare(ctx); err == nil {
		e.diff = unified(p, e.before, e.after)
		use.Diff = e.diff
	}
	return settle(use, err)
}

// prepare reads the file and makes its new content.
func (e *editing) prepare(ctx context.Context) (err error) {
	if e.before, err = look(ctx, e.place, writeLimit); err != nil {
		return err
	}
	switch {
	case e.before.info == nil:
		return fmt.Errorf("%w. To create it use Write", &missing{p: e.place})
	case !e.before.whole:
		return fmt.Errorf("%s is larger than %d bytes; change it with a command", e.place.shown, writeLimit)
	}
	if err := errors.Join(e.writable(), e.known()); err != nil {
		return err
	}
	e.after = e.before.content
	for i, c := range e.changes {
		var n int
		e.after, n, err = substitute(e.after, c.old, c.new, c.all)
		switch {
		case err != nil && len(e.changes) > 1:
			return fmt.Errorf("%s: edits[%d]: %w. No change was made", e.place.shown, i, err)
		case err != nil:
			return fmt.Errorf("%s: %w", e.place.shown, err)
		}
		e.replaced += n
	}
	if bytes.Equal(e.before.content, e.after) {
		return fmt.Errorf("%s: the edit would change nothing (the two strings differ only in line endings)", e.place.shown)
	}
	if len(e.after) > writeLimit {
		return fmt.Errorf("%s would become larger than %d bytes", e.place.shown, writeLimit)
	}
	return nil
}

// editFacts is the structured part of an Edit result.
type editFacts struct {
	Path     string `json:"path"`
	Replaced int    `json:"replaced"`
}

func (e *editing) edit(ctx context.Context, _ func(string)) (Result, error) {
	kind, err := e.commit(ctx)
	if err != nil {
		return Result{}, err
	}
	return Result{
		Text:       fmt.Sprintf("Edited %s (%s replaced).", e.place.shown, count(e.replaced, "occurrence")),
		Diff:       e.diff,
		Changed:    []Change{{Path: e.place.real, Kind: kind}},
		Structured: structured(editFacts{Path: e.place.real, Replaced: e.replaced}),
	}, nil
}

// substitute replaces old by new in content, once, or everywhere if all. In a
// content with CRLF, both are read as if it had LF, and what is put in has the
// line endings of what it replaces, or else those that most lines have.
func substitute(content []byte, old, new string, all bool) (after []byte, n int, err error) {
	body, marked := bytes.CutPrefix(content, byteOrderMark)
	if marked {
		old = strings.TrimPrefix(old, string(byteOrderMark))
		new = strings.TrimPrefix(new, string(byteOrderMark))
		if old == "" {
			return nil, 0, errors.New("old_string is nothing but a byte order mark")
		}
	}
	text := unfold(body)
	if text.crlf > 0 {
		old, new = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(new, "\r\n", "\n")
	}
	found, err := occurrences(text.plain, old, all)
	if err != nil {
		return nil, 0, err
	}
	if growth := len(found) * (len(new) - len(old)); len(content)+growth > 2*writeLimit {
		return nil, 0, fmt.Errorf("it would become larger than %d bytes", writeLimit)
	}
	after = append(after, content[:len(content)-len(body)]...)
	last := 0
	for _, at := range found {
		from, to := text.folded(at), text.folded(at+len(old))
		after = append(after, body[last:from]...)
		after = append(after, text.fold(new, body[from:to])...)
		last = to
	}
	return append(after, body[last:]...), len(found), nil
}

// occurrences returns where old is in text: exactly one place, or all of them.
func occurrences(text []byte, old string, all bool) ([]int, error) {
	var found []int
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(old))
		if i < 0 {
			break
		}
		found = append(found, from+i)
		from += i + len(old)
	}
	switch {
	case len(found) == 0:
		return nil, notFound(text, old)
	case all:
		return found, nil
	}
	if len(found) == 1 { // one that overlaps the first makes it ambiguous too
		if i := bytes.Index(text[found[0]+1:], []byte(old)); i >= 0 {
			found = append(found, found[0]+1+i)
		}
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("old_string occurs %d times (%s); give more of the lines around the one you mean, or set replace_all",
			len(found), lineList(text, found))
	}
	return found, nil
}

// lineList is "line 3" or "lines 3, 17": where the offsets are.
func lineList(text []byte, offsets []int) string {
	var numbers []string
	line, last := 1, 0
	for i, at := range offsets {
		if i == occurrencesShown {
			numbers = append(numbers, "...")
			break
		}
		line += bytes.Count(text[last:at], []byte("\n"))
		last = at
		numbers = append(numbers, fmt.Sprint(line))
	}
	if len(numbers) == 1 {
		return "line " + numbers[0]
	}
	return "lines " + strings.Join(numbers, ", ")
}

// notFound says what may be wrong with old.
func notFound(text []byte, old string) error {
	first, _, _ := strings.Cut(strings.TrimSpace(old), "\n")
	first = strings.TrimSpace(first)
	var near []int
	at := 0
	for line := range bytes.Lines(text) {
		if first != "" && string(bytes.TrimSpace(line)) == first && len(near) <= occurrencesShown {
			near = append(near, at)
		}
		at += len(line)
	}
	switch {
	case len(near) > 0:
		return fmt.Errorf("old_string was not found; its first line is there (%s), so look at the white space and at the lines that follow", lineList(text, near))
	case strings.Contains(old, "\uFFFD"):
		return errors.New("old_string was not found; it holds \uFFFD, which stands for bytes that are not UTF-8")
	}
	return errors.New("old_string was not found; read the file and copy the text exactly, without line numbers")
}

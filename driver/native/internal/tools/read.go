package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	readLines = 2000      // lines that are read if not asked otherwise
	readWidth = 2000      // characters of a line
	readLimit = 256 << 10 // bytes of a result
)

func readTool() Tool {
	return Tool{
		Name: "Read", Class: Reads,
		Description: "Reads a text file and returns its lines, numbered. Reads 2,000 lines from the beginning unless offset or limit say otherwise; " +
			"longer lines are cut at 2,000 characters. Of a notebook (.ipynb) you get the cells and what they printed; to change one, edit its JSON with a command. Images (PNG, JPEG, GIF, WebP) are shown to you. Line numbers and the tab behind them are not part of the file.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"file_path":{"type":"string","description":"The file, absolute or relative to the session's folder"},` +
			`"offset":{"type":"integer","minimum":0,"description":"First line to read, from 1"},` +
			`"limit":{"type":"integer","minimum":1,"description":"How many lines to read"}},` +
			`"required":["file_path"],"additionalProperties":false}`),
		Prepare: prepareRead,
	}
}

// reading is a prepared Read use.
type reading struct {
	env           Env
	place         place
	offset, limit int
}

func prepareRead(_ context.Context, env Env, input json.RawMessage) (*Use, error) {
	a := parse("Read", input, "file_path", "offset", "limit")
	path := a.text("file_path")
	r := reading{env: env}
	r.offset = max(a.number("offset", 0, math.MaxInt32, 1), 1)
	r.limit = a.number("limit", 1, math.MaxInt32, readLines)
	if err := a.done(); err != nil {
		return nil, err
	}
	var err error
	if r.place, err = env.locate("file_path", path); err != nil {
		return nil, err
	}
	use := &Use{
		Tool: "Read", Class: Reads,
		Title: "Read " + brief(r.place.shown), Paths: []string{r.place.real}, Inside: r.place.inside,
		run: r.run,
	}
	if r.offset > 1 {
		use.Title += fmt.Sprintf(" from line %d", r.offset)
	}
	f, _, err := openRegular(r.place)
	if err == nil {
		_ = f.Close()
	}
	return settle(use, err)
}

// readFacts is the structured part of a Read result.
type readFacts struct {
	FirstLine int   `json:"first_line,omitempty"`
	Lines     int   `json:"lines"`
	More      bool  `json:"more,omitempty"`
	Size      int64 `json:"size"` // of the file
}

func (r *reading) run(ctx context.Context, _ func(string)) (Result, error) {
	if err := r.env.relocate(r.place); err != nil {
		return Result{}, err
	}
	f, info, err := openRegular(r.place)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	if r.env.State != nil && info.Size() <= writeLimit {
		now, err := look(ctx, r.place, 0) // before it is read: a change from then on is noticed
		if err != nil {
			return Result{}, err
		}
		r.env.State.saw(r.place.real, now.sum)
	}
	if res, ok, err := r.asImage(f, info.Size()); ok || err != nil {
		return res, err
	}
	var from io.Reader = f
	if shown, ok, err := asNotebook(r.place.real, f); err != nil {
		return Result{}, problem(r.place, err)
	} else if ok {
		from = strings.NewReader(shown)
	}
	text := newLines(&ctxReader{ctx, from}, utf8.UTFMax*(readWidth+1))
	if start := text.start(); isBinary(start) {
		return Result{}, fmt.Errorf("%s is a binary file (%s, %d bytes) and cannot be shown as text", r.place.shown, binaryKind(start), info.Size())
	}
	return r.page(text, info.Size())
}

// page reads the lines that were asked for.
func (r *reading) page(text *lines, size int64) (Result, error) {
	var out strings.Builder
	facts := readFacts{FirstLine: r.offset, Size: size}
	crlf, bad := false, false
	number := 1
	for ; ; number++ {
		if facts.Lines == r.limit || out.Len() >= readLimit-utf8.UTFMax*readWidth {
			facts.More = text.more()
			break
		}
		err := text.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Result{}, problem(r.place, err)
		}
		if number < r.offset {
			continue
		}
		facts.Lines++
		crlf = crlf || text.crlf
		bad = bad || !utf8.Valid(text.line) && text.cut == 0
		fmt.Fprintf(&out, "%6d\t%s\n", number, showLine(text))
	}
	if facts.Lines == 0 && number > 1 {
		return Result{}, fmt.Errorf("%s has only %s; offset %d is behind its end", r.place.shown, count(number-1, "line"), r.offset)
	}
	switch {
	case facts.Lines == 0:
		out.WriteString("[the file is empty]\n")
	case facts.More:
		fmt.Fprintf(&out, "[more lines follow; read on with offset %d]\n", number)
	}
	if crlf {
		out.WriteString("[lines end with CRLF; Edit keeps that]\n")
	}
	if bad {
		out.WriteString("[bytes that are not UTF-8 are shown as \uFFFD]\n")
	}
	return Result{Text: out.String(), Truncated: facts.More, Structured: structured(facts)}, nil
}

// showLine is a line within readWidth.
func showLine(l *lines) string {
	s := valid(l.line)
	cut := cutEnd(s, readWidth, "")
	if more := utf8.RuneCountInString(s[len(cut):]) + l.cut; more > 0 {
		return fmt.Sprintf("%s[... %d characters cut ...]", cut, more)
	}
	return cut
}

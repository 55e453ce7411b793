package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/terret-dev/terret/internal/lazyregexp"
	"github.com/terret-dev/terret/internal/redact"
)

// ErrChanged says that the file is no longer what it was when it was read.
var ErrChanged = errors.New("the file has been changed meanwhile; read it again")

// Editor shows a person the user's file as text and takes it back. Values that must not be
// shown (headers of providers, the password of a database, what is secret in the environment)
// stand in it as "[hidden 1]" and so on; where such a word stands when the text comes
// back, the value stays.
type Editor struct {
	Path    string
	Environ []string
	// Rule checks rules; nil means that any text will do.
	Rule func(pattern string) error
}

// Text is the file as it may be shown.
type Text struct {
	Text string
	Hash string // of the file as it is, to give back with the text
	// There says that there is such a file.
	There bool
	// Hidden is how many values are not shown.
	Hidden int
}

// Fault is something wrong in a text, and where; the line is 0 if that is unknown.
type Fault struct {
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
}

// Read returns the text. A file in which values cannot be told from each other, since it is
// not JSON with comments, is not shown.
func (e Editor) Read() (Text, error) {
	raw, err := readUser(e.Path)
	if err != nil {
		return Text{}, err
	}
	out := Text{Text: string(raw), Hash: hash(raw), There: raw != nil}
	v, err := e.parse(raw)
	if err != nil || v == nil {
		return out, err
	}
	hidden := e.hide(v)
	if out.Hidden = len(hidden); out.Hidden > 0 {
		out.Text = string(v.Pack())
	}
	return out, nil
}

// Check returns all that is wrong in a text.
func (e Editor) Check(text string) ([]Fault, error) {
	raw, err := readUser(e.Path)
	if err != nil {
		return nil, err
	}
	_, faults, err := e.restored(raw, text)
	return faults, err
}

// Write makes the file hold a text, in one step, if nothing is wrong in it. The hash is that
// of the file from which the text was made; if it is another one by now, the error is
// [ErrChanged].
func (e Editor) Write(ctx context.Context, text, was string) ([]Fault, error) {
	var faults []Fault
	err := replace(ctx, e.Path, func(raw []byte) ([]byte, error) {
		if hash(raw) != was {
			return nil, ErrChanged
		}
		after, wrong, err := e.restored(raw, text)
		if faults = wrong; err != nil || len(wrong) > 0 {
			return raw, err
		}
		return after, nil
	})
	return faults, err
}

func hash(raw []byte) string {
	if raw == nil {
		return "none"
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:16])
}

// parse reads a file; nil if it is empty.
func (e Editor) parse(raw []byte) (*hujson.Value, error) {
	raw = bytes.TrimPrefix(raw, []byte("\uFEFF"))
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	d := e.decoder(raw)
	if at := firstInvalid(raw); at >= 0 {
		return nil, d.fail(at, "the file must be UTF-8")
	}
	if at := tooDeep(raw); at >= 0 {
		return nil, d.fail(at, "brackets are nested more than %d deep", maxDepth)
	}
	v, err := hujson.Parse(raw)
	if err != nil {
		return nil, d.syntax(err)
	}
	return &v, nil
}

func (e Editor) decoder(text []byte) *decoder {
	return &decoder{file: e.Path, text: text, place: place{base: filepath.Dir(e.Path), home: homeDir(e.Environ), rule: e.Rule}}
}

// hiddenValue is a value that is not shown, and where it stands.
type hiddenValue struct{ key, value string }

// hide replaces what must not be shown, and returns it in order.
func (e Editor) hide(v *hujson.Value) (hidden []hiddenValue) {
	texts(v, "", func(key string, v *hujson.Value) {
		if value := v.Value.(hujson.Literal).String(); e.hidden(key, value) {
			hidden = append(hidden, hiddenValue{key, value})
			v.Value = hujson.String(fmt.Sprintf("[hidden %d]", len(hidden)))
		}
	})
	return hidden
}

// texts visits all texts below a value with their keys, such as rules.allow.0, in order.
func texts(v *hujson.Value, key string, visit func(key string, v *hujson.Value)) {
	below := func(name string) string { return strings.TrimPrefix(key+"."+name, ".") }
	switch t := v.Value.(type) {
	case *hujson.Object:
		for i := range t.Members {
			texts(&t.Members[i].Value, below(t.Members[i].Name.Value.(hujson.Literal).String()), visit)
		}
	case *hujson.Array:
		for i := range t.Elements {
			texts(&t.Elements[i], below(strconv.Itoa(i)), visit)
		}
	case hujson.Literal:
		if t.Kind() == '"' {
			visit(key, v)
		}
	}
}

var hiddenWord = lazyregexp.New(`^\[hidden (\d{1,6})\]$`)

// restored is a text with the values of the file where it does not show them, and what is
// wrong in it.
func (e Editor) restored(raw []byte, text string) (after []byte, faults []Fault, err error) {
	if len(text) > maxFile {
		return nil, []Fault{{Message: fmt.Sprintf("the file would be larger than %d KB", maxFile>>10)}}, nil
	}
	before, err := e.parse(raw)
	if err != nil {
		return nil, nil, err
	}
	var hidden []hiddenValue
	if before != nil {
		hidden = e.hide(before)
	}
	d := e.decoder([]byte(text))
	v, err := e.parse([]byte(text))
	if err != nil {
		return nil, faultsOf([]error{err}), nil
	}
	after = []byte(text)
	if v != nil {
		restored := false
		texts(v, "", func(key string, v *hujson.Value) {
			m := hiddenWord.FindStringSubmatch(v.Value.(hujson.Literal).String())
			if m == nil {
				return
			}
			n, _ := strconv.Atoi(m[1])
			if n < 1 || n > len(hidden) || hidden[n-1].key != key {
				d.problems = append(d.problems, d.fail(v.StartOffset, "%s: %s does not stand for a value of this key; write the value itself", key, m[0]))
				return
			}
			v.Value, restored = hujson.String(hidden[n-1].value), true
		})
		if len(d.problems) > 0 {
			return nil, faultsOf(d.problems), nil
		}
		if restored {
			after = v.Pack()
		}
	}
	d = e.decoder(after)
	d.all = true
	_ = d.found(d.decode(&Config{})) // nil, as it keeps all
	faults = faultsOf(d.problems)
	for i := range faults {
		for _, h := range hidden {
			faults[i].Message = strings.ReplaceAll(faults[i].Message, h.value, "[hidden]")
		}
	}
	return after, faults, nil
}

func faultsOf(problems []error) []Fault {
	var out []Fault
	for _, p := range problems {
		if at, ok := errors.AsType[*Error](p); ok {
			out = append(out, Fault{at.Line, at.Column, at.Message})
		} else {
			out = append(out, Fault{Message: p.Error()})
		}
	}
	return out
}

// hidden reports whether a value of the file must not be shown.
func (e Editor) hidden(key, value string) bool {
	return isHeader(key) || key == "store" && value != WithoutPassword(value) || redact.New(redact.FromEnv(e.Environ)).String(value) != value
}

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Error says what is wrong with a file, and where.
type Error struct {
	File         string
	Line, Column int // from 1; columns are characters
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// decoder reads one file into a Config. Its errors are nil or an *Error.
type decoder struct {
	file  string
	text  []byte
	place place
	// restricted means that only restrictions take effect; ignored lists the rest.
	restricted bool
	ignored    []string
	from       map[string]string // notes where each key was set; may be nil
	// all means that problems are collected, and reading goes on after them.
	all      bool
	problems []error
}

// found returns the error, or keeps it if all are wanted.
func (d *decoder) found(err error) error {
	if err == nil || !d.all {
		return err
	}
	d.problems = append(d.problems, err)
	return nil
}

func (d *decoder) fail(offset int, format string, args ...any) error {
	before := d.text[:min(offset, len(d.text))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return &Error{
		File: d.file, Line: 1 + bytes.Count(before, []byte("\n")), Column: 1 + utf8.RuneCount(line),
		Message: fmt.Sprintf(format, args...),
	}
}

// decode reads the whole file.
func (d *decoder) decode(into *Config) error {
	d.text = bytes.TrimPrefix(d.text, []byte("\uFEFF"))
	if len(bytes.TrimSpace(d.text)) == 0 {
		return nil
	}
	if at := firstInvalid(d.text); at >= 0 {
		return d.fail(at, "the file must be UTF-8")
	}
	if at := tooDeep(d.text); at >= 0 {
		return d.fail(at, "brackets are nested more than %d deep", maxDepth)
	}
	v, err := hujson.Parse(d.text)
	if err != nil {
		return d.syntax(err)
	}
	return d.object("", v, reflect.ValueOf(into).Elem())
}

func firstInvalid(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// maxDepth is more than any file needs, and safe for the recursive parser.
const maxDepth = 32

// tooDeep returns where brackets are nested more than maxDepth deep, or -1.
func tooDeep(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch rest := b[i:]; {
		case b[i] == '{' || b[i] == '[':
			if depth++; depth > maxDepth {
				return i
			}
		case b[i] == '}' || b[i] == ']':
			depth--
		case b[i] == '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(rest, []byte("//")):
			i += skip(rest, "\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			i += skip(rest, "*/")
		}
	}
	return -1
}

// skip is the distance to the end of a comment.
func skip(b []byte, end string) int {
	if n := bytes.Index(b[2:], []byte(end)); n >= 0 {
		return 2 + n + len(end) - 1
	}
	return len(b)
}

// syntax converts an error of the parser to ours.
func (d *decoder) syntax(err error) error {
	offset := len(d.text)
	var line, column int
	if _, scanErr := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scanErr == nil {
		start := 0
		for range line - 1 {
			start += bytes.IndexByte(d.text[start:], '\n') + 1
		}
		offset = start + column - 1
	}
	cause := errors.Unwrap(err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return d.fail(offset, "the file ends too early: a bracket, quote or comment is not closed, or a value is missing")
	case cause == nil:
		cause = err
	}
	return d.fail(offset, "%s", strings.TrimPrefix(cause.Error(), "hujson: "))
}

// field is a possible key of an object.
type field struct {
	reflect.StructField
	index int
}

// fields lists the keys of a struct, in order.
func fields(t reflect.Type) (keys []string, byKey map[string]field) {
	byKey = map[string]field{}
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		keys = append(keys, key)
		byKey[key] = field{f, i}
	}
	return keys, byKey
}

// members yields the members of an object; it rejects other values and duplicate keys.
func (d *decoder) members(path string, v hujson.Value, each func(key, path string, m hujson.ObjectMember) error) error {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return d.wrong(path, v, "an object")
	}
	first := map[string]int{}
	for _, m := range object.Members {
		key := m.Name.Value.(hujson.Literal).String()
		if at, twice := first[key]; twice {
			before := d.fail(at, "").(*Error) //nolint:errorlint // it is what fail makes
			if err := d.found(d.fail(m.Name.StartOffset, "%q is set twice; first in line %d", key, before.Line)); err != nil {
				return err
			}
			continue
		}
		first[key] = m.Name.StartOffset
		inner := key
		if path != "" {
			inner = path + "." + key
		}
		if err := d.found(each(key, inner, m)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) object(path string, v hujson.Value, into reflect.Value) error {
	keys, byKey := fields(into.Type())
	return d.members(path, v, func(key, path string, m hujson.ObjectMember) error {
		f, ok := byKey[key]
		switch {
		case ok:
			return d.value(path, m.Value, into.Field(f.index), f.Tag)
		case path == "$schema": // for editors
			return nil
		}
		return d.unknown(path, key, m.Name.StartOffset, keys)
	})
}

func (d *decoder) unknown(path, key string, offset int, known []string) error {
	if near := nearest(key, known); near != "" {
		return d.fail(offset, "unknown key %q; did you mean %q?", path, near)
	}
	return d.fail(offset, "unknown key %q; the keys here are %s", path, strings.Join(known, ", "))
}

// mapping reads an object whose keys are free, or from a list of words.
func (d *decoder) mapping(path string, v hujson.Value, into reflect.Value, tag reflect.StructTag) error {
	check := tag.Get("check")
	return d.members(path, v, func(key, path string, m hujson.ObjectMember) error {
		if words := Words(check); words != nil && !slices.Contains(words, key) {
			return d.unknown(path, key, m.Name.StartOffset, words)
		}
		if _, err := d.place.check(check, key); err != nil {
			return d.fail(m.Name.StartOffset, "%s: %v", path, err)
		}
		before := reflect.New(into.Type().Elem()).Elem()
		if old := into.MapIndex(reflect.ValueOf(key)); old.IsValid() {
			before.Set(old)
		}
		after := reflect.New(into.Type().Elem()).Elem()
		after.Set(before)
		// The check applies to the keys.
		inner := reflect.StructTag(`class:"` + tag.Get("class") + `"`)
		if err := d.value(path, m.Value, after, inner); err != nil {
			return err
		}
		if d.restricted && reflect.DeepEqual(before.Interface(), after.Interface()) {
			return nil // nothing was set
		}
		if into.IsNil() {
			into.Set(reflect.MakeMap(into.Type()))
		}
		into.SetMapIndex(reflect.ValueOf(key), after)
		return nil
	})
}

// value reads a value into a field, if it may take effect.
func (d *decoder) value(path string, v hujson.Value, into reflect.Value, tag reflect.StructTag) error {
	switch into.Kind() { //nolint:exhaustive // the others are single values
	case reflect.Struct:
		return d.object(path, v, into)
	case reflect.Map:
		return d.mapping(path, v, into, tag)
	}
	read, err := d.single(path, v, into.Type(), tag.Get("check"))
	if err != nil {
		return err
	}
	if d.restricted && tag.Get("class") != "restricts" {
		d.ignored = append(d.ignored, path)
		return nil
	}
	set(into, read, tag)
	note(d.from, path, d.file, tag)
	return nil
}

// note says where a key was set. Values that add to each other may come from several places.
func note(from map[string]string, path, where string, tag reflect.StructTag) {
	if before := from[path]; before != "" && tag.Get("merge") == "add" {
		where = before + ", " + where
	}
	if from != nil {
		from[path] = where
	}
}

// set sets a value, or adds to that of earlier layers.
func set(into, value reflect.Value, tag reflect.StructTag) {
	if tag.Get("merge") != "add" {
		into.Set(value)
		return
	}
	all := slices.Clone(into.Interface().([]string))
	for _, s := range value.Interface().([]string) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	into.Set(reflect.ValueOf(all))
}

// single reads a value that is not an object.
func (d *decoder) single(path string, v hujson.Value, t reflect.Type, check string) (reflect.Value, error) {
	out := reflect.New(t).Elem()
	literal, _ := v.Value.(hujson.Literal)
	kind := v.Value.Kind()
	switch {
	case t == reflect.TypeFor[Duration]():
		if kind != '"' {
			return out, d.wrong(path, v, `a string such as "30m"`)
		}
		n, err := parseDuration(literal.String())
		if err == nil {
			err = checkDuration(check, n)
		}
		if err != nil {
			return out, d.fail(v.StartOffset, "%s: %v", path, err)
		}
		out.SetInt(int64(n))
	case t.Kind() == reflect.String:
		if kind != '"' {
			return out, d.wrong(path, v, "a string")
		}
		s, err := d.place.check(check, literal.String())
		if err != nil {
			return out, d.fail(v.StartOffset, "%s: %v", path, err)
		}
		out.SetString(s)
	case t.Kind() == reflect.Bool:
		if kind != 't' && kind != 'f' {
			return out, d.wrong(path, v, "true or false")
		}
		out.SetBool(literal.Bool())
	case t.Kind() == reflect.Slice:
		return d.list(path, v, t, check)
	default:
		n, err := strconv.ParseInt(string(literal), 10, t.Bits())
		if kind != '0' || err != nil || n < 0 && check != "signed" {
			return out, d.wrong(path, v, map[bool]string{true: "a whole number", false: "a whole number, zero or more"}[check == "signed"])
		}
		out.SetInt(n)
	}
	return out, nil
}

func (d *decoder) list(path string, v hujson.Value, t reflect.Type, check string) (reflect.Value, error) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return reflect.Value{}, d.wrong(path, v, "a list")
	}
	out := reflect.MakeSlice(t, 0, len(array.Elements))
	for i, element := range array.Elements {
		one, err := d.single(fmt.Sprintf("%s[%d]", path, i), element, t.Elem(), check)
		if err := d.found(err); err != nil {
			return out, err
		}
		out = reflect.Append(out, one)
	}
	return out, nil
}

// wrong reports a value of the wrong type.
func (d *decoder) wrong(path string, v hujson.Value, want string) error {
	if path == "" {
		path = "the file"
	}
	got := map[hujson.Kind]string{
		'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "a list",
	}[v.Value.Kind()]
	if v.Value.Kind() == '0' {
		got = string(v.Value.(hujson.Literal))
		got = got[:min(len(got), 32)]
	}
	return d.fail(v.StartOffset, "%s must be %s, not %s", path, want, got)
}

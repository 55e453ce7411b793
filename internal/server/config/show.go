package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/terret-dev/terret/internal/redact"
)

// Setting is a key and its value.
type Setting struct {
	Key string `json:"key"`
	// Value is nil if the key is not set and its default is decided elsewhere.
	Value any `json:"value"`
	// From is the file or the variable that sets it, or "default".
	From string `json:"from"`
}

// Settings lists every key with its value, in the order of [Config]. Of agents, providers
// and timeouts it lists what is set.
func (l Loaded) Settings() []Setting {
	var out []Setting
	var visit func(path string, v reflect.Value, entry bool)
	visit = func(path string, v reflect.Value, entry bool) {
		switch {
		case v.Kind() == reflect.Struct:
			keys, _ := fields(v.Type())
			for i, key := range keys {
				visit(strings.TrimPrefix(path+"."+key, "."), v.Field(i), entry)
			}
		case v.Kind() == reflect.Map:
			keys := v.MapKeys()
			slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
			for _, key := range keys {
				visit(path+"."+key.String(), v.MapIndex(key), true)
			}
		case l.From[path] != "" || !entry:
			s := Setting{Key: path, From: cmp.Or(l.From[path], "default")}
			if l.From[path] != "" || !v.IsZero() || v.Kind() == reflect.Bool {
				s.Value = v.Interface()
			}
			out = append(out, s)
		}
	}
	visit("", reflect.ValueOf(l.Config), false)
	return out
}

// Text is the value for people.
func (s Setting) Text() string {
	switch v := s.Value.(type) {
	case nil:
		return "-"
	case string:
		return v
	case Duration:
		return v.String()
	}
	text, err := json.Marshal(s.Value)
	if err != nil {
		return fmt.Sprint(s.Value)
	}
	return string(text)
}

// Shown are the settings without secrets, among which are those of the environment.
func Shown(settings []Setting, environ []string) []Setting {
	secrets := redact.New(redact.FromEnv(environ))
	out := slices.Clone(settings)
	for i, s := range out {
		switch v := s.Value.(type) {
		case string:
			switch {
			case s.Key == "store" && v != "":
				out[i].Value = WithoutPassword(v)
			case isHeader(s.Key):
				out[i].Value = "[hidden]"
			default:
				out[i].Value = secrets.String(v)
			}
		case []string:
			out[i].Value = secrets.Args(v)
		}
	}
	return out
}

// isHeader reports whether a key is that of a provider's header: people put keys there.
func isHeader(key string) bool {
	return strings.HasPrefix(key, "providers.") && strings.Contains(key, ".headers.")
}

// WithoutPassword is the address of a database without its password.
func WithoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://…"
	}
	if _, given := u.User.Password(); given {
		u.User = url.User(u.User.Username())
	}
	if q := u.Query(); q.Has("password") {
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// Keys lists every key as it is written in a file, with the names of entries in capitals:
// agents.NAME.path.
func Keys() (out []Key) {
	var visit func(path string, t reflect.Type, tag reflect.StructTag)
	visit = func(path string, t reflect.Type, tag reflect.StructTag) {
		switch t.Kind() {
		case reflect.Struct:
			for f := range t.Fields() {
				key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				visit(strings.TrimPrefix(path+"."+key, "."), f.Type, f.Tag)
			}
		case reflect.Map:
			name := "NAME"
			if Words(tag.Get("check")) != nil {
				name = strings.ToUpper(tag.Get("check"))
			}
			visit(path+"."+name, t.Elem(), tag)
		default:
			out = append(out, Key{Path: path, Variable: tag.Get("env"), Words: Words(tag.Get("check")), About: tag.Get("jsonschema")})
		}
	}
	visit("", reflect.TypeFor[Config](), "")
	return out
}

// Key is a key for people.
type Key struct {
	Path     string
	Variable string   // sets it as well; may be empty
	Words    []string // its values, or the names of its entries; nil means that they are free
	About    string
}

// Check reads both files and the variables, and returns everything that is wrong with
// them, and the files that there are.
func Check(src Sources) (files []string, problems []error) {
	home := homeDir(src.Environ)
	file := func(name, base string, text []byte, err error) {
		if err != nil {
			problems = append(problems, err)
		} else if text != nil {
			files = append(files, name)
			d := decoder{file: name, text: text, place: place{base: base, home: home, rule: src.Rule}, all: true}
			_ = d.found(d.decode(&Config{})) // nil, as it keeps all
			problems = append(problems, d.problems...)
		}
	}
	if src.User != "" {
		text, err := readUser(src.User)
		file(src.User, filepath.Dir(src.User), text, err)
	}
	if src.Project != "" {
		text, err := readProject(src.Project)
		file(filepath.Join(src.Project, filepath.FromSlash(projectFile)), src.Project, text, err)
	}
	return files, append(problems, applyStruct("", reflect.ValueOf(&Config{}).Elem(), src.Environ, place{base: workingDir(), home: home}, nil)...)
}

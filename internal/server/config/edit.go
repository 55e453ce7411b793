package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tailscale/hujson"

	"github.com/terret-dev/terret/internal/files"
)

// ErrExists says that the file already has that key.
var ErrExists = errors.New("it is already there")

// lockPatience is how long to wait for another process that changes the file.
const lockPatience = 10 * time.Second

// User returns what the user's file says, and nothing of the other layers or of the defaults.
func User(path string, environ []string) (Config, error) {
	text, err := readUser(path)
	if err != nil {
		return Config{}, err
	}
	return userConfig(path, text, environ)
}

func userConfig(path string, text []byte, environ []string) (Config, error) {
	var c Config
	d := decoder{file: path, text: text, place: place{base: filepath.Dir(path), home: homeDir(environ)}}
	err := d.decode(&c)
	return c, err
}

// AddAgent adds an agent to the user's file, which it creates if it is missing. It
// leaves everything else as it is, comments included. The error is [ErrExists] if the
// file already says something about an agent of that name.
func AddAgent(ctx context.Context, path, name string, a Agent, environ []string) error {
	for check, values := range map[string][]string{"name": {name}, "program": {a.Path}, "variable": a.Env} {
		for _, v := range values {
			if _, err := (place{}).check(check, v); err != nil {
				return err
			}
		}
	}
	return add(ctx, path, "agents", name, a.value(), environ)
}

// AddProvider adds a provider to the user's file, as [AddAgent] adds an agent.
func AddProvider(ctx context.Context, path, name string, p Provider, environ []string) error {
	for check, value := range map[string]string{"name": name, "url": p.BaseURL, "variable": p.KeyEnv, "api": p.API} {
		if value == "" && (check == "variable" || check == "api") {
			continue
		}
		if _, err := (place{}).check(check, value); err != nil {
			return err
		}
	}
	return add(ctx, path, "providers", name, p.value(), environ)
}

// RemoveAgent removes an agent from the user's file, and reports whether it was there.
func RemoveAgent(ctx context.Context, path, name string, environ []string) (removed bool, err error) {
	return drop(ctx, path, "agents", name, environ)
}

// RemoveProvider removes a provider from the user's file, and reports whether it was there.
func RemoveProvider(ctx context.Context, path, name string, environ []string) (removed bool, err error) {
	return drop(ctx, path, "providers", name, environ)
}

// add adds a member to an object of the user's file.
func add(ctx context.Context, path, object, name string, v *hujson.Object, environ []string) error {
	return edit(ctx, path, environ, func(file *hujson.Object) error {
		margin := marginOf(file)
		all, err := child(file, object, margin)
		if err != nil {
			return err
		}
		if index(all, name) >= 0 {
			return ErrExists
		}
		insert(all, name, v, margin+margin, margin)
		return nil
	})
}

// drop removes a member of an object of the user's file, and reports whether it was there.
func drop(ctx context.Context, path, object, name string, environ []string) (removed bool, err error) {
	err = edit(ctx, path, environ, func(file *hujson.Object) error {
		i := index(file, object)
		if i < 0 {
			return nil
		}
		all, ok := file.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		i = index(all, name)
		if i < 0 {
			return nil
		}
		remove(all, i)
		removed = true
		return nil
	})
	return removed, err
}

// edit changes the file with no other process of ours in between. What cannot be read is
// not changed, and the result must be readable.
func edit(ctx context.Context, path string, environ []string, change func(*hujson.Object) error) error {
	return replace(ctx, path, func(before []byte) ([]byte, error) {
		if _, err := userConfig(path, before, environ); err != nil {
			return nil, err
		}
		text := bytes.TrimPrefix(before, []byte("\uFEFF"))
		if len(bytes.TrimSpace(text)) == 0 {
			text = []byte("{}\n")
		}
		file, err := hujson.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
		object, ok := file.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s must hold an object", path)
		}
		if err := change(object); err != nil {
			return nil, err
		}
		after := file.Pack()
		if bytes.Equal(after, text) {
			return before, nil
		}
		_, err = userConfig(path, after, environ)
		return after, err
	})
}

// replace changes the file in one step, with no other process of ours in between. A
// symbolic link stays one: the file that it names is changed. The text is nil if there is
// no file.
func replace(ctx context.Context, path string, change func(before []byte) (after []byte, err error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	lock, err := files.OpenLocked(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("lock the configuration: %w; another terret may be changing it", err)
	}
	defer lock.Close()
	before, err := readUser(path)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil || bytes.Equal(after, before) {
		return err
	}
	if err := files.Write(path, after); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// put adds a member to an object that stands on one line.
func put(o *hujson.Object, key string, v hujson.ValueTrimmed) {
	o.Members = append(o.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: space(len(o.Members)), Value: hujson.String(key)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: v},
	})
}

// value is the provider as it stands in a file. It has no headers: people put keys there.
func (p Provider) value() *hujson.Object {
	o := &hujson.Object{}
	for _, m := range [][2]string{{"base_url", p.BaseURL}, {"api", p.API}, {"key_env", p.KeyEnv}} {
		if m[1] != "" {
			put(o, m[0], hujson.String(m[1]))
		}
	}
	return o
}

// value is the agent as it stands in a file.
func (a Agent) value() *hujson.Object {
	o := &hujson.Object{}
	list := func(key string, values []string) {
		if len(values) == 0 {
			return
		}
		l := &hujson.Array{}
		for _, v := range values {
			l.Elements = append(l.Elements, hujson.Value{BeforeExtra: space(len(l.Elements)), Value: hujson.String(v)})
		}
		put(o, key, l)
	}
	if a.Path != "" {
		put(o, "path", hujson.String(a.Path))
	}
	list("args", a.Args)
	list("env", a.Env)
	if a.ACP {
		put(o, "acp", hujson.Bool(true))
	}
	return o
}

// space is what stands before the nth part of a line.
func space(n int) hujson.Extra {
	if n == 0 {
		return nil
	}
	return hujson.Extra(" ")
}

// index is where the object has that key, or -1.
func index(o *hujson.Object, key string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
		name, ok := m.Name.Value.(hujson.Literal)
		return ok && name.String() == key
	})
}

// child is the object under that key, which is added if it is missing.
func child(o *hujson.Object, key, margin string) (*hujson.Object, error) {
	if i := index(o, key); i >= 0 {
		inner, ok := o.Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil, fmt.Errorf("%s must be an object", key)
		}
		return inner, nil
	}
	inner := &hujson.Object{}
	insert(o, key, inner, margin, "")
	return inner, nil
}

// marginOf is what the members of the file are indented by.
func marginOf(file *hujson.Object) string {
	if len(file.Members) > 0 {
		if own, ok := lastLine(file.Members[0].Name.BeforeExtra); ok && own != "" {
			return own
		}
	}
	return "  "
}

// insert adds a member at the end of an object: on a line of its own, unless the object
// has all its members on one line. The margins are for an object that shows none: of its
// members, and of its closing bracket.
func insert(o *hujson.Object, key string, v hujson.ValueTrimmed, margin, closing string) {
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(key)}, Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: v}}
	if n := len(o.Members); n > 0 {
		if o.Members[n-1].Value.AfterExtra != nil { // there is a comma after the last one
			m.Value.AfterExtra = hujson.Extra{}
		}
		own, broken := lastLine(o.Members[n-1].Name.BeforeExtra)
		if _, below := lastLine(o.AfterExtra); !broken && !below {
			m.Name.BeforeExtra = append(o.AfterExtra, ' ')
			o.AfterExtra, o.Members = nil, append(o.Members, m)
			return
		}
		if broken {
			margin = own
		}
	}
	if own, broken := lastLine(o.AfterExtra); broken {
		closing = own
	}
	// A comment behind the last member stays behind it.
	comment := bytes.TrimRight(o.AfterExtra, " \t\r\n")
	m.Name.BeforeExtra = hujson.Extra(string(comment) + "\n" + margin)
	o.AfterExtra, o.Members = hujson.Extra("\n"+closing), append(o.Members, m)
}

// lastLine is the margin at the end of what stands before something, and whether there
// is a line break before it.
func lastLine(before hujson.Extra) (margin string, broken bool) {
	at := bytes.LastIndexByte(before, '\n')
	if at < 0 || len(bytes.TrimLeft(before[at:], " \t\r\n")) > 0 {
		return "", false
	}
	return string(before[at+1:]), true
}

// remove takes out a member and the comments above it. A comment on the line before
// belongs to what stands there.
func remove(o *hujson.Object, i int) {
	n := len(o.Members) - 1
	comma := o.Members[n].Value.AfterExtra != nil
	kept, _, _ := bytes.Cut(o.Members[i].Name.BeforeExtra, []byte("\n"))
	o.Members = slices.Delete(o.Members, i, i+1)
	after := &o.AfterExtra
	if i < n {
		after = &o.Members[i].Name.BeforeExtra
	}
	switch {
	case len(bytes.TrimSpace(kept)) > 0:
		*after = slices.Concat(kept, *after)
	case n == 0 && len(bytes.TrimSpace(*after)) == 0:
		*after = nil
	}
	if i == n && n > 0 {
		last := &o.Members[n-1].Value
		switch {
		case !comma:
			o.AfterExtra, last.AfterExtra = slices.Concat(last.AfterExtra, o.AfterExtra), nil
		case last.AfterExtra == nil:
			last.AfterExtra = hujson.Extra{}
		}
	}
}

package setup

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/policy"
)

// Configuration is the user's file, and what all places together say.
type Configuration struct {
	Path  string `json:"path" doc:"Of the user's file."`
	There bool   `json:"there" doc:"Whether there is such a file."`
	// Text is empty if the file is broken in a way in which it cannot be shown.
	Text     string         `json:"text" doc:"Of the user's file. Values that must not be shown stand in it as [hidden 1] and so on."`
	Hash     string         `json:"hash" doc:"Send it back with the text, to change the file only if nobody else has."`
	Hidden   int            `json:"hidden,omitempty" doc:"How many values are not shown."`
	Faults   []config.Fault `json:"faults,omitempty" doc:"What is wrong in the file as it is."`
	Settings []Setting      `json:"settings" doc:"Every key with its value here. It is that of the files as they are now, if they can be read."`
	Restart  []string       `json:"restart,omitempty" doc:"Keys whose new values the server takes over only when it is started again."`
}

// Setting is a key with its value here.
type Setting struct {
	Key      string   `json:"key"`
	Value    string   `json:"value" doc:"As text; - means that it is not set, and that its default is decided elsewhere."`
	From     string   `json:"from" doc:"The file, variable or flag that sets it, or default."`
	About    string   `json:"about,omitempty"`
	Variable string   `json:"variable,omitempty" doc:"A variable that sets it as well."`
	Words    []string `json:"words,omitempty" doc:"Its possible values, if they are few."`
	Restart  bool     `json:"restart,omitempty" doc:"The server works with another value until it is started again."`
}

func (s *Setup) editor() config.Editor {
	return config.Editor{Path: s.o.UserFile, Environ: s.o.Environ, Rule: func(pattern string) error {
		_, err := policy.Parse(pattern)
		return err
	}}
}

// Config returns the configuration.
func (s *Setup) Config() (Configuration, error) {
	if s.o.UserFile == "" {
		return Configuration{}, errNoFile()
	}
	text, err := s.editor().Read()
	out := Configuration{Path: s.o.UserFile, There: text.There, Text: text.Text, Hash: text.Hash, Hidden: text.Hidden}
	if at, ok := errors.AsType[*config.Error](err); ok {
		out.Text, out.Faults = "", []config.Fault{{Line: at.Line, Column: at.Column, Message: at.Message}}
	} else if err != nil {
		return out, assemble.FileError(err)
	} else if out.Faults, err = s.editor().Check(text.Text); err != nil {
		return out, assemble.FileError(err)
	}
	started := s.o.Started
	now := started
	if len(out.Faults) == 0 && s.o.Reload != nil {
		if l, err := s.o.Reload(); err == nil { // otherwise it is the project's fault, which is not this file
			now = withFlags(l, started)
		}
	}
	before := map[string]string{}
	for _, set := range started.Settings() {
		before[set.Key] = literal(set.Value)
	}
	keys := config.Keys()
	all := now.Settings()
	for i, shown := range config.Shown(all, s.o.Environ) {
		one := Setting{Key: shown.Key, Value: shown.Text(), From: shown.From, Restart: before[shown.Key] != literal(all[i].Value) && !s.live(shown.Key)}
		if k := slices.IndexFunc(keys, func(k config.Key) bool { return fits(k.Path, shown.Key) }); k >= 0 {
			one.About, one.Variable, one.Words = keys[k].About, keys[k].Variable, keys[k].Words
		}
		if one.Restart {
			out.Restart = append(out.Restart, one.Key)
		}
		delete(before, shown.Key)
		out.Settings = append(out.Settings, one)
	}
	for key := range before { // it is not set any more
		if !s.live(key) {
			out.Restart = append(out.Restart, key)
		}
	}
	slices.Sort(out.Restart)
	return out, nil
}

// CheckConfig returns all that is wrong in a text for the user's file.
func (s *Setup) CheckConfig(text string) ([]config.Fault, error) {
	if s.o.UserFile == "" {
		return nil, errNoFile()
	}
	faults, err := s.editor().Check(text)
	if err != nil {
		return nil, assemble.FileError(err)
	}
	return faults, nil
}

// WriteConfig replaces the text of the user's file, if it still has the hash. With faults
// it is not written.
func (s *Setup) WriteConfig(ctx context.Context, text, hash string) ([]config.Fault, error) {
	if s.o.UserFile == "" {
		return nil, errNoFile()
	}
	faults, err := s.editor().Write(ctx, text, hash)
	switch {
	case errors.Is(err, config.ErrChanged):
		return nil, terret.Errorf(terret.CodeConflict, "%s: %w, and change it again", s.o.UserFile, err)
	case err != nil:
		return nil, assemble.FileError(err)
	}
	s.o.Agents.Look()
	return faults, nil
}

// live reports whether a running server takes over a new value of the key at once.
func (s *Setup) live(key string) bool {
	if name, ok := strings.CutPrefix(key, "agents."); ok {
		name = name[:max(strings.LastIndexByte(name, '.'), 0)]
		return !s.o.Agents.BuiltIn(name)
	}
	return strings.HasPrefix(key, "providers.")
}

// withFlags has what flags said at the start, which no file changes.
func withFlags(now, started config.Loaded) config.Loaded {
	for key, from := range started.From {
		if !strings.HasPrefix(from, "--") {
			continue
		}
		now.From[key] = from
		switch key {
		case "data":
			now.Data = started.Data
		case "store":
			now.Store = started.Store
		case "addr":
			now.Addr = started.Addr
		case "roots":
			now.Roots = started.Roots
		}
	}
	return now
}

// literal is a value that can be compared.
func literal(v any) string {
	text, _ := json.Marshal(v) // it is of the configuration
	return string(text)
}

// fits reports whether a key, such as agents.claude.path, is what a path describes, such as
// agents.NAME.path.
func fits(path, key string) bool {
	before, after, named := strings.Cut(path, ".NAME")
	if !named {
		before, after, named = strings.Cut(path, ".GATE")
	}
	if !named {
		return path == key
	}
	rest, ok := strings.CutPrefix(key, before+".")
	if !ok {
		return false
	}
	if inner, _, ok := strings.Cut(after, ".NAME"); ok { // providers.NAME.headers.NAME
		return strings.Contains(rest, inner+".")
	}
	return strings.HasSuffix(rest, after)
}

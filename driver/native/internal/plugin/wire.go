package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Version is that of the protocol.
const Version = 1

// Methods that a plugin answers.
const (
	initialize = "initialize"
	runTool    = "tool"
	runHook    = "hook"
	runCommand = "command"
)

// Notifications: progress is from a plugin, cancel is to it.
const (
	progress = "progress"
	cancel   = "cancel"
)

// Hooks, and when they are asked.
const (
	PreTool  = "pre_tool"  // before a tool runs; can forbid it
	PostTool = "post_tool" // after a tool has run; can add to its result
	Prompt   = "prompt"    // before the model hears a prompt; can forbid it, and add to it
	Stop     = "stop"      // before a turn ends; can have it go on
)

var hooks = []string{PreTool, PostTool, Prompt, Stop}

// greeting is what a plugin is told first.
type greeting struct {
	Protocol int    `json:"protocol"`
	Cwd      string `json:"cwd"`
	Session  string `json:"session"`
}

// offer is its answer.
type offer struct {
	Tools    []tool    `json:"tools"`
	Commands []Command `json:"commands"`
	Hooks    []string  `json:"hooks"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`

	resolved *jsonschema.Resolved
}

// Command is what people can type as /plugin:name.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"hint"` // what arguments it takes
}

const (
	maxOffered = 100      // tools, or commands
	maxAbout   = 10_000   // bytes of a description
	maxSchema  = 64 << 10 // bytes
)

var offered = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,25}$`)

// check fails for an offer that cannot be used.
func (o *offer) check() error {
	if len(o.Tools) > maxOffered || len(o.Commands) > maxOffered {
		return fmt.Errorf("it offers more than %d tools or commands", maxOffered)
	}
	seen := map[string]bool{}
	for i := range o.Tools {
		t := &o.Tools[i]
		if err := t.check(); err != nil {
			return fmt.Errorf("its tool %q: %w", t.Name, err)
		}
		if seen[t.Name] {
			return fmt.Errorf("it has two tools with the name %s", t.Name)
		}
		seen[t.Name] = true
	}
	for _, c := range o.Commands {
		if !offered.MatchString(c.Name) || len(c.Description) > maxAbout || len(c.Hint) > maxAbout {
			return fmt.Errorf("its command %q: a name has letters, digits, _ and -, at most 26, and a description at most %d bytes", c.Name, maxAbout)
		}
	}
	for _, h := range o.Hooks {
		if !slices.Contains(hooks, h) {
			return fmt.Errorf("there is no hook %q; there are %v", h, hooks)
		}
	}
	return nil
}

func (t *tool) check() error {
	switch {
	case !offered.MatchString(t.Name):
		return errors.New("a name has letters, digits, _ and -, at most 26")
	case len(t.Description) > maxAbout:
		return fmt.Errorf("its description has more than %d bytes", maxAbout)
	case len(t.Schema) > maxSchema:
		return fmt.Errorf("its schema has more than %d bytes", maxSchema)
	case len(t.Schema) == 0:
		t.Schema = json.RawMessage(`{"type":"object"}`)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(t.Schema, &s); err != nil {
		return fmt.Errorf("its schema is not a JSON schema: %w", err)
	}
	if s.Type != "object" {
		return errors.New("its schema must be that of an object")
	}
	var err error
	if t.resolved, err = s.Resolve(nil); err != nil {
		return fmt.Errorf("its schema cannot be used: %w", err)
	}
	return nil
}

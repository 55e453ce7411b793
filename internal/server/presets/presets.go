// Package presets keeps named settings for new sessions: what an agent, a model, a prompt,
// skills and servers are together, made by somebody who may decide. They are settings, not
// history, so they are in a file of the data folder, or in a document of the fleet.
package presets

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/document"
	"github.com/terret-dev/terret/internal/lazyregexp"
)

// Preset is what a new session is, unless it says otherwise itself.
type Preset struct {
	ID              string        `json:"id" required:"false" readOnly:"true" doc:"Given by the server."`
	Name            string        `json:"name" maxLength:"200"`
	Agent           string        `json:"agent" required:"false" maxLength:"64" doc:"It cannot be changed later."`
	Model           string        `json:"model,omitempty" maxLength:"200"`
	SystemAppend    string        `json:"system_append,omitempty" maxLength:"200000"`
	DisallowedTools []string      `json:"disallowed_tools,omitempty" maxItems:"200"`
	Servers         []Server      `json:"servers,omitempty" maxItems:"50" doc:"MCP servers."`
	Skills          []Skill       `json:"skills,omitempty" maxItems:"50"`
	MaxTurns        int           `json:"max_turns,omitempty" minimum:"0" maximum:"10000" doc:"Maximum number of steps per turn."`
	Seconds         int           `json:"seconds,omitempty" minimum:"0" maximum:"604800" doc:"How long a turn should take at most. It is for the program that starts turns."`
	Policy          terret.Policy `json:"policy,omitempty" enum:"ask,accept-edits,rules,plan,deny-unless-allowed,auto-approve"`
	Cwd             string        `json:"cwd,omitempty" maxLength:"4096" doc:"The folder of sessions that name none."`
	CreatedAt       terret.Time   `json:"created_at,omitzero" readOnly:"true"`
}

// Server is a remote MCP server.
type Server struct {
	Name      string            `json:"name" minLength:"1" maxLength:"64"`
	URL       string            `json:"url" maxLength:"2000"`
	Transport string            `json:"transport,omitempty" enum:"http,sse"`
	Disabled  bool              `json:"disabled,omitempty" doc:"It is not contacted."`
	Headers   map[string]string `json:"headers,omitempty" doc:"What they say is never shown: (kept) stands for it, also in a change."`
	Auth      string            `json:"auth,omitempty" maxLength:"8000" doc:"A bearer token, which is never shown either."`
}

// Skill is a folder that says how something is done.
type Skill struct {
	Name     string      `json:"name" minLength:"1" maxLength:"64"`
	Disabled bool        `json:"disabled,omitempty"`
	Files    []SkillFile `json:"files" maxItems:"500" nullable:"false" doc:"One of them is SKILL.md."`
}

// SkillFile is a file of a skill.
type SkillFile struct {
	Path  string `json:"path" maxLength:"500" doc:"From the skill's folder, with slashes."`
	Bytes []byte `json:"bytes,omitempty" doc:"Empty if it is left out."`
}

// Kept stands for a secret that is kept and not shown.
const Kept = "(kept)"

// Bounds on what is kept.
const (
	maxPresets = 500
	maxTotal   = 32 << 20 // bytes of all of them
	maxFiles   = 4 << 20  // bytes in the skills of one
)

// Book is where they are kept: in the folder Home, or with a fleet.
type Book struct {
	Home   string
	Shared document.Shared // nil: in a file
}

// List returns all presets with their secrets, the oldest first.
func (b Book) List(ctx context.Context) ([]Preset, error) {
	text, err := b.document().Read(ctx)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

func (b Book) document() document.Document {
	return document.Document{Name: "presets", What: "presets", Home: b.Home, Shared: b.Shared}
}

func parse(text []byte) ([]Preset, error) {
	out := []Preset{}
	if text == nil {
		return out, nil
	}
	return out, json.Unmarshal(text, &out)
}

// Get returns a preset with its secrets.
func (b Book) Get(ctx context.Context, id string) (Preset, error) {
	list, err := b.List(ctx)
	if err != nil {
		return Preset{}, err
	}
	if i := index(list, id); i >= 0 {
		return list[i], nil
	}
	return Preset{}, missing(id)
}

func index(list []Preset, id string) int {
	return slices.IndexFunc(list, func(p Preset) bool { return p.ID == id })
}

func missing(id string) error {
	return terret.Errorf(terret.CodeNotFound, "there is no preset %.64q", id)
}

// Add keeps a new preset, under an id of its own.
func (b Book) Add(ctx context.Context, p Preset) (Preset, error) {
	p.ID, p.CreatedAt = terret.NewID(""), terret.Now()
	err := b.change(ctx, func(list []Preset) ([]Preset, error) {
		if len(list) >= maxPresets {
			return nil, terret.Errorf(terret.CodeRateLimited, "there are %d presets, the maximum; delete some", len(list))
		}
		if err := p.check(Preset{}); err != nil {
			return nil, err
		}
		return append(list, p), nil
	})
	return p, err
}

// Change replaces a preset, but for its id, its agent and its secrets that the new one keeps.
func (b Book) Change(ctx context.Context, id string, p Preset) (Preset, error) {
	err := b.change(ctx, func(list []Preset) ([]Preset, error) {
		i := index(list, id)
		if i < 0 {
			return nil, missing(id)
		}
		old := list[i]
		if p.Agent != "" && p.Agent != old.Agent {
			return nil, terret.Errorf(terret.CodeConflict, "the agent of a preset cannot be changed: sessions have begun with it; make another preset")
		}
		p.ID, p.Agent, p.CreatedAt = old.ID, old.Agent, old.CreatedAt
		err := p.check(old)
		list[i] = p
		return list, err
	})
	return p, err
}

// Delete removes a preset. Sessions that were made with it stay.
func (b Book) Delete(ctx context.Context, id string) error {
	return b.change(ctx, func(list []Preset) ([]Preset, error) {
		i := index(list, id)
		if i < 0 {
			return nil, missing(id)
		}
		return slices.Delete(list, i, i+1), nil
	})
}

func (b Book) change(ctx context.Context, fn func([]Preset) ([]Preset, error)) error {
	return b.document().Change(ctx, func(old []byte) ([]byte, error) {
		list, err := parse(old)
		if err == nil {
			list, err = fn(list)
		}
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(list)
		if err == nil && len(text) > maxTotal {
			err = terret.Errorf(terret.CodeRateLimited, "all presets together have more than %d MB; delete some, or make their skills smaller", maxTotal>>20)
		}
		return text, err
	})
}

// Shown is the preset as anybody may see it.
func (p Preset) Shown() Preset {
	p.Servers = slices.Clone(p.Servers)
	for i, s := range p.Servers {
		if s.Auth != "" {
			p.Servers[i].Auth = Kept
		}
		p.Servers[i].Headers = nil
		for name := range s.Headers {
			if p.Servers[i].Headers == nil {
				p.Servers[i].Headers = map[string]string{}
			}
			p.Servers[i].Headers[name] = Kept
		}
	}
	return p
}

var (
	validName   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	validHeader = lazyregexp.New(`^[A-Za-z0-9-]{1,100}$`)
)

// sameName is how file systems that ignore capitals compare names.
func sameName(s string) string { return strings.ToLower(s) }

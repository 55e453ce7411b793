package client

import (
	"context"

	"github.com/terret-dev/terret"
)

// Preset is what a new session is, unless it says otherwise itself.
type Preset struct {
	ID              string         `json:"id,omitempty"` // given by the server
	Name            string         `json:"name"`
	Agent           string         `json:"agent"` // it cannot be changed
	Model           string         `json:"model,omitempty"`
	SystemAppend    string         `json:"system_append,omitempty"`
	DisallowedTools []string       `json:"disallowed_tools,omitempty"`
	Servers         []PresetServer `json:"servers,omitempty"`
	Skills          []PresetSkill  `json:"skills,omitempty"`
	MaxTurns        int            `json:"max_turns,omitempty"`
	Seconds         int            `json:"seconds,omitempty"` // how long a turn should take at most
	Policy          terret.Policy  `json:"policy,omitempty"`
	Cwd             string         `json:"cwd,omitempty"`
	CreatedAt       terret.Time    `json:"created_at,omitzero"`
}

// PresetServer is a remote MCP server. The server never shows what Headers and Auth are: it
// says SecretStays instead, which in a change means that they stay.
type PresetServer struct {
	Name      string            `json:"name"`
	URL       string            `json:"url"`
	Transport string            `json:"transport,omitempty"` // http or sse
	Disabled  bool              `json:"disabled,omitempty"`
	Headers   map[string]string `json:"headers,omitempty"`
	Auth      string            `json:"auth,omitempty"` // a bearer token
}

// SecretStays stands for a secret that is not shown.
const SecretStays = "(kept)"

// PresetSkill is a folder that says how something is done, with a file SKILL.md.
type PresetSkill struct {
	Name     string            `json:"name"`
	Disabled bool              `json:"disabled,omitempty"`
	Files    []PresetSkillFile `json:"files"`
}

// PresetSkillFile is a file of a skill.
type PresetSkillFile struct {
	Path  string `json:"path"`
	Bytes []byte `json:"bytes,omitempty"`
}

// Presets lists the presets, the oldest first.
func (c *Client) Presets(ctx context.Context) ([]Preset, error) {
	return items[Preset](ctx, c, call{method: "GET", path: at("presets")})
}

// AddPreset makes a preset.
func (c *Client) AddPreset(ctx context.Context, p Preset) (Preset, error) {
	return do[Preset](ctx, c, call{method: "POST", path: at("presets"), body: p})
}

// ChangePreset replaces the preset with the id of p.
func (c *Client) ChangePreset(ctx context.Context, p Preset) (Preset, error) {
	return do[Preset](ctx, c, call{method: "PUT", path: at("presets", p.ID), body: p})
}

// DeletePreset removes a preset. Sessions that were made with it stay.
func (c *Client) DeletePreset(ctx context.Context, id string) error {
	return c.done(ctx, call{method: "DELETE", path: at("presets", id)})
}

package persona

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// DefaultMaxTurns is the most steps of a turn when neither a person nor a persona
// says another number.
const DefaultMaxTurns = 25

// Apply says what a session is that a person asks for with a persona. What the person
// leaves empty is the persona's to say, if it is trusted. Its options are those that
// [Resolve] gives, except that what the persona approves is not kept: Resolve says so
// in each turn, for as long as the persona is trusted.
func Apply(p terret.Persona, s terret.Session) terret.Session {
	if p.Trusted {
		if s.Agent == "" {
			s.Agent = p.Agent
		}
		if s.Model == "" {
			s.Model = p.Model
		}
		if s.Policy == "" {
			s.Policy = p.Policy
		}
	}
	approved := s.Options.AutoApproveTools
	s.Options = Resolve(&p, s.Options, terret.TurnOptions{})
	s.Options.AutoApproveTools = approved
	return s
}

// Resolve says which options hold in a turn. The session's are those that a person
// asked for when it was made, or what Resolve made of them; p may be nil.
//
// What the person said for the session and what the persona says hold together: a
// tool exists if both have it, what either takes away is gone, what either approves
// is approved, and the lower number of steps counts. A turn's *_override beats both.
// Its other options count where the persona says nothing, and narrow down what the
// session has; what they take away is always gone.
func Resolve(p *terret.Persona, s terret.SessionOptions, t terret.TurnOptions) terret.SessionOptions {
	if p == nil {
		p = &terret.Persona{}
	}
	out := s
	out.Tools = both(s.Tools, p.Tools)
	if p.Tools == nil {
		out.Tools = both(out.Tools, t.Tools)
	}
	if t.ToolsOverride != nil {
		out.Tools = slices.Clone(t.ToolsOverride)
	}

	out.DisallowedTools = either(s.DisallowedTools, p.DisallowedTools)
	if t.DisallowedToolsOverride != nil {
		out.DisallowedTools = slices.Clone(t.DisallowedToolsOverride)
	}
	out.DisallowedTools = either(out.DisallowedTools, t.DisallowedTools)

	var approves []string
	if p.Trusted {
		approves = p.AutoApproveTools
	}
	out.AutoApproveTools = either(s.AutoApproveTools, approves)
	if approves == nil {
		out.AutoApproveTools = either(out.AutoApproveTools, t.AutoApproveTools)
	}
	if t.AutoApproveToolsOverride != nil {
		out.AutoApproveTools = slices.Clone(t.AutoApproveToolsOverride)
	}
	out.MaxTurns = steps(*p, s.MaxTurns, t.MaxTurns)
	return out
}

// steps is how many steps a turn may have.
func steps(p terret.Persona, session, turn int) int {
	asked := session
	if turn > 0 && (p.MaxTurns == 0 || !p.Trusted) {
		asked = turn
	}
	switch {
	case p.MaxTurns > 0 && asked > 0:
		return min(p.MaxTurns, asked)
	case p.MaxTurns > 0 && p.Trusted:
		return p.MaxTurns
	case p.MaxTurns > 0:
		return min(p.MaxTurns, DefaultMaxTurns)
	case asked > 0:
		return asked
	}
	return DefaultMaxTurns
}

// Turn is what to ask an engine for, so that exactly the resolved options hold in a
// turn of a session, whatever the session has.
func Turn(resolved terret.SessionOptions, t terret.TurnOptions) terret.TurnOptions {
	t.Tools, t.DisallowedTools, t.AutoApproveTools = nil, nil, nil
	t.ToolsOverride = orEmpty(resolved.Tools, []string{policy.AllTools})
	t.DisallowedToolsOverride = orEmpty(resolved.DisallowedTools, []string{})
	t.AutoApproveToolsOverride = orEmpty(resolved.AutoApproveTools, []string{})
	t.MaxTurns = resolved.MaxTurns
	return t
}

func orEmpty(list, otherwise []string) []string {
	if list == nil {
		return otherwise
	}
	return slices.Clone(list)
}

// both are the tools that exist in two lists, of which nil is all.
func both(a, b []string) []string {
	switch {
	case a == nil:
		return slices.Clone(b)
	case b == nil:
		return slices.Clone(a)
	}
	out := []string{}
	within := func(some, others []string) {
		for _, name := range some {
			if _, missing := policy.Missing(policy.Subject{Tool: name}, others); !missing && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	within(a, b)
	within(b, a)
	return out
}

// either is what is in one of two lists, or nil if neither is there.
func either(a, b []string) []string {
	out := slices.Clone(a)
	if out == nil && b != nil {
		out = []string{}
	}
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Grants names the settings of a persona that do not act as long as it is not
// trusted.
func Grants(p terret.Persona) []string {
	var out []string
	for _, g := range []struct {
		key  string
		says bool
	}{
		{"auto_approve_tools", len(p.AutoApproveTools) > 0}, {"model", p.Model != ""}, {"agent", p.Agent != ""}, {"policy", p.Policy != ""},
	} {
		if g.says {
			out = append(out, g.key)
		}
	}
	return out
}

// CheckOversight reports whether an agent can be held to what the options forbid, as
// an error of kind unsupported that says what it could get around. Where not every
// tool use passes us, tools that it should not have are in its own hands; where none
// does, deny rules are too.
func CheckOversight(c terret.Capabilities, o terret.SessionOptions) error {
	var loose []string
	if c.Oversight != terret.OversightAll {
		if o.Tools != nil && !slices.Contains(o.Tools, policy.AllTools) {
			loose = append(loose, "tools")
		}
		if len(o.DisallowedTools) > 0 {
			loose = append(loose, "disallowed_tools")
		}
		if len(o.Deny) > 0 && c.Oversight != terret.OversightAsked {
			loose = append(loose, "deny rules")
		}
	}
	if len(loose) == 0 {
		return nil
	}
	seen := "none of its tool uses passes Terret"
	if c.Oversight == terret.OversightAsked {
		seen = "it uses tools without asking Terret"
	}
	return terret.Errorf(terret.CodeUnsupported, "this agent cannot be held to %s: %s", strings.Join(loose, " and "), seen)
}

// Config is a persona as the first frontend that had them calls things.
type Config struct {
	ID              string   `json:"id"`
	SourceFile      string   `json:"sourceFile"`
	AllowedTools    []string `json:"allowedTools,omitzero"` // that exist, not those that are approved
	DisallowedTools []string `json:"disallowedTools,omitzero"`
	MaxTurns        int      `json:"maxTurns,omitzero"`
}

// ConfigOf makes a Config.
func ConfigOf(p terret.Persona) Config {
	return Config{ID: p.ID, SourceFile: p.SourceFile, AllowedTools: p.Tools, DisallowedTools: p.DisallowedTools, MaxTurns: p.MaxTurns}
}

package persona

import (
	"cmp"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// Apply fills in what a person who makes a session leaves to its persona: agent, model
// and policy, if the persona is trusted. What else a persona says is resolved anew in
// each turn, by the engine.
func Apply(p terret.Persona, s terret.Session) terret.Session {
	if p.Trusted {
		s.Agent = cmp.Or(s.Agent, p.Agent)
		s.Model = cmp.Or(s.Model, p.Model)
		s.Policy = cmp.Or(s.Policy, p.Policy)
	}
	return s
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

// CheckOversight reports whether an agent can be held to what is in force and to the
// deny rules, as an error of code unsupported that says what it could get around.
// Where not every tool use passes us, tools that it should not have are in its own
// hands; where none does, deny rules are too.
func CheckOversight(c terret.Capabilities, in terret.Settings, deny []string) error {
	var loose []string
	if c.Oversight != terret.OversightAll {
		if in.Tools != nil && !slices.Contains(in.Tools, policy.AllTools) {
			loose = append(loose, "tools")
		}
		if len(in.RemovedTools) > 0 {
			loose = append(loose, "disallowed_tools")
		}
		if len(deny) > 0 && c.Oversight != terret.OversightAsked {
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

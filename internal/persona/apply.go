package persona

import (
	"cmp"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// Apply fills in what the creator of a session leaves to its persona: agent, model and
// policy, if the persona is trusted. The engine resolves everything else in a persona
// for each turn.
func Apply(p terret.Persona, s terret.Session) terret.Session {
	if p.Trusted {
		s.Agent = cmp.Or(s.Agent, p.Agent)
		s.Model = cmp.Or(s.Model, p.Model)
		s.Policy = cmp.Or(s.Policy, p.Policy)
	}
	return s
}

// Grants names the settings of a persona that are ignored while it is not trusted.
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

// CheckOversight checks that an agent can be held to the settings in force and to the
// deny rules; otherwise the error is unsupported and says what it could get around. If
// we do not see every tool use, the agent itself must enforce its tool list; if we see
// none, deny rules as well.
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
	seen := "none of its tool uses pass through Terret"
	if c.Oversight == terret.OversightAsked {
		seen = "it uses tools without asking Terret"
	}
	return terret.Errorf(terret.CodeUnsupported, "this agent cannot be held to %s: %s", strings.Join(loose, " and "), seen)
}

// Config is a persona with the field names of the first frontend that had them.
type Config struct {
	ID              string   `json:"id"`
	SourceFile      string   `json:"sourceFile"`
	AllowedTools    []string `json:"allowedTools,omitzero"` // the tools that exist, not those that are approved
	DisallowedTools []string `json:"disallowedTools,omitzero"`
	MaxTurns        int      `json:"maxTurns,omitzero"`
}

// ConfigOf makes a Config.
func ConfigOf(p terret.Persona) Config {
	return Config{ID: p.ID, SourceFile: p.SourceFile, AllowedTools: p.Tools, DisallowedTools: p.DisallowedTools, MaxTurns: p.MaxTurns}
}

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

// CheckOversight checks that an agent can be held to the settings in force, the deny
// rules and the policy that somebody chose (empty: nobody did); otherwise the error is
// unsupported and says what it could get around. If we do not see every tool use, the
// agent itself must enforce its tool list. If we see only what it asks about, it reads
// and searches as it likes; if we see nothing, no rule and no policy holds.
func CheckOversight(c terret.Capabilities, in terret.Settings, deny []string, chosen terret.Policy) error {
	if c.Oversight == terret.OversightAll {
		return nil
	}
	asked := c.Oversight == terret.OversightAsked
	var loose []string
	if in.Tools != nil && !slices.Contains(in.Tools, policy.AllTools) {
		loose = append(loose, "tools")
	}
	if len(in.RemovedTools) > 0 {
		loose = append(loose, "disallowed_tools")
	}
	switch {
	case asked && slices.ContainsFunc(deny, aboutReading):
		loose = append(loose, "deny rules about reading")
	case !asked && len(deny) > 0:
		loose = append(loose, "deny rules")
	}
	switch {
	case chosen == terret.PolicyDenyUnlessAllowed, !asked && (chosen == terret.PolicyAsk || chosen == terret.PolicyPlan):
		loose = append(loose, "the policy "+string(chosen))
	}
	if len(loose) == 0 {
		return nil
	}
	seen := "none of its tool uses pass through Terret"
	if asked {
		seen = "it uses tools without asking Terret"
	}
	return terret.Errorf(terret.CodeUnsupported, "this agent cannot be held to %s: %s", strings.Join(loose, " and "), seen)
}

// aboutReading reports whether a rule is about tools that agents use without asking.
func aboutReading(rule string) bool {
	tool, _, _ := strings.Cut(rule, "(")
	return slices.Contains([]string{"Read", "Glob", "Grep", "LS"}, policy.ToolName(tool))
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

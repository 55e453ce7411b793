package desk

import (
	"cmp"
	"slices"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

// DefaultMaxTurns limits the steps of a turn in a session that has a persona, gets
// Terret's own prompt or is one-shot, unless another limit is set.
const DefaultMaxTurns = 25

// Role is what a session's persona and mode say about a turn.
type Role struct {
	Persona *terret.Persona // nil if the session has none
	// Prompt is appended to the agent's system prompt. It includes the turn's own
	// addition.
	Prompt string
}

// InForce is what is in force for a turn, resolved once when the turn begins.
type InForce struct {
	terret.Settings
	rules  []terret.Rule       // from the options; stored rules come first
	gates  []terret.Gate       // wanted by the session or its persona
	limits map[terret.Gate]int // seconds
}

// Resolve is the one place that combines a session, its persona and a turn.
//
// A tool exists if the session and the persona both have it; what either removes is
// gone; what either approves is approved; the lower limit on steps and the stricter
// sandbox count. The turn's
// lists count where the persona has none, and narrow the session's; what a turn removes
// is always gone. A turn's *_override beats all three. A persona's grants count only if
// it is trusted, its restrictions always.
func Resolve(s terret.Session, role Role, o terret.TurnOptions) InForce {
	so, p := s.Options, role.Persona
	if p == nil {
		p = &terret.Persona{}
	}
	var approves []string
	if p.Trusted {
		approves = p.AutoApproveTools
	}
	in := InForce{
		Settings: terret.Settings{
			Model: o.Model, PermissionMode: o.PermissionMode,
			Effort: cmp.Or(o.Effort, so.Effort), FallbackModel: so.FallbackModel,
			Tools:          byAllNames(toolsThatExist(so, p, o)),
			RemovedTools:   byAllNames(union(orElse(o.DisallowedToolsOverride, union(so.DisallowedTools, p.DisallowedTools)), o.DisallowedTools)),
			ApprovedTools:  so.AutoApproveTools,
			SettingSources: so.SettingSources, AddDirs: so.AddDirs,
			Agents: so.Agents, MCP: so.MCP, OutputSchema: so.OutputSchema,
			SystemAppend: paragraphs(so.SystemAppend, cmp.Or(role.Prompt, o.SystemAppend)),
			MaxTurns:     steps(s, role, o), MaxCostUSD: so.MaxCostUSD,
			WholeMessages: o.Partial != nil && !*o.Partial,
			KeepRaw:       so.KeepRaw, OnStale: so.OnStale, Sandbox: so.Sandbox.Stricter(p.Sandbox), Record: so.Record,
		},
		gates: union(so.Gates, p.Gates), limits: so.Timeouts,
	}
	in.Gates = in.gates
	in.ApprovedTools = union(in.ApprovedTools, approves)
	if approves == nil {
		in.ApprovedTools = union(in.ApprovedTools, o.AutoApproveTools)
	}
	in.ApprovedTools = orElse(o.AutoApproveToolsOverride, in.ApprovedTools)

	add := func(effect terret.Effect, patterns []string) {
		for _, pattern := range patterns {
			in.rules = append(in.rules, terret.Rule{Effect: effect, Pattern: pattern, Scope: terret.ScopeSession, Session: s.ID})
		}
	}
	add(terret.EffectDeny, so.Deny)
	add(terret.EffectDeny, in.RemovedTools)
	add(terret.EffectAsk, so.Ask)
	add(terret.EffectAllow, so.Allow)
	add(terret.EffectAllow, in.ApprovedTools)
	return in
}

// WithGates adds the gates that connected programs want in a session to the settings.
func (d *Desk) WithGates(session string, in InForce) InForce {
	in.Gates = union(in.gates, d.wanted.gates(session))
	return in
}

func toolsThatExist(s terret.SessionOptions, p *terret.Persona, o terret.TurnOptions) []string {
	if o.ToolsOverride != nil {
		return o.ToolsOverride
	}
	tools := intersection(s.Tools, p.Tools)
	if p.Tools == nil {
		tools = intersection(tools, o.Tools)
	}
	return tools
}

// byAllNames adds the names that rules use for the tools in a list, which may have those of
// another agent, or another case: bash also means Bash.
func byAllNames(list []string) []string {
	for _, name := range list {
		if as := policy.ToolName(name); !slices.Contains(list, as) {
			list = append(slices.Clip(list), as)
		}
	}
	return list
}

// steps is how many steps a turn may take; zero leaves it to the agent.
func steps(s terret.Session, role Role, o terret.TurnOptions) int {
	asked, persona, trusted := s.Options.MaxTurns, 0, false
	if role.Persona != nil {
		persona, trusted = role.Persona.MaxTurns, role.Persona.Trusted
	}
	switch {
	case o.MaxTurns == 0:
	case persona > 0 && trusted && asked > 0: // a turn may only lower it
		asked = min(asked, o.MaxTurns)
	default:
		asked = o.MaxTurns
	}
	bounded := role.Persona != nil || s.Options.BasePrompt || s.OneShot
	switch {
	case persona > 0 && asked > 0:
		return min(persona, asked)
	case persona > 0 && trusted:
		return persona
	case persona > 0:
		return min(persona, DefaultMaxTurns)
	case asked == 0 && bounded:
		return DefaultMaxTurns
	}
	return asked
}

// intersection lists the tools in both lists; a nil list means all tools.
func intersection(a, b []string) []string {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
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

// union lists what is in either list. It is nil if both are.
func union[T comparable](a, b []T) []T {
	if b == nil {
		return a
	}
	out := append([]T{}, a...)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// orElse is the first list, or the second if the first is nil.
func orElse(list, other []string) []string {
	if list != nil {
		return list
	}
	return other
}

func paragraphs(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

package desk

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/policy"
)

func tools(names ...string) []string { return names }

var noTools = []string{}

// TestResolveCases are combinations that people ask about.
func TestResolveCases(t *testing.T) {
	t.Parallel()
	read, bash, readGrep := tools("Read"), tools("Bash"), tools("Read", "Grep")
	type settings = terret.Settings
	for name, c := range map[string]struct {
		p    terret.Persona
		s    terret.SessionOptions
		t    terret.TurnOptions
		want settings
	}{
		"nothing": {want: settings{MaxTurns: 25}},

		"a session's sandbox":       {s: terret.SessionOptions{Sandbox: terret.SandboxWrite}, want: settings{Sandbox: terret.SandboxWrite, MaxTurns: 25}},
		"a persona's sandbox":       {p: terret.Persona{Sandbox: terret.SandboxReadOnly}, s: terret.SessionOptions{Sandbox: terret.SandboxWrite}, want: settings{Sandbox: terret.SandboxReadOnly, MaxTurns: 25}},
		"no persona leaves it":      {p: terret.Persona{Sandbox: terret.SandboxOff}, s: terret.SessionOptions{Sandbox: terret.SandboxWrite}, want: settings{Sandbox: terret.SandboxWrite, MaxTurns: 25}},
		"nobody leaves a persona's": {p: terret.Persona{Sandbox: terret.SandboxWrite}, s: terret.SessionOptions{Sandbox: terret.SandboxOff}, want: settings{Sandbox: terret.SandboxWrite, MaxTurns: 25}},
		"none":                      {s: terret.SessionOptions{Sandbox: terret.SandboxOff}, want: settings{MaxTurns: 25}},

		"a persona's tools":      {p: terret.Persona{Tools: readGrep}, want: settings{Tools: readGrep, MaxTurns: 25}},
		"no tools":               {p: terret.Persona{Tools: noTools}, want: settings{Tools: noTools, MaxTurns: 25}},
		"a turn's tools":         {t: terret.TurnOptions{Tools: bash}, want: settings{Tools: bash, MaxTurns: 25}},
		"persona beats turn":     {p: terret.Persona{Tools: readGrep}, t: terret.TurnOptions{Tools: bash}, want: settings{Tools: readGrep, MaxTurns: 25}},
		"override beats persona": {p: terret.Persona{Tools: readGrep}, t: terret.TurnOptions{Tools: read, ToolsOverride: bash}, want: settings{Tools: bash, MaxTurns: 25}},
		"override by nothing":    {p: terret.Persona{Tools: readGrep}, t: terret.TurnOptions{ToolsOverride: noTools}, want: settings{Tools: noTools, MaxTurns: 25}},
		"person and persona":     {p: terret.Persona{Tools: readGrep}, s: terret.SessionOptions{Tools: tools("Bash", "Read")}, want: settings{Tools: read, MaxTurns: 25}},
		"person against persona": {p: terret.Persona{Tools: readGrep}, s: terret.SessionOptions{Tools: bash}, want: settings{Tools: noTools, MaxTurns: 25}},
		"person has all":         {p: terret.Persona{Tools: readGrep}, s: terret.SessionOptions{Tools: tools("default")}, want: settings{Tools: readGrep, MaxTurns: 25}},
		"a turn narrows":         {s: terret.SessionOptions{Tools: readGrep}, t: terret.TurnOptions{Tools: tools("Read", "Bash")}, want: settings{Tools: read, MaxTurns: 25}},
		"a server's tool":        {p: terret.Persona{Tools: tools("mcp__a__*")}, s: terret.SessionOptions{Tools: tools("mcp__a__b", "mcp__c__d")}, want: settings{Tools: tools("mcp__a__b"), MaxTurns: 25}},
		"two names of one tool":  {p: terret.Persona{Tools: tools("Task")}, s: terret.SessionOptions{Tools: tools("Agent")}, want: settings{Tools: tools("Agent", "Task"), MaxTurns: 25}},

		"what is gone adds up":     {p: terret.Persona{DisallowedTools: read}, s: terret.SessionOptions{DisallowedTools: bash}, t: terret.TurnOptions{DisallowedTools: tools("Edit")}, want: settings{RemovedTools: tools("Bash", "Read", "Edit"), MaxTurns: 25}},
		"override of what is gone": {p: terret.Persona{DisallowedTools: read}, s: terret.SessionOptions{DisallowedTools: bash}, t: terret.TurnOptions{DisallowedToolsOverride: tools("Edit")}, want: settings{RemovedTools: tools("Edit"), MaxTurns: 25}},
		"gone by another name":     {p: terret.Persona{DisallowedTools: tools("shell")}, t: terret.TurnOptions{DisallowedTools: tools("webfetch")}, want: settings{RemovedTools: tools("shell", "webfetch", "Bash", "WebFetch"), MaxTurns: 25}},
		"tools by another name":    {s: terret.SessionOptions{Tools: tools("bash", "Edit")}, want: settings{Tools: tools("bash", "Edit", "Bash"), MaxTurns: 25}},
		"nothing is gone":          {p: terret.Persona{DisallowedTools: read}, t: terret.TurnOptions{DisallowedToolsOverride: noTools}, want: settings{RemovedTools: noTools, MaxTurns: 25}},

		"untrusted approval":          {p: terret.Persona{AutoApproveTools: bash}, want: settings{MaxTurns: 25}},
		"untrusted approval, turn":    {p: terret.Persona{AutoApproveTools: bash}, t: terret.TurnOptions{AutoApproveTools: read}, want: settings{ApprovedTools: read, MaxTurns: 25}},
		"trusted approval":            {p: terret.Persona{AutoApproveTools: bash, Trusted: true}, s: terret.SessionOptions{AutoApproveTools: read}, want: settings{ApprovedTools: tools("Read", "Bash"), MaxTurns: 25}},
		"trusted approval beats turn": {p: terret.Persona{AutoApproveTools: bash, Trusted: true}, t: terret.TurnOptions{AutoApproveTools: read}, want: settings{ApprovedTools: bash, MaxTurns: 25}},
		"override of approval":        {p: terret.Persona{AutoApproveTools: bash, Trusted: true}, t: terret.TurnOptions{AutoApproveToolsOverride: noTools}, want: settings{ApprovedTools: noTools, MaxTurns: 25}},

		"session's steps":        {s: terret.SessionOptions{MaxTurns: 7}, want: settings{MaxTurns: 7}},
		"turn's steps":           {s: terret.SessionOptions{MaxTurns: 7}, t: terret.TurnOptions{MaxTurns: 9}, want: settings{MaxTurns: 9}},
		"persona's steps":        {p: terret.Persona{MaxTurns: 10}, want: settings{MaxTurns: 10}},
		"persona beats a turn":   {p: terret.Persona{MaxTurns: 10, Trusted: true}, t: terret.TurnOptions{MaxTurns: 50}, want: settings{MaxTurns: 10}},
		"trusted, turn's fewer":  {p: terret.Persona{MaxTurns: 90, Trusted: true}, t: terret.TurnOptions{MaxTurns: 50}, want: settings{MaxTurns: 50}},
		"untrusted and more":     {p: terret.Persona{MaxTurns: 90}, want: settings{MaxTurns: 25}},
		"untrusted, turn's":      {p: terret.Persona{MaxTurns: 90}, t: terret.TurnOptions{MaxTurns: 50}, want: settings{MaxTurns: 50}},
		"untrusted, less":        {p: terret.Persona{MaxTurns: 10}, t: terret.TurnOptions{MaxTurns: 50}, want: settings{MaxTurns: 10}},
		"person's steps are few": {p: terret.Persona{MaxTurns: 90, Trusted: true}, s: terret.SessionOptions{MaxTurns: 7}, want: settings{MaxTurns: 7}},

		"a turn's effort": {s: terret.SessionOptions{Effort: "low"}, t: terret.TurnOptions{Effort: "high"}, want: settings{Effort: "high", MaxTurns: 25}},
		"the rest stays":  {s: terret.SessionOptions{Effort: "high", SystemAppend: "x", KeepRaw: true, MaxCostUSD: terret.USD}, want: settings{Effort: "high", SystemAppend: "x", KeepRaw: true, MaxCostUSD: terret.USD, MaxTurns: 25}},
	} {
		got := Resolve(terret.Session{Options: c.s}, Role{Persona: &c.p}, c.t).Settings
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// The lists that the exhaustive tests combine, and the tools that they are about.
var (
	lists    = [][]string{nil, {}, {"Read"}, {"Bash"}, {"Read", "Bash"}}
	subjects = []string{"Read", "Bash", "Edit"}
)

func has(list []string, name string) bool { return slices.Contains(list, name) }

// hasTool reports whether a tool exists by that list.
func hasTool(list []string, name string) bool {
	_, missing := policy.Missing(policy.Subject{Tool: name}, list)
	return !missing
}

// TestResolveTools goes through every combination of tool lists: a tool exists for
// the agent exactly if everybody who has a say has it.
func TestResolveTools(t *testing.T) {
	t.Parallel()
	all := append([][]string{{"default"}}, lists...)
	for _, session := range all {
		for _, persona := range all {
			for _, turn := range all {
				for _, override := range all {
					got := Resolve(
						terret.Session{Options: terret.SessionOptions{Tools: session}},
						Role{Persona: &terret.Persona{Tools: persona}},
						terret.TurnOptions{Tools: turn, ToolsOverride: override},
					).Tools
					for _, tool := range subjects {
						want := hasTool(session, tool) && hasTool(persona, tool) && (persona != nil || hasTool(turn, tool))
						if override != nil {
							want = hasTool(override, tool)
						}
						if hasTool(got, tool) != want {
							t.Errorf("session %q, persona %q, turn %q, override %q: %s in %q is %v", session, persona, turn, override, tool, got, !want)
						}
					}
				}
			}
		}
	}
}

// TestResolveRemoved goes through every combination of lists of what is taken away. A
// tool that is removed is also denied by a rule, for agents that try it all the same.
func TestResolveRemoved(t *testing.T) {
	t.Parallel()
	for _, session := range lists {
		for _, persona := range lists {
			for _, turn := range lists {
				for _, override := range lists {
					in := Resolve(
						terret.Session{Options: terret.SessionOptions{DisallowedTools: session}},
						Role{Persona: &terret.Persona{DisallowedTools: persona}},
						terret.TurnOptions{DisallowedTools: turn, DisallowedToolsOverride: override},
					)
					for _, tool := range subjects {
						want := has(session, tool) || has(persona, tool)
						if override != nil {
							want = has(override, tool)
						}
						want = want || has(turn, tool)
						if has(in.RemovedTools, tool) != want || in.ruled(terret.EffectDeny, tool) != want {
							t.Errorf("session %q, persona %q, turn %q, override %q: %s in %q is %v", session, persona, turn, override, tool, in.RemovedTools, !want)
						}
					}
				}
			}
		}
	}
}

func (in InForce) ruled(effect terret.Effect, pattern string) bool {
	return slices.ContainsFunc(in.rules, func(r terret.Rule) bool { return r.Effect == effect && r.Pattern == pattern })
}

// TestResolveApproved goes through every combination of lists of what runs without
// being asked for. A persona that nobody trusts approves nothing.
func TestResolveApproved(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		for _, session := range lists {
			for _, persona := range lists {
				for _, turn := range lists {
					for _, override := range lists {
						in := Resolve(
							terret.Session{Options: terret.SessionOptions{AutoApproveTools: session}},
							Role{Persona: &terret.Persona{AutoApproveTools: persona, Trusted: trusted}},
							terret.TurnOptions{AutoApproveTools: turn, AutoApproveToolsOverride: override},
						)
						says := trusted && persona != nil
						for _, tool := range subjects {
							want := has(session, tool) || says && has(persona, tool) || !says && has(turn, tool)
							if override != nil {
								want = has(override, tool)
							}
							if has(in.ApprovedTools, tool) != want || in.ruled(terret.EffectAllow, tool) != want {
								t.Errorf("trusted %v, session %q, persona %q, turn %q, override %q: %s in %q is %v", trusted, session, persona, turn, override, tool, in.ApprovedTools, !want)
							}
						}
					}
				}
			}
		}
	}
}

// TestResolveSteps goes through every combination of limits on steps: below, at and
// above the default, from everybody.
func TestResolveSteps(t *testing.T) {
	t.Parallel()
	limits := []int{0, 10, 25, 40, 60}
	for _, persona := range append([]int{-1}, limits...) { // -1: the session has none
		for _, session := range limits {
			for _, turn := range limits {
				for flags := range 8 {
					trusted, base, oneShot := flags&1 != 0, flags&2 != 0, flags&4 != 0
					s := terret.Session{OneShot: oneShot, Options: terret.SessionOptions{MaxTurns: session, BasePrompt: base}}
					var role Role
					if persona >= 0 {
						role.Persona = &terret.Persona{MaxTurns: persona, Trusted: trusted}
					}
					got := Resolve(s, role, terret.TurnOptions{MaxTurns: turn}).MaxTurns

					// A person's limit: the turn's, which may only lower the session's if a
					// persona that is trusted has one.
					want := session
					if turn > 0 && (persona <= 0 || !trusted || session == 0 || turn < session) {
						want = turn
					}
					if want == 0 && persona > 0 && !trusted {
						want = DefaultMaxTurns // it cannot raise the default
					}
					if persona > 0 && (want == 0 || persona < want) {
						want = persona
					}
					if want == 0 && (persona >= 0 || base || oneShot) {
						want = DefaultMaxTurns
					}
					if got != want {
						t.Errorf("session %d, persona %d, turn %d, trusted %v, base prompt %v, one-shot %v: %d steps, want %d", session, persona, turn, trusted, base, oneShot, got, want)
					}
				}
			}
		}
	}
}

// TestResolveGates holds that a gate is wanted if the session or the persona wants
// it, whether the persona is trusted or not: it can only make the agent wait.
func TestResolveGates(t *testing.T) {
	t.Parallel()
	some := [][]terret.Gate{nil, {}, {terret.GateStop}, {terret.GatePreTool}, {terret.GateStop, terret.GatePreTool}}
	for _, trusted := range []bool{false, true} {
		for _, session := range some {
			for _, persona := range some {
				got := Resolve(
					terret.Session{Options: terret.SessionOptions{Gates: session}},
					Role{Persona: &terret.Persona{Gates: persona, Trusted: trusted}}, terret.TurnOptions{},
				).Gates
				for _, gate := range []terret.Gate{terret.GateStop, terret.GatePreTool, terret.GatePrompt} {
					want := slices.Contains(session, gate) || slices.Contains(persona, gate)
					if slices.Contains(got, gate) != want {
						t.Errorf("trusted %v, session %q, persona %q: %s in %q is %v", trusted, session, persona, gate, got, !want)
					}
				}
			}
		}
	}
}

// TestResolvePrompt holds what is appended to the agent's system prompt.
func TestResolvePrompt(t *testing.T) {
	t.Parallel()
	for session, role := range map[string]string{"": "", "s": "", "s ": "r", " ": "r"} {
		for _, turn := range []string{"", "t"} {
			second := role
			if role == "" { // the role's prompt holds what the turn says
				second = turn
			}
			want := session + "\n\n" + second
			if session == "" || second == "" {
				want = session + second
			}
			got := Resolve(terret.Session{Options: terret.SessionOptions{SystemAppend: session}}, Role{Prompt: role}, terret.TurnOptions{SystemAppend: turn}).SystemAppend
			if got != want {
				t.Errorf("session %q, role %q, turn %q: %q, want %q", session, role, turn, got, want)
			}
		}
	}
}

// Resolving changes nothing that it is given.
func TestResolveIsPure(t *testing.T) {
	t.Parallel()
	room := func(name string) []string { return append(make([]string, 0, 8), name) } // which an append would write to
	s := terret.Session{Options: terret.SessionOptions{Tools: room("C"), DisallowedTools: room("A"), AutoApproveTools: room("B"), Deny: room("D"), Allow: room("E")}}
	p := terret.Persona{Tools: room("C"), DisallowedTools: room("F"), AutoApproveTools: room("G"), Trusted: true}
	o := terret.TurnOptions{DisallowedTools: room("H"), AutoApproveTools: room("I")}
	image := func() string {
		whole := func(lists ...[]string) (out [][]string) {
			for _, l := range lists {
				out = append(out, l[:cap(l)])
			}
			return out
		}
		b, err := json.Marshal(whole(
			s.Options.Tools, s.Options.DisallowedTools, s.Options.AutoApproveTools, s.Options.Deny, s.Options.Allow,
			p.Tools, p.DisallowedTools, p.AutoApproveTools, o.DisallowedTools, o.AutoApproveTools,
		))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	before := image()
	first := Resolve(s, Role{Persona: &p}, o)
	if again := Resolve(s, Role{Persona: &p}, o); fmt.Sprint(first) != fmt.Sprint(again) {
		t.Errorf("%+v, and then %+v", first, again)
	}
	if after := image(); after != before {
		t.Errorf("%s before, %s after", before, after)
	}
}

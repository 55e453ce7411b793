package persona

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/trust"
)

func some(names ...string) []string { return names }

var none = []string{}

// TestApply holds that a persona fills in what the person leaves empty, if it is
// trusted, and nothing else: the rest is resolved in each turn.
func TestApply(t *testing.T) {
	t.Parallel()
	p := terret.Persona{
		Tools: some("Read"), DisallowedTools: some("Bash"), AutoApproveTools: some("Bash"), MaxTurns: 3, Gates: []terret.Gate{terret.GateStop},
		Agent: "claude", Model: "opus", Policy: terret.PolicyAutoApprove,
	}
	if diff := cmp.Diff(terret.Session{}, Apply(p, terret.Session{})); diff != "" {
		t.Errorf("untrusted: %s", diff)
	}
	if diff := cmp.Diff([]string{"auto_approve_tools", "model", "agent", "policy"}, Grants(p)); diff != "" {
		t.Error(diff)
	}
	p.Trusted = true
	if diff := cmp.Diff(terret.Session{Agent: "claude", Model: "opus", Policy: terret.PolicyAutoApprove}, Apply(p, terret.Session{})); diff != "" {
		t.Errorf("trusted: %s", diff)
	}
	asked := terret.Session{Agent: "native", Model: "demo", Policy: terret.PolicyAsk, Options: terret.SessionOptions{AutoApproveTools: some("Grep")}}
	if diff := cmp.Diff(asked, Apply(p, asked)); diff != "" {
		t.Errorf("what a person asks for: %s", diff)
	}
}

// What asks for trust is what waits for it.
func TestGrantsNeedTrust(t *testing.T) {
	t.Parallel()
	for _, key := range keys {
		value := map[string]string{"max_turns": "3", "policy": "plan", "gates": "stop", "sandbox": "read-only"}[key]
		if value == "" {
			value = "Read"
		}
		dir := project(t, agent("X", "---\n"+key+": "+value+"\n---\n"))
		p, err := New().Load(dir, map[bool]string{true: "Read", false: "X"}[key == "id"])
		if err != nil {
			t.Fatal(err)
		}
		state, err := trust.Inspect(dir)
		if err != nil || state.Empty() != (len(Grants(p)) == 0) {
			t.Errorf("%s: grants %q, acting %+v, error %v", key, Grants(p), state.Files, err)
		}
		// Without trust, it gives nothing that no persona would give.
		if diff := cmp.Diff(terret.Session{}, Apply(p, terret.Session{})); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

func TestCheckOversight(t *testing.T) {
	t.Parallel()
	type settings = terret.Settings
	for name, c := range map[string]struct {
		in     settings
		deny   []string
		asked  string
		none   string
		chosen terret.Policy
	}{
		"nothing":            {},
		"all tools":          {in: settings{Tools: some("default"), RemovedTools: none, ApprovedTools: some("Bash")}},
		"some tools":         {in: settings{Tools: some("Read")}, asked: "held to tools: it uses tools without asking", none: "held to tools: none of its tool uses"},
		"no tools":           {in: settings{Tools: none}, asked: "held to tools:", none: "held to tools:"},
		"tools taken away":   {in: settings{RemovedTools: some("Bash")}, asked: "held to disallowed_tools:", none: "held to disallowed_tools:"},
		"deny rules":         {deny: some("Bash(rm *)"), none: "held to deny rules:"},
		"all of it":          {in: settings{Tools: none, RemovedTools: some("Bash")}, deny: some("Bash"), asked: "tools and disallowed_tools:", none: "tools and disallowed_tools and deny rules:"},
		"reading, otherwise": {deny: some("grep"), asked: "held to deny rules about reading:", none: "held to deny rules:"},
		"reading denied":     {deny: some("Bash(rm *)", "Read(**/.env)"), asked: "held to deny rules about reading:", none: "held to deny rules:"},
		"ask":                {chosen: terret.PolicyAsk, none: "held to the policy ask:"},
		"plan":               {chosen: terret.PolicyPlan, none: "held to the policy plan:"},
		"deny the rest":      {chosen: terret.PolicyDenyUnlessAllowed, asked: "held to the policy deny-unless-allowed: it uses tools without asking", none: "held to the policy deny-unless-allowed:"},
		"all is allowed":     {chosen: terret.PolicyAutoApprove},
	} {
		for oversight, want := range map[terret.Oversight]string{terret.OversightAll: "", terret.OversightAsked: c.asked, terret.OversightNone: c.none, "": c.none} {
			err := CheckOversight(terret.Capabilities{Oversight: oversight}, c.in, c.deny, c.chosen)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s with %q: %v", name, oversight, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want) || terret.AsError(err).Code != terret.CodeUnsupported):
				t.Errorf("%s with %q: error %v, want %q", name, oversight, err, want)
			}
		}
	}
}

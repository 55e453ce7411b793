package persona

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/trust"
)

type (
	sessionOptions = terret.SessionOptions
	turnOptions    = terret.TurnOptions
)

func some(names ...string) []string { return names }

var none = []string{}

func TestResolve(t *testing.T) {
	t.Parallel()
	read, bash := some("Read"), some("Bash")
	readGrep := some("Read", "Grep")
	for name, c := range map[string]struct {
		p    terret.Persona
		s    sessionOptions
		t    turnOptions
		want sessionOptions
	}{
		"nothing": {want: sessionOptions{MaxTurns: 25}},

		"a persona's tools":           {p: terret.Persona{Tools: readGrep}, want: sessionOptions{Tools: readGrep, MaxTurns: 25}},
		"no tools":                    {p: terret.Persona{Tools: none}, want: sessionOptions{Tools: none, MaxTurns: 25}},
		"a turn's tools":              {t: turnOptions{Tools: bash}, want: sessionOptions{Tools: bash, MaxTurns: 25}},
		"persona beats turn":          {p: terret.Persona{Tools: readGrep}, t: turnOptions{Tools: bash}, want: sessionOptions{Tools: readGrep, MaxTurns: 25}},
		"override beats persona":      {p: terret.Persona{Tools: readGrep}, t: turnOptions{Tools: read, ToolsOverride: bash}, want: sessionOptions{Tools: bash, MaxTurns: 25}},
		"override by nothing":         {p: terret.Persona{Tools: readGrep}, t: turnOptions{ToolsOverride: none}, want: sessionOptions{Tools: none, MaxTurns: 25}},
		"person and persona":          {p: terret.Persona{Tools: readGrep}, s: sessionOptions{Tools: some("Bash", "Read")}, want: sessionOptions{Tools: read, MaxTurns: 25}},
		"person against persona":      {p: terret.Persona{Tools: readGrep}, s: sessionOptions{Tools: bash}, want: sessionOptions{Tools: none, MaxTurns: 25}},
		"person has all":              {p: terret.Persona{Tools: readGrep}, s: sessionOptions{Tools: some("default")}, want: sessionOptions{Tools: readGrep, MaxTurns: 25}},
		"a turn narrows":              {s: sessionOptions{Tools: readGrep}, t: turnOptions{Tools: some("Read", "Bash")}, want: sessionOptions{Tools: read, MaxTurns: 25}},
		"a server's tool":             {p: terret.Persona{Tools: some("mcp__a__*")}, s: sessionOptions{Tools: some("mcp__a__b", "mcp__c__d")}, want: sessionOptions{Tools: some("mcp__a__b"), MaxTurns: 25}},
		"two names of one tool":       {p: terret.Persona{Tools: some("Task")}, s: sessionOptions{Tools: some("Agent")}, want: sessionOptions{Tools: some("Agent", "Task"), MaxTurns: 25}},
		"what is gone adds up":        {p: terret.Persona{DisallowedTools: read}, s: sessionOptions{DisallowedTools: bash}, t: turnOptions{DisallowedTools: some("Edit")}, want: sessionOptions{DisallowedTools: some("Bash", "Read", "Edit"), MaxTurns: 25}},
		"override of what is gone":    {p: terret.Persona{DisallowedTools: read}, s: sessionOptions{DisallowedTools: bash}, t: turnOptions{DisallowedToolsOverride: some("Edit")}, want: sessionOptions{DisallowedTools: some("Edit"), MaxTurns: 25}},
		"nothing is gone":             {p: terret.Persona{DisallowedTools: read}, t: turnOptions{DisallowedToolsOverride: none}, want: sessionOptions{DisallowedTools: none, MaxTurns: 25}},
		"untrusted approval":          {p: terret.Persona{AutoApproveTools: bash}, want: sessionOptions{MaxTurns: 25}},
		"untrusted approval, turn":    {p: terret.Persona{AutoApproveTools: bash}, t: turnOptions{AutoApproveTools: read}, want: sessionOptions{AutoApproveTools: read, MaxTurns: 25}},
		"trusted approval":            {p: terret.Persona{AutoApproveTools: bash, Trusted: true}, s: sessionOptions{AutoApproveTools: read}, want: sessionOptions{AutoApproveTools: some("Read", "Bash"), MaxTurns: 25}},
		"trusted approval beats turn": {p: terret.Persona{AutoApproveTools: bash, Trusted: true}, t: turnOptions{AutoApproveTools: read}, want: sessionOptions{AutoApproveTools: bash, MaxTurns: 25}},
		"override of approval":        {p: terret.Persona{AutoApproveTools: bash, Trusted: true}, t: turnOptions{AutoApproveToolsOverride: none}, want: sessionOptions{AutoApproveTools: none, MaxTurns: 25}},

		"session's steps":        {s: sessionOptions{MaxTurns: 7}, want: sessionOptions{MaxTurns: 7}},
		"turn's steps":           {s: sessionOptions{MaxTurns: 7}, t: turnOptions{MaxTurns: 9}, want: sessionOptions{MaxTurns: 9}},
		"persona's steps":        {p: terret.Persona{MaxTurns: 10}, want: sessionOptions{MaxTurns: 10}},
		"persona beats a turn":   {p: terret.Persona{MaxTurns: 10, Trusted: true}, t: turnOptions{MaxTurns: 50}, want: sessionOptions{MaxTurns: 10}},
		"trusted and more":       {p: terret.Persona{MaxTurns: 90, Trusted: true}, t: turnOptions{MaxTurns: 50}, want: sessionOptions{MaxTurns: 90}},
		"untrusted and more":     {p: terret.Persona{MaxTurns: 90}, want: sessionOptions{MaxTurns: 25}},
		"untrusted, turn's":      {p: terret.Persona{MaxTurns: 90}, t: turnOptions{MaxTurns: 50}, want: sessionOptions{MaxTurns: 50}},
		"untrusted, less":        {p: terret.Persona{MaxTurns: 10}, t: turnOptions{MaxTurns: 50}, want: sessionOptions{MaxTurns: 10}},
		"person's steps are few": {p: terret.Persona{MaxTurns: 90, Trusted: true}, s: sessionOptions{MaxTurns: 7}, want: sessionOptions{MaxTurns: 7}},
		"the rest stays":         {p: terret.Persona{Tools: read}, s: sessionOptions{Deny: bash, Effort: "high", SystemAppend: "x", KeepRaw: true}, want: sessionOptions{Tools: read, Deny: bash, Effort: "high", SystemAppend: "x", KeepRaw: true, MaxTurns: 25}},
	} {
		got := Resolve(&c.p, c.s, c.t)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		// A stored session is resolved again in each of its turns.
		stored := Resolve(&c.p, c.s, turnOptions{})
		if diff := cmp.Diff(stored, Resolve(&c.p, stored, turnOptions{})); diff != "" {
			t.Errorf("%s, again: %s", name, diff)
		}
		// What an engine is asked for gives the same, whatever the session has.
		turn := Turn(got, c.t)
		again := Resolve(nil, c.s, turn)
		for what, lists := range map[string][2][]string{
			"tools": {got.Tools, again.Tools}, "gone": {got.DisallowedTools, again.DisallowedTools}, "approved": {got.AutoApproveTools, again.AutoApproveTools},
		} {
			a, b := strings.Join(lists[0], ","), strings.TrimPrefix(strings.Join(lists[1], ","), "default")
			if a != b && a != "default" || lists[0] != nil && lists[1] == nil {
				t.Errorf("%s: %s of a turn are %q, want %q", name, what, lists[1], lists[0])
			}
		}
		if again.MaxTurns != got.MaxTurns {
			t.Errorf("%s: %d steps, want %d", name, again.MaxTurns, got.MaxTurns)
		}
	}
	if diff := cmp.Diff(sessionOptions{Tools: read, MaxTurns: 25}, Resolve(nil, sessionOptions{Tools: read}, turnOptions{})); diff != "" {
		t.Error(diff)
	}
}

// Resolving changes nothing that it is given.
func TestResolveIsPure(t *testing.T) {
	t.Parallel()
	p := terret.Persona{Tools: make([]string, 1, 8), DisallowedTools: make([]string, 1, 8), AutoApproveTools: make([]string, 1, 8), Trusted: true}
	s := sessionOptions{DisallowedTools: make([]string, 1, 8), AutoApproveTools: make([]string, 1, 8)}
	s.DisallowedTools[0], s.AutoApproveTools[0], p.Tools[0], p.DisallowedTools[0], p.AutoApproveTools[0] = "A", "B", "C", "D", "E"
	out := Resolve(&p, s, turnOptions{DisallowedTools: some("F")})
	out.Tools[0], out.DisallowedTools[0], out.AutoApproveTools[0] = "x", "x", "x"
	if p.Tools[0] != "C" || s.DisallowedTools[0] != "A" || s.AutoApproveTools[0] != "B" || s.DisallowedTools[:2][1] != "" {
		t.Errorf("%+v %+v", p, s)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	p := terret.Persona{Tools: some("Read"), Agent: "claude", Model: "opus", Policy: terret.PolicyAutoApprove, AutoApproveTools: some("Bash")}
	restricted := sessionOptions{Tools: some("Read"), MaxTurns: 25}
	if diff := cmp.Diff(terret.Session{Options: restricted}, Apply(p, terret.Session{})); diff != "" {
		t.Errorf("untrusted: %s", diff)
	}
	if diff := cmp.Diff([]string{"auto_approve_tools", "model", "agent", "policy"}, Grants(p)); diff != "" {
		t.Error(diff)
	}
	p.Trusted = true
	want := terret.Session{Agent: "claude", Model: "opus", Policy: terret.PolicyAutoApprove, Options: restricted}
	made := Apply(p, terret.Session{})
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("trusted: %s", diff)
	}
	// What it approves ends with the trust in it.
	for _, p.Trusted = range []bool{false, true} {
		if got := Resolve(&p, made.Options, turnOptions{}).AutoApproveTools; p.Trusted != (len(got) == 1) {
			t.Errorf("trusted %v: approved are %q", p.Trusted, got)
		}
	}
	asked := terret.Session{Agent: "native", Model: "demo", Policy: terret.PolicyAsk, Options: sessionOptions{AutoApproveTools: some("Grep")}}
	want = asked
	want.Options = restricted
	want.Options.AutoApproveTools = some("Grep")
	if diff := cmp.Diff(want, Apply(p, asked)); diff != "" {
		t.Errorf("what a person asks for: %s", diff)
	}
}

// What asks for trust is what waits for it.
func TestGrantsNeedTrust(t *testing.T) {
	t.Parallel()
	for _, key := range keys {
		value := map[string]string{"max_turns": "3", "policy": "plan"}[key]
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
		got, plain := Apply(p, terret.Session{}), terret.Session{Options: Resolve(nil, sessionOptions{}, turnOptions{})}
		got.Options.Tools, got.Options.DisallowedTools, got.Options.MaxTurns = nil, nil, plain.Options.MaxTurns
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

func TestCheckOversight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o     sessionOptions
		asked string
		none  string
	}{
		"nothing":          {},
		"all tools":        {o: sessionOptions{Tools: some("default"), DisallowedTools: none, AutoApproveTools: some("Bash")}},
		"some tools":       {sessionOptions{Tools: some("Read")}, "held to tools: it uses tools without asking", "held to tools: none of its tool uses"},
		"no tools":         {sessionOptions{Tools: none}, "held to tools:", "held to tools:"},
		"tools taken away": {sessionOptions{DisallowedTools: some("Bash")}, "held to disallowed_tools:", "held to disallowed_tools:"},
		"deny rules":       {sessionOptions{Deny: some("Bash(rm *)")}, "", "held to deny rules:"},
		"all of it":        {sessionOptions{Tools: none, DisallowedTools: some("Bash"), Deny: some("Read")}, "tools and disallowed_tools:", "tools and disallowed_tools and deny rules:"},
	} {
		for oversight, want := range map[terret.Oversight]string{terret.OversightAll: "", terret.OversightAsked: c.asked, terret.OversightNone: c.none, "": c.none} {
			err := CheckOversight(terret.Capabilities{Oversight: oversight}, c.o)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s with %q: %v", name, oversight, err)
			case want != "" && (err == nil || !strings.Contains(err.Error(), want) || terret.AsError(err).Code != terret.CodeUnsupported):
				t.Errorf("%s with %q: error %v, want %q", name, oversight, err, want)
			}
		}
	}
}

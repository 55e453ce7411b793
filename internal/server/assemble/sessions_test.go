package assemble

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

// loose is an agent that lets us see little.
type loose struct {
	terret.Driver
	oversight terret.Oversight
	missing   bool
}

func (l loose) Name() string { return "loose" }

func (l loose) Probe(context.Context) (terret.Probe, error) {
	return terret.Probe{Agent: "loose", Found: !l.missing, Capabilities: terret.Capabilities{Oversight: l.oversight}}, nil
}

// Describe says that we see nothing of one-shot sessions, and that its mode "refuse"
// amounts to a policy.
func (l loose) Describe() terret.Description {
	return terret.Description{Program: true, OneShot: terret.OversightNone, Modes: map[string]terret.Policy{"refuse": terret.PolicyDenyUnlessAllowed}}
}

// deaf is an agent of which nothing is known.
type deaf struct{ terret.Driver }

func (deaf) Name() string { return "deaf" }

// TestOverseen holds that a limit on tools is not promised where it cannot be kept,
// whether the person or the persona sets it.
func TestOverseen(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"agents/AGENT_READER.md": "---\ntools: Read\n---\n", "agents/AGENT_FREE.md": "Do."})
	restricted := terret.Session{Options: terret.SessionOptions{Tools: []string{"Read"}}}
	for name, c := range map[string]struct {
		driver     terret.Driver
		session    terret.Session
		unenforced bool
		want, note string
	}{
		"all":             {driver: loose{oversight: terret.OversightAll}, session: restricted},
		"nothing":         {driver: loose{oversight: terret.OversightNone}},
		"asked":           {driver: loose{oversight: terret.OversightAsked}, session: restricted, want: "loose: this agent cannot be held to tools: it uses tools without asking Terret"},
		"asked anyway":    {driver: loose{oversight: terret.OversightAsked}, session: restricted, unenforced: true, note: "loose: this agent cannot be held to tools"},
		"not installed":   {driver: loose{missing: true}, session: restricted, note: "loose is not ready: "},
		"one-shot":        {driver: loose{oversight: terret.OversightAll}, session: terret.Session{OneShot: true, Options: terret.SessionOptions{Tools: []string{"Read"}}}},
		"one-shot, deny":  {driver: loose{oversight: terret.OversightAll}, session: terret.Session{OneShot: true, Options: terret.SessionOptions{Deny: []string{"Bash"}}}, want: "loose: this agent cannot be held to deny rules: none of its tool uses pass through Terret"},
		"a policy":        {driver: loose{oversight: terret.OversightAsked}, session: terret.Session{Policy: terret.PolicyDenyUnlessAllowed}, want: "held to the policy deny-unless-allowed"},
		"by its own mode": {driver: loose{oversight: terret.OversightAsked}, session: terret.Session{Policy: terret.PolicyDenyUnlessAllowed, PermissionMode: "refuse"}},
		"not known":       {driver: deaf{}, session: restricted, want: "deaf: this agent cannot be held to tools"},
		"by its persona":  {driver: loose{oversight: terret.OversightAsked}, session: terret.Session{Persona: "READER"}, want: "cannot be held to tools"},
		"another persona": {driver: loose{oversight: terret.OversightAsked}, session: terret.Session{Persona: "FREE"}},
	} {
		h := start(t, Options{Drivers: []terret.Driver{c.driver}})
		var notes []string
		c.session.Agent, c.session.Cwd = c.driver.Name(), dir
		_, err := h.Sessions(nil).Create(t.Context(), c.session, CreateOptions{Unenforced: c.unenforced, Tell: func(n string) { notes = append(notes, n) }})
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, terret.ErrUnsupported) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if got := strings.Join(notes, "\n"); !strings.Contains(got, c.note) || c.note == "" && got != "" {
			t.Errorf("%s: notes %q, want %q", name, got, c.note)
		}
	}
}

// What a person says comes first, then a persona that is trusted, then the defaults.
func TestCreate(t *testing.T) {
	t.Parallel()
	text := "---\nagent: mock\nmodel: persona\npolicy: plan\nauto_approve_tools: Bash\n---\nDo."
	dir := folder(t, map[string]string{"agents/AGENT_BOSS.md": text, "README.md": strings.Repeat("x", 5000)})
	defaults := func(_ context.Context, s *terret.Session) {
		for field, otherwise := range map[*string]string{&s.Agent: "mock", &s.Model: "default"} {
			if *field == "" {
				*field = otherwise
			}
		}
	}
	for name, c := range map[string]struct {
		session     terret.Session
		trusted     bool
		model       string
		policy      terret.Policy
		notes, fail string
	}{
		"nothing":          {model: "default", policy: terret.PolicyAsk},
		"not trusted":      {session: terret.Session{Persona: "BOSS"}, model: "default", policy: terret.PolicyAsk, notes: "persona BOSS: auto_approve_tools, model, agent, policy are ignored until you trust this folder"},
		"trusted":          {session: terret.Session{Persona: "BOSS"}, trusted: true, model: "persona", policy: terret.PolicyPlan, notes: "README.md is cut"},
		"a person's":       {session: terret.Session{Persona: "BOSS", Model: "mine"}, trusted: true, model: "mine", policy: terret.PolicyPlan, notes: "README.md is cut"},
		"a base prompt":    {session: terret.Session{Options: terret.SessionOptions{BasePrompt: true}}, model: "default", policy: terret.PolicyAsk, notes: "README.md is cut"},
		"no such persona":  {session: terret.Session{Persona: "NOBODY"}, fail: "persona"},
		"no such gate":     {session: terret.Session{Options: terret.SessionOptions{Gates: []terret.Gate{"x"}}}, fail: "gates"},
		"no such limit":    {session: terret.Session{Options: terret.SessionOptions{Timeouts: map[terret.Gate]int{"x": 1}}}, fail: "timeouts"},
		"another's name":   {session: terret.Session{Agent: "claude-code"}, fail: "-"}, // there is no claude here
		"a folder is gone": {session: terret.Session{Cwd: dir + "/none"}, fail: "cwd"},
	} {
		h := start(t, Options{Drivers: follows()})
		h.Roles.Trusts = func(string) bool { return c.trusted }
		if c.session.Cwd == "" {
			c.session.Cwd = dir
		}
		var notes []string
		s, err := h.Sessions(defaults).Create(t.Context(), c.session, CreateOptions{Tell: func(n string) { notes = append(notes, n) }})
		if c.fail != "" {
			if err == nil || c.fail != "-" && terret.AsError(err).Field != c.fail {
				t.Errorf("%s: error %v", name, err)
			}
			continue
		}
		if err != nil || s.Agent != "mock" || s.Model != c.model || s.Policy != c.policy || s.Persona != c.session.Persona {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if diff := cmp.Diff(c.session.Options, s.Options); diff != "" {
			t.Errorf("%s: options are a person's: %s", name, diff)
		}
		if got := strings.Join(notes, "\n"); !strings.Contains(got, c.notes) || c.notes == "" && got != "" {
			t.Errorf("%s: notes %q, want %q", name, got, c.notes)
		}
	}
}

// TestRoles holds what a turn is told, and when.
func TestRoles(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"agents/AGENT_X.md": "---\ntools: Read\n---\nYou are X.", "README.md": "about it"})
	var saved []string
	r := &Roles{Product: "Acme", Trusts: func(d string) bool { return d == dir }, Save: func(s terret.Session, prompt string) (string, error) {
		saved = append(saved, prompt)
		return "", errors.New("the disk is full") // which no turn depends on
	}}
	said := terret.TurnOptions{SystemAppend: "be brief"}
	for name, c := range map[string]struct {
		s    terret.Session
		want []string // in the prompt; nil: there is none
	}{
		"nothing":   {},
		"direct":    {s: terret.Session{Mode: terret.ModeDirect}},
		"base":      {s: terret.Session{Options: terret.SessionOptions{BasePrompt: true}}, want: []string{"Direct terminal mode"}},
		"workbench": {s: terret.Session{Mode: terret.ModeWorkbench}, want: []string{"Interactive workbench mode"}},
		"pipeline":  {s: terret.Session{Mode: terret.ModePipeline}, want: []string{"Pipeline execution mode"}},
		"persona":   {s: terret.Session{Persona: "X", Options: terret.SessionOptions{SystemAppend: "always"}}, want: []string{"You are X.", "Direct terminal mode"}},
	} {
		saved = nil
		c.s.ID, c.s.Cwd = "s", dir
		role, err := r.For(t.Context(), c.s, said)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.want == nil {
			if role != (engine.Role{}) || saved != nil {
				t.Errorf("%s: %+v, saved %q", name, role, saved)
			}
			continue
		}
		for _, want := range append(c.want, "operating within Acme", "about it", "be brief") {
			if !strings.Contains(role.Prompt, want) {
				t.Errorf("%s: no %q in %q", name, want, role.Prompt)
			}
		}
		whole := role.Prompt
		if c.s.Options.SystemAppend != "" {
			whole = c.s.Options.SystemAppend + "\n\n" + whole
		}
		if !slices.Equal(saved, []string{whole}) {
			t.Errorf("%s: saved %q", name, saved)
		}
		if p := role.Persona; (p != nil) != (c.s.Persona != "") || p != nil && (!p.Trusted || !slices.Equal(p.Tools, []string{"Read"})) {
			t.Errorf("%s: persona %+v", name, p)
		}
	}

	// For a session that does not exist yet, nothing is written down.
	saved = nil
	if _, err := r.For(t.Context(), terret.Session{Cwd: dir, Persona: "X"}, said); err != nil || saved != nil {
		t.Errorf("saved %q, error %v", saved, err)
	}
	if err := os.Remove(filepath.Join(dir, "agents", "AGENT_X.md")); err != nil {
		t.Fatal(err)
	}
	_, err := r.For(t.Context(), terret.Session{ID: "s", Cwd: dir, Persona: "X"}, said)
	if !errors.Is(err, terret.ErrConflict) || !strings.Contains(err.Error(), `there is no persona "X"`) {
		t.Errorf("without its persona: %v", err)
	}
}

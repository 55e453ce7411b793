package team_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
	"github.com/terret-dev/terret/work/team"
)

// TestConfig holds that a config becomes the options of a session: O20 to O26, O51, O52
// and X3.
func TestConfig(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	base := terret.Session{
		Agent: "claude", Title: "a", Cwd: dir, Mode: terret.ModeDirect, Policy: terret.PolicyAcceptEdits, PermissionMode: "acceptEdits",
		Options: terret.SessionOptions{SettingSources: []string{}},
	}
	with := func(change func(*terret.Session)) terret.Session {
		s := base
		change(&s)
		return s
	}
	for _, c := range []struct {
		id     string
		config team.Config
		want   terret.Session
	}{
		{"O21 O22 O25 O51 nothing", team.Config{}, base},
		{"O20", team.Config{Instructions: "Be brief."}, with(func(s *terret.Session) { s.Options.SystemAppend = "Be brief." })},
		{"O21", team.Config{Model: "opus"}, with(func(s *terret.Session) { s.Model = "opus" })},
		{"O22 O51", team.Config{AllowedTools: []string{"Read"}}, with(func(s *terret.Session) {
			s.Options.Tools, s.Options.AutoApproveTools = []string{"Read"}, []string{"Read"}
		})},
		{"O23 O52", team.Config{PermissionMode: "plan"}, with(func(s *terret.Session) { s.PermissionMode, s.Policy = "plan", terret.PolicyPlan })},
		{"O52 unknown", team.Config{PermissionMode: "odd"}, with(func(s *terret.Session) { s.PermissionMode, s.Policy = "odd", terret.PolicyAsk })},
		{"O25", team.Config{SettingSources: []string{"project"}}, with(func(s *terret.Session) { s.Options.SettingSources = []string{"project"} })},
		{"O26", team.Config{Credentials: map[string]any{"api_key": "k", "auth_token": "t", "base_url": "u"}}, base},
		{"O22 none", team.Config{AllowedTools: []string{}}, with(func(s *terret.Session) {
			s.Options.Tools, s.Options.AutoApproveTools = []string{}, []string{}
		})},
		{"O13 O14 O32", team.Config{Credentials: map[string]any{
			"mcp_servers": map[string]any{"db": map[string]any{"command": "serve"}}, "agents": map[string]any{"tester": map[string]any{"prompt": "Test."}}, "hooks": []any{"pre_tool", "stop"},
		}}, with(func(s *terret.Session) {
			s.Options.MCP, s.Options.Agents = terret.JSON(`{"mcpServers":{"db":{"command":"serve"}}}`), terret.JSON(`{"tester":{"prompt":"Test."}}`)
			s.Options.Gates = []terret.Gate{terret.GatePreTool, terret.GateStop}
		})},
		{"O24", team.Config{Cwd: "."}, with(func(s *terret.Session) { s.Cwd = here })},
		{"O24 none", team.Config{Cwd: "-"}, with(func(s *terret.Session) { s.Cwd = here })},
	} {
		f := newFixture(t, claude{mock.NewFunc("claude", func(terret.Session) mock.Script { return mock.Script{} })})
		if c.config.Cwd == "" {
			c.config.Cwd = dir
		}
		if c.config.Cwd == "-" {
			c.config.Cwd = ""
		}
		c.config.Name = "a"
		if c.config.Credentials == nil {
			c.config.Credentials = map[string]any{}
		}
		c.config.Credentials["mode"] = "client"
		p, err := f.providers.Get("sdk")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.CreateAgent(t.Context(), c.config); err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		page, err := f.store.ListSessions(t.Context(), terret.SessionFilter{})
		if err != nil || len(page.Items) != 1 {
			t.Fatal(c.id, page, err)
		}
		got := page.Items[0]
		got = terret.Session{
			Agent: got.Agent, Title: got.Title, Cwd: got.Cwd, Mode: got.Mode, Model: got.Model, Policy: got.Policy,
			PermissionMode: got.PermissionMode, Options: got.Options,
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.id, diff)
		}
	}
}

// plainDriver is a driver that says nothing about itself.
type plainDriver struct{ terret.Driver }

// TestDriverWithoutModes holds that an agent that has no mode acceptEdits is not given
// one: the policy holds it.
func TestDriverWithoutModes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, plainDriver{mock.New(mock.Script{})})
	f.agent("mock", client("a"))
	page, err := f.store.ListSessions(t.Context(), terret.SessionFilter{})
	if err != nil || page.Items[0].PermissionMode != "" || page.Items[0].Policy != terret.PolicyAcceptEdits {
		t.Errorf("%+v: %v", page.Items, err)
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.New(mock.Script{}))
	p, err := f.providers.Get("mock")
	if err != nil {
		t.Fatal(err)
	}
	for field, c := range map[string]team.Config{
		"name":                           {Name: "all"},
		"credentials.mode":               {Name: "a", Credentials: map[string]any{"mode": "fast"}},
		"credentials.modell":             {Name: "a", Credentials: map[string]any{"modell": "x"}},
		"credentials.agents":             {Name: "a", Credentials: map[string]any{"agents": "x"}},
		"credentials.hooks":              {Name: "a", Credentials: map[string]any{"hooks": []any{"permission"}}},
		"credentials.mcp_servers.db.env": {Name: "a", Credentials: map[string]any{"mcp_servers": map[string]any{"db": map[string]any{"env": map[string]any{"KEY": "secret"}}}}},
		"session":                        {Name: "a", Session: "../x"},
		"topics":                         {Name: "a", Topics: []string{"a b"}},
		"restart.policy":                 {Name: "a", Restart: team.Restart{Policy: "always"}},
		"restart":                        {Name: "a", Restart: team.Restart{Limit: -1}},
		"cwd":                            {Name: "a", Cwd: "/does/not/exist", Credentials: map[string]any{"mode": "client"}},
	} {
		if _, err := p.CreateAgent(t.Context(), c); terret.AsError(err) == nil || terret.AsError(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, name := range []string{"", "-x", "a b", "@bob", "#t", "bus", "ALL", "bob.", "a\nb"} {
		if _, err := p.CreateAgent(t.Context(), team.Config{Name: name}); !errors.Is(err, terret.ErrInvalid) {
			t.Errorf("name %q: %v", name, err)
		}
	}
}

// TestProviders is the set of providers: O6, O49, O60, O64, O77 and X27.
func TestProviders(t *testing.T) {
	t.Parallel()
	made := 0
	var p team.Providers
	p.Register("odd", func() team.Provider { made++; return team.FromDriver(team.Host{}, mock.New(mock.Script{}), "odd") })
	if made != 0 || !slices.Equal(p.Names(), []string{"odd"}) {
		t.Errorf("made %d, names %v", made, p.Names())
	}
	first, err := p.Get("odd")
	second, _ := p.Get("odd")
	if err != nil || first != second || made != 1 || first.Type() != "odd" {
		t.Errorf("%v %v: %v, made %d", first, second, err, made)
	}
	if _, err := p.Get("none"); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Error(err)
	}
	p.Fallback = func(name string) team.Provider {
		if name == "late" {
			return first
		}
		return nil
	}
	if late, err := p.Get("late"); err != nil || late != first {
		t.Error(late, err)
	}
	if _, err := p.Get("none"); terret.AsError(err).Code != terret.CodeAgentNotFound {
		t.Error(err)
	}
	all := team.FromDrivers(team.Host{}, []terret.Driver{claude{mock.NewFunc("claude", nil)}, mock.New(mock.Script{})})
	if diff := cmp.Diff([]string{"claude", "mock", "sdk"}, all.Names()); diff != "" {
		t.Error(diff)
	}
	sdk, err := all.Get("sdk")
	if err != nil || sdk.Type() != "sdk" {
		t.Error(sdk, err)
	}
}

// probing is a driver whose probe ends like that.
type probing struct {
	terret.Driver
	probe terret.Probe
	err   error
}

func (p probing) Probe(context.Context) (terret.Probe, error) { return p.probe, p.err }

// TestValidateCredentials is O8, O19 and O48.
func TestValidateCredentials(t *testing.T) {
	t.Parallel()
	d := &opened{Driver: mock.New(mock.Script{})}
	for _, c := range []struct {
		driver terret.Driver
		want   bool
	}{
		{probing{d, terret.Probe{Found: true, Auth: "ok"}, nil}, true},
		{probing{d, terret.Probe{Found: true, Auth: "unknown"}, nil}, true},
		{probing{d, terret.Probe{Found: true, Auth: "missing"}, nil}, false},
		{probing{d, terret.Probe{}, nil}, false},
		{probing{d, terret.Probe{Found: true}, errors.New("no")}, false},
		{plainDriver{d}, true},
	} {
		if got := team.FromDriver(team.Host{}, c.driver, "x").ValidateCredentials(t.Context()); got != c.want {
			t.Errorf("%+v: %v", c.driver, got)
		}
	}
	if len(d.requests()) != 0 {
		t.Error("a session was started")
	}
}

func TestMessageValidate(t *testing.T) {
	t.Parallel()
	good := team.NewMessage("a", "hi", "b")
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for field, change := range map[string]func(*team.Message){
		"id":           func(m *team.Message) { m.ID = "1" },
		"sender":       func(m *team.Message) { m.Sender = "" },
		"recipients":   func(m *team.Message) { m.Recipients = nil },
		"content":      func(m *team.Message) { m.Content = " \n" },
		"message_type": func(m *team.Message) { m.Type = "shout" },
		"timestamp":    func(m *team.Message) { m.Timestamp = team.Message{}.Timestamp },
	} {
		m := good
		change(&m)
		if err := m.Validate(); err == nil || terret.AsError(err).Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

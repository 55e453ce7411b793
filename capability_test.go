package terret_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// vocabularyCapabilities are the ones that are written down, oversight apart.
const vocabularyCapabilities = `undo redo commands permission_requests question_prompts model_selection reconnect
	partial_streaming steer queue fork fork_at hooks subagents mcp attachments structured_output budget one_shot multi_turn
	prewarm system_prompt plan_mode interrupt compact cost reasoning edited_input`

func TestAllCapabilities(t *testing.T) {
	var got []string
	for _, name := range terret.AllCapabilities() {
		got = append(got, string(name))
	}
	if diff := cmp.Diff(strings.Fields(vocabularyCapabilities), got); diff != "" {
		t.Errorf("-vocabulary +listed\n%s", diff)
	}
	for _, name := range declaredConstants(t, "Capability") {
		if !slices.Contains(got, name) && name != "oversight" {
			t.Errorf("AllCapabilities does not list %s", name)
		}
	}
}

func TestCapabilitiesJSON(t *testing.T) {
	some := terret.Capabilities{Oversight: terret.OversightAsked, Abilities: map[terret.Capability]terret.Ability{
		terret.CanFork:         {OK: true, By: terret.ByAgent},
		terret.CanUndo:         {OK: true, By: terret.ByHarness},
		terret.CanSteer:        {Reason: "one-shot agents take one prompt"},
		"from_another_version": {OK: true, By: terret.ByAgent},
	}}
	for name, c := range map[string]terret.Capabilities{"none": {}, "some": some} {
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			var fields map[string]terret.JSON
			if err := json.Unmarshal(b, &fields); err != nil {
				t.Fatal(err)
			}
			for _, name := range terret.AllCapabilities() {
				if _, ok := fields[string(name)]; !ok {
					t.Errorf("%s is not listed in %s", name, b)
				}
			}
			var again terret.Capabilities
			if err := json.Unmarshal(b, &again); err != nil {
				t.Fatal(err)
			}
			want := terret.Capabilities{Oversight: c.Oversight, Abilities: map[terret.Capability]terret.Ability{}}
			if want.Oversight == "" {
				want.Oversight = terret.OversightNone
			}
			for _, name := range terret.AllCapabilities() {
				want.Abilities[name] = terret.Ability{}
			}
			maps.Copy(want.Abilities, c.Abilities)
			if diff := cmp.Diff(want, again); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if twice, err := json.Marshal(again); string(twice) != string(b) || err != nil {
				t.Errorf("written again: %s, %v", twice, err)
			}
		})
	}
	b, err := json.Marshal(some.Abilities[terret.CanSteer])
	if want := `{"ok":false,"reason":"one-shot agents take one prompt"}`; string(b) != want || err != nil {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
	for _, in := range []string{`[]`, `{"fork":1}`, `{"fork":{"ok":"yes"}}`, `{"oversight":1}`} {
		var c terret.Capabilities
		if err := json.Unmarshal([]byte(in), &c); err == nil {
			t.Errorf("%s was taken for capabilities", in)
		}
	}
}

func TestCapabilitiesNeed(t *testing.T) {
	c := terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{
		terret.CanFork:  {OK: true, By: terret.ByAgent},
		terret.CanSteer: {Reason: "its protocol takes one prompt at a time"},
	}}
	if err := c.Need(terret.CanFork); err != nil || !c.Has(terret.CanFork) {
		t.Errorf("fork is there, and yet: %v", err)
	}
	for name, want := range map[terret.Capability]string{
		terret.CanSteer: "this agent has no steer: its protocol takes one prompt at a time",
		terret.CanUndo:  "this agent has no undo",
	} {
		err := c.Need(name)
		if err == nil || err.Error() != want || c.Has(name) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if !errors.Is(err, terret.ErrUnsupported) || terret.AsError(err).Code.Class().HTTP != 501 {
			t.Errorf("%s: %v is not unsupported (501)", name, err)
		}
	}
	if err := (terret.Capabilities{}).Need(terret.CanFork); !errors.Is(err, terret.ErrUnsupported) {
		t.Errorf("of the zero value: %v", err)
	}
}

// plainAgent has only the three verbs; ableAgent has all methods that stand for a
// capability.
type plainAgent struct{ declared terret.Capabilities }

func (plainAgent) Prompt(context.Context, string, terret.Prompt, terret.Settings) error { return nil }

func (plainAgent) Interrupt(context.Context, string) error { return nil }

func (plainAgent) Close(context.Context) error { return nil }

func (a plainAgent) Capabilities() terret.Capabilities { return a.declared }

type ableAgent struct{ plainAgent }

func (ableAgent) Steer(context.Context, string, terret.Prompt) error { return nil }

func (ableAgent) SetModel(context.Context, string) error { return nil }

func (ableAgent) Command(context.Context, string, string, string, terret.Settings) error { return nil }

func (ableAgent) Fork(context.Context, string) (nativeID string, err error) { return "", nil }

func (ableAgent) Compact(context.Context, string, string, terret.Settings) error { return nil }

func (ableAgent) Rewind(context.Context, string) error { return nil }

func (ableAgent) Forward(context.Context) error { return nil }

// needsMethod are the capabilities that a driver cannot have by declaring them.
var needsMethod = []terret.Capability{
	terret.CanSteer, terret.CanSelectModel, terret.CanCommands, terret.CanFork, terret.CanForkAt, terret.CanCompact, terret.CanUndo, terret.CanRedo,
}

// TestCapabilitiesOfMasks has an agent declare everything: what it has no method
// for is taken back, with a reason, unless the harness provides it.
func TestCapabilitiesOfMasks(t *testing.T) {
	everything := func(by terret.Provider) terret.Capabilities {
		c := terret.Capabilities{Oversight: terret.OversightAll, Abilities: map[terret.Capability]terret.Ability{}}
		for _, name := range terret.AllCapabilities() {
			c.Abilities[name] = terret.Ability{OK: true, By: by}
		}
		return c
	}
	declared := everything(terret.ByAgent)
	masked := everything(terret.ByAgent)
	for _, name := range needsMethod {
		masked.Abilities[name] = terret.Ability{Reason: "the driver does not implement it"}
	}
	absent := terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{terret.CanFork: {Reason: "this version cannot"}}}

	for name, test := range map[string]struct {
		agent terret.Agent
		want  terret.Capabilities
	}{
		"plain agent":         {plainAgent{declared}, masked},
		"able agent":          {ableAgent{plainAgent{declared}}, declared},
		"by the harness":      {plainAgent{everything(terret.ByHarness)}, everything(terret.ByHarness)},
		"keeps its reason":    {plainAgent{absent}, absent},
		"methods add nothing": {ableAgent{plainAgent{absent}}, absent},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, terret.CapabilitiesOf(test.agent)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(everything(terret.ByAgent), declared); diff != "" {
		t.Errorf("the agent's own table was changed\n%s", diff)
	}
	if c := terret.CapabilitiesOf(plainAgent{}); c.Has(terret.CanFork) || c.Oversight != "" {
		t.Errorf("an agent that declares nothing has %+v", c)
	}
}

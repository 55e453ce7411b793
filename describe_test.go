package terret_test

import (
	"context"
	"testing"

	"github.com/terret-dev/terret"
)

// named is a driver with a name and aliases.
type named struct {
	name    string
	aliases []string
}

func (n named) Name() string { return n.name }

func (n named) Open(context.Context, terret.OpenRequest) (terret.Agent, error) { return nil, nil }

func (n named) Describe() terret.Description { return terret.Description{Aliases: n.aliases} }

func TestAgentName(t *testing.T) {
	t.Parallel()
	drivers := []terret.Driver{named{"a", []string{"one", "b"}}, named{"b", []string{"two"}}}
	for name, want := range map[string]string{"a": "a", "one": "a", "two": "b", "b": "b", "none": "none", "": ""} {
		if got := terret.AgentName(drivers, name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestPolicyNamed(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]terret.Policy{
		"ask": terret.PolicyAsk, "auto-edit": terret.PolicyAcceptEdits, "Full auto": terret.PolicyAutoApprove, "full-auto": terret.PolicyAutoApprove,
		"accept-edits": terret.PolicyAcceptEdits, "Plan": terret.PolicyPlan, "nonsense": "nonsense", "": "",
	} {
		if got := terret.PolicyNamed(word); got != want {
			t.Errorf("%q is %q, want %q", word, got, want)
		}
	}
	for _, p := range terret.Policies() {
		if got := terret.PolicyNamed(p.Title()); got != p {
			t.Errorf("the title %q of %q is that of %q", p.Title(), p, got)
		}
	}
}

package terret_test

import (
	"strings"
	"testing"

	"github.com/terret-dev/terret"
)

// TestGates holds the lists to the constants, which TestConstantsOfTheVocabulary
// holds to what is written down.
func TestGates(t *testing.T) {
	t.Parallel()
	all := map[terret.Gate]bool{}
	for _, g := range terret.Gates() {
		all[g] = true
	}
	declared := declaredConstants(t, "Gate")
	for name, value := range declared {
		if !all[terret.Gate(value)] {
			t.Errorf("%s is not among the gates", name)
		}
	}
	if len(terret.Gates()) != len(declared) {
		t.Errorf("%d gates for %d constants", len(terret.Gates()), len(declared))
	}
}

func TestCheckGates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		gates  []terret.Gate
		limits map[terret.Gate]int
		want   string // in the error; empty: none
	}{
		"nothing":       {},
		"hooks":         {gates: terret.HookGates()},
		"always asked":  {gates: []terret.Gate{terret.GateStop, terret.GatePermission}, want: "always waits at permission"},
		"unknown gate":  {gates: []terret.Gate{"stopp"}, want: `no gate "stopp"; use pre_tool, prompt, stop, subagent_stop or compact`},
		"limits":        {limits: map[terret.Gate]int{terret.GateStop: 30, terret.GatePermission: 0}},
		"unknown limit": {limits: map[terret.Gate]int{"": 1}, want: `no gate ""`},
		"negative":      {limits: map[terret.Gate]int{terret.GateStop: -1}, want: "stop must not be negative"},
		"for ever":      {limits: map[terret.Gate]int{terret.GateStop: 1 << 40}, want: "longer than a year"},
	} {
		err := terret.CheckGates("field", c.gates)
		if err == nil {
			err = terret.CheckTimeouts("field", c.limits)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || terret.AsError(err).Field != "field"):
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

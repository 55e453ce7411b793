package drivertest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
)

// TestEveryCapabilityHasAScenario holds that nothing can be declared that is not
// shown.
func TestEveryCapabilityHasAScenario(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	shown := map[terret.Capability]bool{}
	for _, s := range scenarios() {
		if names[s.name] || s.name == "" || s.run == nil {
			t.Errorf("scenario %q is there twice, or empty", s.name)
		}
		names[s.name], shown[s.needs] = true, true
	}
	for _, c := range terret.AllCapabilities() {
		if !shown[c] {
			t.Errorf("no scenario shows %s", c)
		}
		delete(shown, c)
	}
	delete(shown, "")
	if len(shown) > 0 {
		t.Errorf("there are no capabilities %v", slices.Collect(maps.Keys(shown)))
	}
}

// TestParts holds that the parts of the suite name scenarios that exist, and grow.
func TestParts(t *testing.T) {
	t.Parallel()
	count := map[Part]int{}
	named := slices.Concat(core, wire)
	for _, s := range scenarios() {
		for _, p := range []Part{Everything, Wire, Core} {
			if p.includes(s.name) {
				count[p]++
			}
		}
		named = slices.DeleteFunc(named, func(name string) bool { return name == s.name })
	}
	if len(named) > 0 {
		t.Errorf("there are no scenarios %q", named)
	}
	if count[Core] != len(core) || count[Wire] != len(core)+len(wire) || count[Everything] != len(scenarios()) {
		t.Errorf("the parts have %v scenarios", count)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	cannot := func(Target) string { return "no such tool" }
	can := func(Target) string { return "" }
	for name, c := range map[string]struct {
		s       scenario
		ability terret.Ability
		want    plan
	}{
		"for everybody":               {scenario{}, terret.Ability{}, plan{cell: cell{mark: passed}}},
		"for everybody, not possible": {scenario{cannot: cannot}, terret.Ability{}, plan{cell: cell{lacking, "no such tool"}, skip: true}},
		"declared":                    {scenario{needs: "x", cannot: can}, terret.Ability{OK: true}, plan{cell: cell{mark: passed}}},
		"declared, not possible": {
			scenario{needs: "x", cannot: cannot},
			terret.Ability{OK: true},
			plan{cell: cell{mark: failed}, wrong: "x is declared, but cannot be shown: no such tool"},
		},
		"not declared":               {scenario{needs: "x"}, terret.Ability{}, plan{cell: cell{lacking, "not declared"}}},
		"not declared, with reason":  {scenario{needs: "x"}, terret.Ability{Reason: "not yet"}, plan{cell: cell{lacking, "not yet"}}},
		"not declared, not possible": {scenario{needs: "x", cannot: cannot}, terret.Ability{Reason: "not yet"}, plan{cell: cell{lacking, "not yet"}, skip: true}},
		"by the agent":               {scenario{needs: "x", byAgent: true}, terret.Ability{OK: true, By: terret.ByAgent}, plan{cell: cell{mark: passed}}},
		"by the driver":              {scenario{needs: "x", byAgent: true}, terret.Ability{OK: true, By: terret.ByDriver}, plan{cell: cell{mark: passed}}},
		"with another one": {
			scenario{needs: "x", also: []terret.Capability{"y"}},
			terret.Ability{OK: true},
			plan{cell: cell{lacking, "this agent has no y: why not"}, skip: true},
		},
		"overseen": {scenario{overseen: true}, terret.Ability{}, plan{cell: cell{lacking, "not every tool use passes us"}, skip: true}},
		"by the harness": {
			scenario{needs: "x", byAgent: true},
			terret.Ability{OK: true, By: terret.ByHarness},
			plan{cell: cell{lacking, "x is the harness's work, not the agent's"}, skip: true},
		},
	} {
		got := planOf(c.s, Target{}, terret.Capabilities{Abilities: map[terret.Capability]terret.Ability{"x": c.ability, "y": {Reason: "why not"}}})
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(plan{}, cell{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTry(t *testing.T) {
	t.Parallel()
	reached := false
	found := try(t, time.Second, func(test tb) {
		test.Errorf("one %d", 1)
		if !test.Failed() {
			t.Error("it has not failed")
		}
		test.Fatalf("two")
		reached = true
	})
	if diff := cmp.Diff([]string{"one 1", "two"}, found); diff != "" || reached {
		t.Errorf("%s, went on: %v", diff, reached)
	}
	if found := try(t, time.Second, func(tb) {}); found != nil {
		t.Errorf("%v", found)
	}
}

// TestSecondTry has the programs of others fail once, which they may, but not often.
func TestSecondTry(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	s := scenario{name: "shaky", run: func(f *fixture) {
		if waits = append(waits, f.patience); len(waits) == 1 {
			f.Fatalf("by chance")
		}
	}}
	r := &Result{target: Target{Name: "other", Program: "program"}}
	r.must(t, s, terret.Capabilities{})
	r.must(t, s, terret.Capabilities{})
	if diff := cmp.Diff([]time.Duration{patience, patience, patience}, waits); diff != "" || r.again != 1 {
		t.Errorf("%d second tries: %s", r.again, diff)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	full := func(name string) *Result {
		r := &Result{target: Target{Name: name, Version: "1.2.3"}, oversight: terret.OversightAll, cells: map[string]cell{}}
		for _, s := range scenarios() {
			r.set(s.name, cell{mark: passed})
		}
		return r
	}
	a, b := full("a"), full("b")
	a.set("hello", cell{lacking, "it is shy"})
	b.set("hello", cell{lacking, "it is shy"})
	a.set("probe", cell{lacking, "it is shy"})
	b.set("probe", cell{mark: failed})
	got, err := tableOf([]*Result{a, b})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n| a | 1.2.3 | all |\n", "\n| hello |  | – 1 | – 2 |\n", "\n| probe |  | – 1 | ✗ |\n",
		"\n| streaming | partial_streaming | ✓ | ✓ |\n", "\n1. a: it is shy\n2. b: it is shy\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	delete(b.cells, "probe")
	if _, err := tableOf([]*Result{a, b}); err == nil || !strings.Contains(err.Error(), "probe did not run on b") {
		t.Errorf("%v", err)
	}
	if _, err := tableOf([]*Result{a, nil}); err == nil {
		t.Error("an agent did not run")
	}
}

func TestMCPServer(t *testing.T) {
	t.Parallel()
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":"b","method":"tools/list"}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"repeat","arguments":{"word":"x"}}}
{"jsonrpc":"2.0","id":4,"method":"nonsense"}
`
	var out bytes.Buffer
	if err := serveMCP(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID     json.RawMessage
			Result struct {
				ProtocolVersion string
				Tools           []struct{ Name string }
				Content         []struct{ Text string }
			}
			Error struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal([]any{m.ID, m.Result, m.Error.Code})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	want := []string{
		`[1,{"ProtocolVersion":"2025-11-25","Tools":null,"Content":null},0]`,
		`["b",{"ProtocolVersion":"","Tools":[{"Name":"repeat"}],"Content":null},0]`,
		`[3,{"ProtocolVersion":"","Tools":null,"Content":[{"Text":"the parrot says x"}]},0]`,
		`[4,{"ProtocolVersion":"","Tools":null,"Content":null},-32601]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := serveMCP(strings.NewReader("{"), &out); err == nil {
		t.Error("half a message was read")
	}
}

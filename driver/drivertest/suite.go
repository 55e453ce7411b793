package drivertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/terret-dev/terret"
)

// scenario is one thing that users do, or that befalls them.
type scenario struct {
	name string // as in the table and in the names of tests
	// needs is the capability that it shows; without one every agent must pass.
	needs terret.Capability
	// also are capabilities that it makes use of: without them it is not tried.
	also []terret.Capability
	// overseen says that it needs an agent of which every tool use passes us.
	overseen bool
	// byAgent says that it is about what the agent itself, or its driver with it, does
	// for the capability.
	byAgent bool
	// cannot says why it cannot be tried on the target; empty if it can.
	cannot func(Target) string
	run    func(*fixture)
}

// scenarios are all of them, in the order of the table.
func scenarios() []scenario {
	return slices.Concat(talking, tooling, lists, asking, gating, stopping, keeping, changing, troubles, limits, processes)
}

// mark is how a scenario went.
type mark string

// How a scenario went.
const (
	passed  mark = "✓"
	lacking mark = "–"
	failed  mark = "✗"
)

// cell is how a scenario went on a target. Reason is why it is lacking.
type cell struct {
	mark   mark
	reason string
}

// Result is how the suite went on a target. It is complete when the test that ran
// the suite is over.
type Result struct {
	target    Target
	mu        sync.Mutex
	oversight terret.Oversight
	cells     map[string]cell
	again     int // scenarios that were tried a second time
}

func (r *Result) set(name string, c cell) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cells[name] = c
}

// Run runs the suite on the target. Its scenarios are parallel subtests.
func Run(t *testing.T, target Target) *Result {
	t.Helper()
	r := &Result{target: target, cells: map[string]cell{}}
	declared := r.introduce(t)
	for _, s := range scenarios() {
		t.Run(strings.ReplaceAll(s.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			r.play(t, s, declared)
		})
	}
	return r
}

// introduce lets the agent say what it can. It says so truly only once it has
// introduced itself.
func (r *Result) introduce(t *testing.T) terret.Capabilities {
	t.Helper()
	f := newFixture(t, t, r.target, terret.Capabilities{})
	defer f.finish()
	f.play(step{User: "who are you", Text: "I am scripted."})
	f.says(f.session(), "who are you", "I am scripted.")
	agent := f.spy.last()
	if agent == nil {
		t.Fatal("no agent was opened")
	}
	declared := terret.CapabilitiesOf(agent)
	r.oversight = declared.Oversight
	for name, ability := range declared.Abilities {
		if ability.OK && !slices.ContainsFunc(scenarios(), func(s scenario) bool { return s.needs == name }) {
			t.Errorf("%s is declared, but no scenario shows it", name)
		}
	}
	return declared
}

// play runs one scenario, or tries it if it should not work.
func (r *Result) play(t *testing.T, s scenario, declared terret.Capabilities) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			r.set(s.name, cell{mark: failed})
		}
	})
	p := planOf(s, r.target, declared)
	r.set(s.name, p.cell)
	switch {
	case p.wrong != "":
		t.Error(p.wrong)
	case p.skip, !r.target.Part.includes(s.name):
	case p.cell.mark == passed:
		r.must(t, s, declared)
	default:
		found := try(t, trialPatience, func(test tb) {
			f := newFixture(t, test, r.target, declared)
			defer f.finish()
			s.run(f)
		})
		if len(found) == 0 {
			t.Errorf("it works, though the agent does not declare %s (it says: %s)", s.needs, p.cell.reason)
		} else {
			t.Logf("as declared, it does not work: %s", found[0])
		}
	}
}

// secondTries is how many scenarios may be tried again on one agent. More than that is
// no accident.
const secondTries = 3

// must runs a scenario that has to pass. The programs of others are not ours to make
// steady: on a busy machine one of them times out, or says two things in another order.
// So they get a second try, which the log tells of. What must be true after every
// scenario gets none, see finish.
func (r *Result) must(t *testing.T, s scenario, declared terret.Capabilities) {
	t.Helper()
	run := func(test tb) {
		f := newFixture(t, test, r.target, declared)
		defer f.finish()
		s.run(f)
	}
	if r.target.Program == "" {
		run(t)
		return
	}
	found := try(t, patience, run)
	if len(found) == 0 {
		return
	}
	r.mu.Lock()
	r.again++
	again := r.again <= secondTries
	r.mu.Unlock()
	if !again || t.Failed() {
		t.Error(strings.Join(found, "\n"))
		return
	}
	t.Logf("SECOND TRY of %s on %s: %s", s.name, r.target.Name, strings.Join(found, "\n"))
	run(t)
}

// plan is what to do about a scenario: its cell if all goes well, and whether there
// is nothing to run. Wrong says that the declaration cannot be true.
type plan struct {
	cell  cell
	skip  bool
	wrong string
}

func planOf(s scenario, target Target, declared terret.Capabilities) plan {
	ability := declared.Abilities[s.needs]
	ok := s.needs == "" || ability.OK
	why := ability.Reason
	if why == "" {
		why = "not declared"
	}
	cannot := ""
	if s.cannot != nil {
		cannot = s.cannot(target)
	}
	for _, name := range s.also {
		if ok && !declared.Has(name) {
			return plan{cell: cell{lacking, declared.Need(name).Error()}, skip: true}
		}
	}
	switch {
	case s.overseen && declared.Oversight != terret.OversightAll:
		return plan{cell: cell{lacking, "not every tool use passes us"}, skip: true}
	case s.byAgent && ok && ability.By == terret.ByHarness:
		return plan{cell: cell{lacking, fmt.Sprintf("%s is the harness's work, not the agent's", s.needs)}, skip: true}
	case ok && cannot != "" && s.needs != "":
		return plan{cell: cell{mark: failed}, wrong: fmt.Sprintf("%s is declared, but cannot be shown: %s", s.needs, cannot)}
	case ok && cannot != "":
		return plan{cell: cell{lacking, cannot}, skip: true}
	case ok:
		return plan{cell: cell{mark: passed}}
	default:
		return plan{cell: cell{lacking, why}, skip: cannot != ""}
	}
}

package engine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/mock"
)

func used(in, out int64, cost terret.Cost) mock.Step {
	return mock.Step{Usage: &terret.UsageUpdate{Usage: terret.Usage{Input: in, Output: out}, CostUSD: cost}}
}

// What turns cost adds up to what the session and the day cost; updates tell the
// session's totals.
func TestUsage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{
		{used(1, 2, terret.USD), used(10, 20, 2*terret.USD), {Text: "a"}},
		{used(5, 5, terret.USD/4), {Fail: terret.Errorf(terret.CodeModelError, "no")}},
	}})
	id := f.session()
	f.run(id, "1")
	f.run(id, "2")
	f.close()
	events := f.log(id)
	want := []terret.UsageUpdate{
		{Usage: terret.Usage{Input: 1, Output: 2}, CostUSD: terret.USD},
		{Usage: terret.Usage{Input: 10, Output: 20}, CostUSD: 2 * terret.USD},
		{Usage: terret.Usage{Input: 15, Output: 25}, CostUSD: 2*terret.USD + terret.USD/4},
	}
	if diff := cmp.Diff(want, all[terret.UsageUpdate](events)); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
	if c := last[terret.TurnComplete](t, events); c.Usage.Input != 10 || c.CostUSD != 2*terret.USD {
		t.Errorf("first turn: %+v", c)
	}
	if c := last[terret.TurnError](t, events); c.Usage.Input != 5 || c.CostUSD != terret.USD/4 {
		t.Errorf("second turn: %+v", c)
	}
	days, err := f.store.UsageBy(t.Context(), "day", terret.Time{}, terret.Time{})
	if err != nil || len(days) != 1 || days[0].Turns != 2 || days[0].CostUSD != 2*terret.USD+terret.USD/4 {
		t.Errorf("days %+v, %v", days, err)
	}
	checkLog(t, f.store, id)
}

// A turn whose driver reports no totals at its end costs what it last said.
func TestUsageOfAnInterruptedTurn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{{used(7, 7, terret.USD), {Crash: true}}}})
	id := f.session()
	f.run(id, "1")
	f.close()
	if s := f.stored(id); s.Usage.Input != 7 || s.CostUSD != terret.USD {
		t.Errorf("session used %+v, %s", s.Usage, s.CostUSD)
	}
	checkLog(t, f.store, id)
}

func TestMaxCost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{
		{used(1, 1, terret.USD/2), {Text: "fine"}},
		{used(1, 1, terret.USD/2), {Text: "over"}, {Hang: true}},
	}})
	id := f.session(func(s *terret.Session) { s.Options.MaxCostUSD = terret.USD })
	f.run(id, "1")
	during := last[terret.TurnError](t, f.run(id, "2"))
	if during.Error.Code != terret.CodeMaxBudget || during.CostUSD != terret.USD/2 {
		t.Errorf("over the budget in mid-turn: %+v", during)
	}
	if len(all[terret.SessionStateChange](f.log(id))) == 0 || f.stored(id).CostUSD != terret.USD {
		t.Errorf("cost %s", f.stored(id).CostUSD)
	}
	before := f.run(id, "3")
	if e := last[terret.TurnError](t, before); e.Error.Code != terret.CodeMaxBudget {
		t.Errorf("over the budget before the turn: %+v", e)
	}
	if n := len(all[terret.MessageComplete](before)); n != 0 {
		t.Error("the agent was prompted all the same")
	}
	f.close()
	checkLog(t, f.store, id)
}

func TestMaxTurns(t *testing.T) {
	t.Parallel()
	steps := []mock.Step{{Text: "1"}, {Text: "2"}, {Text: "3"}, {Hang: true}}
	f := newFixture(t, mock.Script{Turns: [][]mock.Step{steps}})
	id := f.session(func(s *terret.Session) { s.Options.MaxTurns = 2 })
	events := f.run(id, "go")
	if e := last[terret.TurnError](t, events); e.Error.Code != terret.CodeMaxTurns {
		t.Errorf("end %+v", e)
	}
	f.until(id, 0, isState(terret.SessionInterrupting))
	if d := last[terret.TurnError](t, events).DurationMS; d < 0 || time.Duration(d)*time.Millisecond > patience {
		t.Errorf("duration %d", d)
	}
}

package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/terret-dev/terret"
)

// checkLog holds what must be true of every session at rest, whatever happened.
func checkLog(t *testing.T, s Store, session string) {
	t.Helper()
	events := readLog(t, s, session)
	for _, problem := range problems(events) {
		t.Errorf("session %s: %s\n%s", session, problem, dump(events))
		return
	}
	checkTables(t, s, session, events)
}

func problems(events []terret.Event) []string {
	c := checker{ended: map[string]bool{}, asked: map[string]terret.Event{}, decided: map[string]int{}, turnOf: map[string]string{}}
	for i, ev := range events {
		if ev.Seq != int64(i+1) {
			c.say("event %d where %d should be", ev.Seq, i+1)
		}
		c.event(ev)
	}
	if c.running != "" {
		c.say("turn %s never ended", c.running)
	}
	for id := range c.asked {
		if c.decided[id] != 1 {
			c.say("request %s has %d decisions", id, c.decided[id])
		}
	}
	for id, n := range c.decided {
		if _, ok := c.asked[id]; !ok {
			c.say("%d decisions of %s, which was never asked", n, id)
		}
	}
	if c.state.Working() || c.state == terret.SessionStarting {
		c.say("at rest the session is %s", c.state)
	}
	return c.found
}

type checker struct {
	running string
	ended   map[string]bool
	asked   map[string]terret.Event
	decided map[string]int
	turnOf  map[string]string
	state   terret.SessionState
	found   []string
}

func (c *checker) say(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

func (c *checker) event(ev terret.Event) {
	if _, ok := ev.Data.(terret.TurnStart); ok {
		if c.running != "" || c.ended[ev.Turn] || ev.Turn == "" {
			c.say("event %d starts turn %q while %q runs", ev.Seq, ev.Turn, c.running)
		}
		c.running = ev.Turn
	}
	if ev.Turn != "" && ev.Turn != c.running {
		c.say("event %d (%s) is of turn %s, while %q runs", ev.Seq, ev.Kind(), ev.Turn, c.running)
	}
	if ev.Expects != nil {
		c.asked[ev.Expects.RequestID] = ev
		c.turnOf[ev.Expects.RequestID] = ev.Turn
	}
	if d, ok := decisionOf(ev); ok {
		c.decided[d.RequestID]++
		if of := c.turnOf[d.RequestID]; of != "" && of != ev.Turn {
			c.say("event %d decides a request of turn %s, in %q", ev.Seq, of, ev.Turn)
		}
	}
	if d, ok := ev.Data.(terret.SessionStateChange); ok {
		if d.State == c.state {
			c.say("event %d says %s again", ev.Seq, d.State)
		}
		c.state = d.State
	}
	if turnEnd(ev) {
		if ev.Turn == "" {
			c.say("event %d ends no turn", ev.Seq)
		}
		c.ended[ev.Turn], c.running = true, ""
	}
}

func decisionOf(ev terret.Event) (terret.Decision, bool) {
	switch d := ev.Data.(type) {
	case terret.PermissionDecision:
		return d.Decision, true
	case terret.QuestionDecision:
		return d.Decision, true
	case terret.PlanDecision:
		return d.Decision, true
	case terret.StopDecision:
		return d.Decision, true
	case terret.HookDecision:
		return d.Decision, true
	}
	return terret.Decision{}, false
}

// checkTables compares what lists show with the log.
func checkTables(t *testing.T, s Store, session string, events []terret.Event) {
	t.Helper()
	ctx := context.Background()
	row, err := s.Session(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	if row.Turn != "" || row.OpenRequests != 0 || row.Owner != "" {
		t.Errorf("session %s at rest: turn %q, %d open requests, owner %q\n%s", session, row.Turn, row.OpenRequests, row.Owner, dump(events))
	}
	var usage terret.Usage
	var cost terret.Cost
	for _, ev := range events {
		switch d := ev.Data.(type) {
		case terret.TurnComplete:
			usage, cost = usage.Add(d.Usage), cost+d.CostUSD
		case terret.TurnError:
			usage, cost = usage.Add(d.Usage), cost+d.CostUSD
		}
	}
	if row.Usage != usage || row.CostUSD != cost {
		t.Errorf("session %s used %v, %s; its turns %v, %s", session, row.Usage, row.CostUSD, usage, cost)
	}
	turns, err := s.Turns(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		if !turn.State.Ended() {
			t.Errorf("turn %s is %s", turn.ID, turn.State)
		}
	}
	if findings, err := s.Check(ctx); err != nil || len(findings) > 0 {
		t.Errorf("store: %v, %v", findings, err)
	}
}

// dump shows a log to whoever must find out what went wrong.
func dump(events []terret.Event) string {
	out := ""
	for _, ev := range events {
		body, _ := ev.MarshalJSON()
		if len(body) > 400 {
			body = body[:400]
		}
		out += string(body) + "\n"
	}
	return out
}

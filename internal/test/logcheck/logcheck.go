// Package logcheck reports what is wrong with a session's log. The engine and driver
// suites use it after each scenario.
package logcheck

import (
	"fmt"

	"github.com/terret-dev/terret"
)

// Problems lists what is wrong with the complete log of a session at rest: a gap in the
// numbers, a turn or a request without exactly one end, an event outside its turn, an
// unknown kind, or a state that says that something is still going on.
func Problems(events []terret.Event) []string {
	c := checker{ended: map[string]bool{}, asked: map[string]string{}, decided: map[string]int{}}
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
		if n := c.decided[id]; n != 1 {
			c.say("request %s has %d decisions", id, n)
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
	asked   map[string]string // requests, and their turns
	decided map[string]int
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
		c.asked[ev.Expects.RequestID] = ev.Turn
	}
	if d, ok := terret.DecisionOf(ev.Data); ok {
		c.decided[d.RequestID]++
		if of := c.asked[d.RequestID]; of != "" && of != ev.Turn {
			c.say("event %d decides a request of turn %s, in %q", ev.Seq, of, ev.Turn)
		}
	}
	switch d := ev.Data.(type) {
	case terret.SessionStateChange:
		if d.State == c.state {
			c.say("event %d says %s again", ev.Seq, d.State)
		}
		c.state = d.State
	case terret.Opaque:
		c.say("event %d is of a kind that is not known: %s", ev.Seq, d.Name)
	}
	if ev.Kind().EndsTurn() {
		if ev.Turn == "" {
			c.say("event %d ends no turn", ev.Seq)
		}
		c.ended[ev.Turn], c.running = true, ""
	}
}

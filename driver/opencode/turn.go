package opencode

import (
	"maps"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// turn is what has happened in the running turn.
type turn struct {
	id    string
	began time.Time
	users []string // messages of ours, and those that the agent writes to itself
	// lastID is the agent's last message of its own.
	lastID string

	usage   terret.Usage
	cost    terret.Cost
	context int64
	steps   int
	text    string
	denials []terret.Denial

	compacting bool
	summary    string

	failure     *failure      // that the agent tells
	gaveUp      *terret.Error // why we ended it
	interrupted bool          // somebody wants it to end
	retried     status        // last
	waited      time.Duration // for retries
}

// begin begins a turn.
func (t *translator) begin(id string, now time.Time) {
	t.turn = &turn{id: id, began: now}
}

// retract takes back a turn that the agent did not take.
func (t *translator) retract() {
	t.turn = nil
	t.clear()
}

// settled reports whether all that the agent has begun in the turn is done, and
// answered whether the last that was said to it is.
func (t *translator) settled() (settled, answered bool) {
	u := t.turn
	m := t.messages[u.lastID]
	if m == nil {
		return false, false
	}
	settled = m.told
	for _, c := range t.calls {
		settled = settled && (c.ended || c.name == "")
	}
	last := ""
	for _, id := range u.users {
		last = max(last, id)
	}
	return settled, settled && !u.compacting && m.info.ParentID >= last && m.info.Finish != "tool-calls" && m.info.Finish != "unknown" && m.info.Finish != ""
}

// status takes in what a session does.
func (t *translator) status(d statusEvent) {
	if d.SessionID != t.opts.native || t.turn == nil || d.Status.Type != "retry" || d.Status.Attempt <= t.turn.retried.Attempt {
		return
	}
	delay := max(milliseconds(d.Status.Next).Sub(t.now), 0)
	t.turn.retried = d.Status
	t.turn.waited += delay
	t.emit("", "", terret.Retry{Attempt: d.Status.Attempt, DelayMS: delay.Milliseconds(), Error: brief.Cut(d.Status.Message, diagLimit)})
}

// failed takes in that something went wrong. The same fault may be told twice, the
// second time with less.
func (t *translator) failed(d errorEvent) {
	if t.turn == nil || d.SessionID != t.opts.native || d.Error == nil {
		return
	}
	if t.turn.failure == nil {
		t.turn.failure = d.Error
	}
}

// compacted takes in that the context was compressed.
func (t *translator) compacted(d subject) {
	if t.turn == nil || d.SessionID != t.opts.native {
		return
	}
	t.turn.compacting = false
	t.emit("", "", terret.CompactPost{Summary: t.turn.summary})
}

// end tells the end of the turn, and before it the ends of all that ends with it. An
// error, if there is one, is why it ends before the agent says so.
func (t *translator) end(why *terret.Error, now time.Time) []terret.Event {
	t.start("", nil, now)
	u := t.turn
	if u == nil {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(t.messages)) {
		t.complete(t.messages[id])
	}
	t.breakOff()
	if why == nil {
		why = t.failure()
	}
	if u.compacting && why == nil {
		t.compacted(subject{t.opts.native})
	}
	took := now.Sub(u.began).Milliseconds()
	if why != nil {
		t.emit("", "", terret.TurnError{Error: *why, Text: u.text, Usage: u.usage, CostUSD: u.cost, DurationMS: took, Denials: u.denials})
	} else {
		done := terret.TurnComplete{Text: u.text, Usage: u.usage, CostUSD: u.cost, DurationMS: took, NumSteps: u.steps, Denials: u.denials}
		if m := t.messages[u.lastID]; m != nil {
			done.StopReason = stopReason(m.info.Finish)
			if len(m.info.Structured) > 0 && string(m.info.Structured) != "null" {
				done.Structured = terret.JSON(m.info.Structured)
			}
		}
		t.emit("", "", done)
	}
	for id, m := range t.messages {
		if m.actor == "" {
			t.horizon = max(t.horizon, id)
		}
	}
	t.turn = nil
	t.clear()
	return t.take()
}

// stopReason is why the model stopped, in the words that most agents use.
func stopReason(finish string) string {
	switch finish {
	case "stop":
		return "end_turn"
	case "tool-calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	}
	return finish
}

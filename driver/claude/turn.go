package claude

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

// turn is what has happened since the last turn ended.
type turn struct {
	prompts   []prompt // written but not answered yet
	known     map[string]bool
	open      bool // something that belongs to a turn was said
	root      bool // by the agent itself
	malformed int  // unreadable lines

	failure string // the agent's word for the error it met
	refusal string // why the model refused
	reasons map[string]string

	// From results that did not end the turn.
	usage    terret.Usage
	cost     terret.Cost
	apiMS    int64
	duration int64
	steps    int
	denials  []terret.Denial
	held     terret.Data // the end that is held back
	answered bool        // one of them answered a prompt

	estimate terret.Usage // of the messages since the last result
}

// prompt is a message of ours in progress.
type prompt struct {
	uuid, text string
	taken      bool // the agent works on it
	late       bool // its turn is over
}

func newTurn() turn { return turn{known: map[string]bool{}, reasons: map[string]string{}} }

// spending is what the process had used by its last result, and the state of the
// model's context.
type spending struct {
	cost       terret.Cost
	usage      terret.Usage
	apiMS      int64
	context    int64
	contextMax int64
}

// prompted records that a message was written to the agent, with its uuid and its text.
func (t *translator) prompted(uuid, text string) {
	t.turn.prompts = append(t.turn.prompts, prompt{uuid: uuid, text: text})
	if uuid != "" {
		t.turn.known[uuid] = true
	}
}

// retracted records that an announced message was not written.
func (t *translator) retracted(uuid string) {
	t.turn.prompts = slices.DeleteFunc(t.turn.prompts, func(p prompt) bool { return p.uuid == uuid })
}

// busy reports whether the agent is working, or about to.
func (t *translator) busy() bool { return t.turn.open || t.turn.asked() }

// queued lists the messages that the agent has not started on, except the one that the
// turn began with.
func (u *turn) queued() []string {
	var out []string
	first := true
	for _, p := range u.prompts {
		if p.late {
			continue
		}
		if !first && !p.taken && p.uuid != "" {
			out = append(out, p.uuid)
		}
		first = false
	}
	return out
}

// takeUp records that the agent works on a prompt.
func (u *turn) takeUp(uuid string) bool {
	for i := range u.prompts {
		if p := &u.prompts[i]; p.uuid == uuid && uuid != "" {
			p.taken = true
			return true
		}
	}
	return false
}

// replayed records that the agent has repeated a prompt, and reports whether it is one
// of ours.
func (u *turn) replayed(uuid string) bool {
	if u.takeUp(uuid) || u.known[uuid] {
		return true
	}
	for i := range u.prompts {
		if p := &u.prompts[i]; p.uuid == "" && !p.taken {
			p.taken = true
			return true
		}
	}
	return false
}

// text is the prompt of the running turn.
func (u *turn) text() string {
	for _, p := range u.prompts {
		if !p.late {
			return p.text
		}
	}
	return ""
}

// asked reports whether a prompt waits for its answer.
func (u *turn) asked() bool {
	return slices.ContainsFunc(u.prompts, func(p prompt) bool { return !p.late })
}

// answers removes the prompts that a result answers, and reports whether the turn is
// over.
func (u *turn) answers(r *resultMessage, replay bool) (over bool) {
	for _, uuid := range r.UserMessageUUIDs {
		u.takeUp(uuid)
	}
	waiting := func(p prompt) bool { return !p.late }
	background := r.Origin.Kind != "" && r.Origin.Kind != "human"
	sure := replay || len(r.UserMessageUUIDs) > 0
	taken := func(p prompt) bool { return p.taken || !background && (!sure || p.uuid == "") }
	mine := func(p prompt) bool { return waiting(p) && taken(p) }
	u.answered = u.answered || slices.ContainsFunc(u.prompts, mine)
	if slices.ContainsFunc(u.prompts, waiting) && !slices.ContainsFunc(u.prompts, mine) {
		if background || slices.ContainsFunc(u.prompts, taken) {
			u.prompts = slices.DeleteFunc(u.prompts, taken)
			return false // it is background work, and ours is still to come
		}
		u.prompts = nil // it did not say so, but it can be nothing else
	}
	u.prompts = slices.DeleteFunc(u.prompts, taken)
	return r.IsError || !slices.ContainsFunc(u.prompts, waiting)
}

// usageSoFar is the turn's usage so far.
func (t *translator) usageSoFar() terret.UsageUpdate {
	return terret.UsageUpdate{
		Usage: t.turn.usage.Add(t.turn.estimate), CostUSD: t.turn.cost,
		ContextUsed: t.spent.context, ContextMax: t.spent.contextMax,
	}
}

// result handles the end of a turn of the agent.
func (t *translator) result(r *resultMessage) {
	if s := t.speakers[""]; s != nil {
		t.completeMessage("", s)
	}
	r.Errors = slices.DeleteFunc(r.Errors, func(e string) bool {
		ours := !strings.HasPrefix(e, "[ede_diagnostic]")
		if !ours { // it is for the agent's makers
			t.emit(terret.DiagStderr{Text: brief.Cut(e, diagLimit)})
		}
		return !ours
	})
	t.spend(r)
	over := t.turn.answers(r, t.opts.replay)
	t.emit(t.usageSoFar())
	u := &t.turn
	u.duration += r.DurationMS
	u.steps += r.NumTurns
	for _, d := range r.PermissionDenials {
		u.denials = append(u.denials, terret.Denial{
			ToolID: d.ToolUseID, Tool: d.ToolName, Input: terret.JSON(d.ToolInput), Reason: brief.Cut(u.reasons[d.ToolUseID], diagLimit),
		})
	}
	end := t.endOf(r)
	if !over {
		u.held, u.failure, u.refusal = end, "", ""
		return
	}
	t.endTurn(end)
}

// spend adds to the turn what a result says about the process's cost so far.
func (t *translator) spend(r *resultMessage) {
	s, u := &t.spent, &t.turn
	total := terret.CostOf(max(r.TotalCostUSD, 0))
	if total < s.cost {
		s.cost = 0 // it restarted its count
	}
	cost := total - s.cost
	if r.SinceLast != nil {
		cost = 0
		for _, m := range r.SinceLast {
			cost += terret.CostOf(max(m.CostUSD, 0))
		}
	}
	u.cost += cost
	s.cost = total
	if r.DurationAPIMS < s.apiMS {
		s.apiMS = 0
	}
	took := r.DurationAPIMS - s.apiMS
	if r.SinceLast != nil && cost < total && s.apiMS == 0 { // some of it belongs to another process
		took = min(took, r.DurationMS)
	}
	u.apiMS += took
	s.apiMS = r.DurationAPIMS

	used := t.tokens(r)
	if r.TerminalReason == "aborted_streaming" { // it does not count what broke off
		e := u.estimate
		used = terret.Usage{
			Input: max(used.Input, e.Input), Output: max(used.Output, e.Output), CacheRead: max(used.CacheRead, e.CacheRead),
			CacheWrite: max(used.CacheWrite, e.CacheWrite), Reasoning: max(used.Reasoning, e.Reasoning),
		}
	}
	u.usage, u.estimate = u.usage.Add(used), terret.Usage{}
}

// tokens is the usage since the last result, including subagents.
func (t *translator) tokens(r *resultMessage) terret.Usage {
	if len(r.ModelUsage) == 0 {
		return r.Usage.usage()
	}
	s := &t.spent
	sum := tokensOf(r.ModelUsage)
	if m := r.ModelUsage[t.session.model]; m.ContextWindow > 0 {
		s.contextMax = m.ContextWindow
	}
	used := sum.Sub(s.usage)
	if r.SinceLast != nil {
		used = tokensOf(r.SinceLast)
	}
	if used.Input < 0 || used.Output < 0 || used.CacheRead < 0 || used.CacheWrite < 0 || used.Reasoning < 0 {
		used = sum
	}
	s.usage = sum
	return used
}

func tokensOf(models map[string]modelUsage) (sum terret.Usage) {
	for _, m := range models {
		sum = sum.Add(terret.Usage{
			Input: m.InputTokens, Output: m.OutputTokens, CacheRead: m.CacheReadInputTokens,
			CacheWrite: m.CacheCreationInputTokens, Reasoning: m.ThinkingTokens,
		})
	}
	return sum
}

// endOf is the end of the turn that a result reports.
func (t *translator) endOf(r *resultMessage) terret.Data {
	u := &t.turn
	if err := t.failureOf(r); err != nil {
		errs := r.Errors
		if r.Result != "" && r.Result != err.Message {
			errs = append(errs, r.Result)
		}
		return terret.TurnError{
			Error: *err, Errors: errs, Text: t.said(), Usage: u.usage, CostUSD: u.cost, DurationMS: u.duration, Denials: u.denials,
		}
	}
	stop := r.StopReason
	if r.TerminalReason != "" && r.TerminalReason != "completed" {
		stop = r.TerminalReason
	}
	structured := terret.JSON(r.StructuredOutput)
	if string(structured) == "null" {
		structured = nil
	}
	return terret.TurnComplete{
		Text: r.Result, StopReason: stop, Usage: u.usage, CostUSD: u.cost, DurationMS: u.duration, APIMS: u.apiMS,
		NumSteps: u.steps, Denials: u.denials, Structured: structured,
	}
}

// said is what the agent last said in this turn.
func (t *translator) said() string {
	if s := t.speakers[""]; s != nil {
		return s.said
	}
	return ""
}

// endTurn reports the end of the turn, after the end of everything that ends with it.
func (t *translator) endTurn(end terret.Data) {
	why := "the turn ended before the tool did"
	d, _ := end.(terret.TurnComplete)
	deferred := d.StopReason == "tool_deferred"
	if deferred {
		why = "deferred"
	}
	t.breakOff(why, deferred)
	t.endCompaction("")
	t.emitBy("", "", "", end)
	known, prompts := t.turn.known, t.turn.prompts
	for i := range prompts {
		prompts[i].late = true // it must not hold back the end of another turn
	}
	t.turn = newTurn()
	t.turn.known, t.turn.prompts = known, prompts
	clear(t.finished)
	if s := t.speakers[""]; s != nil {
		clear(s.complete)
		s.said = ""
	}
}

// release ends a turn whose end was held back, if there is one: the agent says that it
// has nothing more to do. That does not count while it has not read the prompt, and has
// only ended background work.
func (t *translator) release() {
	if t.turn.held != nil && (t.turn.answered || !t.turn.asked()) {
		t.endTurn(t.turn.held)
	}
}

// abandon reports the end of everything that a process leaves behind. The error is that
// of the turn, if one is running.
func (t *translator) abandon(why terret.Error, now time.Time) []terret.Event {
	t.begin(nil, now)
	for _, actor := range sortedKeys(t.speakers) {
		t.completeMessage(actor, t.speakers[actor])
	}
	for _, id := range sortedKeys(t.tasks) {
		t.endTask(t.tasks[id], &taskMessage{Status: "lost"})
	}
	running := t.busy()
	t.turn.prompts = nil
	clear(t.asked)
	if running {
		if n := t.turn.malformed; n > 0 && why.Code == terret.CodeProcessFailed && why.Signal == "" {
			why.Code = terret.CodeMalformedOutput
			why.Message = fmt.Sprintf("%s; lines before that which could not be read: %d", why.Message, n)
		}
		end := terret.Data(terret.TurnError{
			Error: why, Text: t.said(), Usage: t.turn.usage.Add(t.turn.estimate), CostUSD: t.turn.cost,
			DurationMS: t.turn.duration, Denials: t.turn.denials,
		})
		if t.turn.held != nil {
			end = t.turn.held
		}
		t.endTurn(end)
	}
	events, _ := t.take()
	return events
}

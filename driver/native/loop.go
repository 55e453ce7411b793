package native

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/terret-dev/terret"
)

// defaultSteps bounds how often the model is called in one turn.
const defaultSteps = 100

// newTurn prepares a turn.
func (a *agent) newTurn(id string, in terret.Settings) (*turnRun, error) {
	t := &turnRun{a: a, id: id, limit: defaultSteps, settings: in, mode: in.PermissionMode}
	if in.MaxTurns > 0 {
		t.limit = in.MaxTurns
	}
	var err error
	if in.Model != "" {
		if t.own, err = a.driver.choose(in.Model, in); err != nil {
			return nil, err
		}
	}
	if len(in.OutputSchema) > 0 {
		if t.format, err = newFormat(in.OutputSchema); err != nil {
			return nil, err
		}
	}
	if t.helpers, err = a.helpers(in); err != nil {
		return nil, err
	}
	t.tools = t.available()
	return t, nil
}

// available are the tools of the turn.
func (t *turnRun) available() []tool {
	out := available(t.settings, t.a.remote(), t.helpers, t.a.skills())
	if t.format != nil {
		out = append(out, tool{name: structuredTool, own: t.format.spec()})
	}
	return out
}

// run does the work of a turn, and reports how it ended.
func (a *agent) run(ctx context.Context, t *turnRun, work func(context.Context, *turnRun) error) {
	began := time.Now()
	err := work(ctx, t)

	a.mu.Lock() // before the end is reported: then the next prompt may come
	idle, replaced := a.idle, a.replaced
	a.past.messages = append(slices.Clip(a.past.messages), a.steered...) // for the next turn: the log has it, too
	a.turn, a.stop, a.steered, a.deaf = "", nil, nil, true
	if replaced {
		a.before = spending{t.usage, t.cost}
	}
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		if a.idle == idle {
			a.idle = nil
		}
		a.mu.Unlock()
		close(idle)
	}()
	if replaced {
		return // the turn goes on with what was prompted
	}
	took := time.Since(began).Milliseconds()
	var end terret.Data = terret.TurnComplete{
		Text: t.text, StopReason: t.stopReason, Usage: t.usage, CostUSD: t.cost, NumSteps: t.steps,
		DurationMS: took, APIMS: t.api.Milliseconds(), Denials: t.denials, Structured: t.structured,
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		end = terret.TurnError{Error: *terret.AsError(err), Text: t.text, Usage: t.usage, CostUSD: t.cost, DurationMS: took, Denials: t.denials}
	}
	// The turn's context may be over, but its end must still be reported.
	if err := a.host.Emit(context.WithoutCancel(ctx), []terret.Event{{Turn: t.id, Data: end}}, nil); err != nil {
		a.req.Log.Debug("could not report the end of a turn", "error", err)
	}
}

// turnRun is the work on one prompt.
type turnRun struct {
	a          *agent
	id         string
	limit      int
	settings   terret.Settings
	own        *chosen // answers in this turn, if not the session's
	mode       string  // permission mode of this turn, if not the session's; guarded by a.mu
	tools      []tool
	generation int // of the MCP servers' tools
	steps      int
	api        time.Duration
	text       string
	stopReason string
	usage      terret.Usage
	cost       terret.Cost
	denials    []terret.Denial
	compacted  bool        // because the conversation was too long for the model
	format     *format     // of the answer, if it has one
	structured terret.JSON // the answer in that format
	helpers    map[string]helper
	sub        *subagent // nil for the turn itself
	reminders  int       // that an answer in that format is wanted
	misfits    int       // answers that were not in that format; guarded by a.mu
	fell       bool      // the fallback model answers
	stuck      stuck
	again      bool // it was told to go on instead of stopping
}

func (t *turnRun) loop(ctx context.Context) error {
	for {
		if t.steps >= t.limit {
			return terret.Errorf(terret.CodeMaxTurns, "the agent reached its limit of steps (%d); prompt it to continue, or raise max_turns", t.limit)
		}
		if err := t.affords(); err != nil {
			return err
		}
		if err := t.makeRoom(ctx); err != nil {
			return err
		}
		t.steps++
		id, r, err := t.call(ctx)
		if err != nil {
			return err
		}
		calls := callsIn(r.blocks)
		if len(calls) == 0 {
			if t.remind() {
				continue
			}
			if over, err := t.over(ctx); err != nil {
				return err
			} else if !over {
				continue
			}
			t.stopReason = r.stopReason
			return t.unformatted()
		}
		results, stop, err := t.use(ctx, id, calls)
		// Even if the turn is over: what was done must be known.
		t.add(message{role: terret.RoleUser, blocks: results, turn: t.id})
		told := t.emit(context.WithoutCancel(ctx), terret.MessageComplete{MessageID: terret.NewID(terret.PrefixMessage), Role: terret.RoleTool, Blocks: results})
		switch {
		case err != nil:
			return err
		case told != nil:
			return told
		case stop:
			return interrupted()
		}
		if err := t.misfit(); err != nil {
			return err
		}
		if err := t.unstick(ctx, calls, results); err != nil {
			return err
		}
		t.renew()
		if t.structured == nil {
			if t.sub == nil {
				t.a.hear(false)
			}
			continue
		}
		if over, err := t.over(ctx); err != nil || over {
			t.stopReason = "end_turn"
			return err
		}
	}
}

// renew looks for the tools again, if MCP servers have others now.
func (t *turnRun) renew() {
	if t.a.servers == nil || t.sub != nil {
		return
	}
	if g := t.a.servers.Generation(); g != t.generation {
		t.generation, t.tools = g, t.available()
	}
}

// over reports whether the turn is over: nobody has said anything meanwhile, and nobody
// wants it to go on.
func (t *turnRun) over(ctx context.Context) (bool, error) {
	if t.sub != nil {
		return t.subOver(ctx)
	}
	if t.a.hear(false) {
		return false, nil
	}
	may, err := t.mayStop(ctx)
	return may && !t.a.hear(true), err
}

// spend counts what a call to the model used.
func (t *turnRun) spend(m *chosen, r reply) {
	cost := m.cost(r)
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.a.spent += cost
	t.usage, t.cost = t.usage.Add(r.usage), t.cost+cost
	if root := t.root(); root != t {
		root.usage, root.cost = root.usage.Add(r.usage), root.cost+cost
	}
}

// affords returns an error if the session has used up its budget.
func (t *turnRun) affords() error {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if limit := t.settings.MaxCostUSD; limit > 0 && t.a.spent >= limit {
		return terret.Errorf(terret.CodeMaxBudget, "the session has used $%s of its budget of $%s; raise max_cost to let it continue", t.a.spent, limit)
	}
	return nil
}

// used is the usage of the turn so far, which includes that of subagents.
func (t *turnRun) used() terret.Event {
	root, max := t.root(), t.root().model().card.Context
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return terret.Event{Data: terret.UsageUpdate{Usage: root.usage, CostUSD: root.cost, ContextUsed: t.a.context, ContextMax: max}}
}

func (t *turnRun) emit(ctx context.Context, data ...terret.Data) error {
	events := make([]terret.Event, len(data))
	for i, d := range data {
		events[i] = t.event(d)
	}
	return t.a.host.Emit(ctx, events, nil)
}

// event is an event of the turn, or of the subagent in it.
func (t *turnRun) event(d terret.Data) terret.Event {
	if t.sub == nil {
		return terret.Event{Data: d}
	}
	return terret.Event{Actor: terret.SubActor(t.sub.id), ParentTool: t.sub.tool, Data: d}
}

// planning reports whether nothing may be changed for now.
func (t *turnRun) planning() bool {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if mode := t.root().mode; mode != "" {
		return mode == modePlan
	}
	return t.a.mode == modePlan
}

// approved ends planning, and reports whether the session's mode has changed.
func (t *turnRun) approved(next string) (changed bool) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	if t.mode == modePlan {
		t.mode = next
	}
	if changed = t.a.mode == modePlan && next != modePlan; changed {
		t.a.mode = next
	}
	return changed
}

const planPrompt = "\n\nYou are to plan: look at what there is, change nothing, and present a plan with the tool " + planTool +
	". Only when it is approved, carry it out."

// system is the system prompt.
func (t *turnRun) system() string {
	s := t.a.req.Session
	text := fmt.Sprintf("You are operating within %s.\nProject root: %s\nMode: %s\n\n", t.a.driver.cfg.ProductName, s.Cwd, s.Mode) +
		"You are a coding agent. Use the tools to look at and change files in the project, and say briefly what you did. " +
		"A tool use may be denied: then do not try to get around it; say what you would have needed."
	if t.sub != nil {
		text += "\n\nYou are a subagent: another agent gave you a task, and sees nothing but your last message. Report in it what was asked for."
		if t.sub.helper.Prompt != "" {
			text += "\n\n" + t.sub.helper.Prompt
		}
		return text + t.a.told
	}
	if t.planning() || s.Policy == terret.PolicyPlan {
		text += planPrompt
	}
	if t.format != nil {
		text += formatPrompt
	}
	text += t.a.told
	if t.settings.SystemAppend != "" {
		text += "\n\n" + t.settings.SystemAppend
	}
	return text
}

package native

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

const (
	// summaryPrompt stands before a summary in the conversation that goes on with it.
	summaryPrompt = "Summarize our conversation so far. You will go on with nothing but this summary."
	summaryDetail = " Keep: the task and its limits, in the person's own words; decisions, and why they were made; the files that were changed, and how; " +
		"what was tried and failed; what is left to do. Answer with the summary alone."
	goOn = "Go on with the task."
	// begunWork stands for what a subagent did before its conversation was compacted.
	begunWork = "I have begun with it."

	// fullAt is how full a model's context may be, in percent, before the conversation
	// is compacted.
	fullAt = 85
	// manually is why a conversation is compacted if a person asked for it.
	manually = "manual"
	// maxResult bounds what a summary sees of a tool's result, in bytes.
	maxResult = 4000
)

// Compact implements terret.Compacter.
func (a *agent) Compact(ctx context.Context, turn, instructions string, in terret.Settings) error {
	in.OutputSchema = nil // it is about answers
	return a.start(ctx, turn, in, func(ctx context.Context, t *turnRun) error { return t.compact(ctx, manually, instructions) })
}

// makeRoom compacts the conversation if the model's context is nearly full.
func (t *turnRun) makeRoom(ctx context.Context) error {
	t.trim()
	limit := t.model().card.Context
	t.a.mu.Lock()
	used, _ := t.memory()
	full := limit > 0 && *used*100 > limit*fullAt
	t.a.mu.Unlock()
	if !full || t.compacted {
		return nil
	}
	t.compacted = true
	return t.compact(ctx, "auto", "")
}

// compact has the model summarize the conversation, and goes on with the summary.
func (t *turnRun) compact(ctx context.Context, trigger, instructions string) error {
	a := t.a
	a.mu.Lock()
	used, conversation := t.memory()
	before, messages, known := *used, *conversation, a.past.results
	a.mu.Unlock()
	why, blocked, err := t.blocked(ctx, terret.GateCompact, hook(compactHook, map[string]string{"trigger": trigger, "custom_instructions": instructions}))
	if blocked && trigger == manually {
		t.text, t.stopReason = because("The conversation was not compacted", why), "blocked"
	}
	if blocked || err != nil {
		return err
	}
	if err := t.emit(ctx, terret.CompactPre{Trigger: trigger, Instructions: instructions}); err != nil {
		return err
	}
	if len(messages) == 0 {
		return terret.Errorf(terret.CodeConflict, "there is nothing to compact yet")
	}
	request := summaryPrompt + summaryDetail
	if instructions != "" {
		request += "\n\n" + instructions
	}
	_, q := t.query() // the same beginning as before, which the provider may have cached
	q.messages = repaired(append(slices.Clone(messages), message{role: terret.RoleUser, blocks: []terret.Block{terret.Text(request)}}), known)
	r, err := t.summarize(ctx, q)
	if err != nil {
		return err
	}
	summary := strings.TrimSpace(terret.TextOf(r.blocks))
	if summary == "" {
		return terret.Errorf(terret.CodeModelError, "the model did not summarize the conversation, so it stays as it is")
	}
	a.mu.Lock()
	if t.sub != nil { // nobody goes back in its conversation
		p := past{}
		p.fold(summary, t.id)
		t.sub.messages = append([]message{messages[0], {role: terret.RoleAssistant, blocks: []terret.Block{terret.Text(begunWork)}, turn: t.id}}, p.messages...)
		t.sub.messages = append(t.sub.messages, message{role: terret.RoleUser, blocks: []terret.Block{terret.Text(goOn)}, turn: t.id})
		t.sub.context = r.usage.Output
		a.mu.Unlock()
		return t.emit(ctx, terret.CompactPost{TokensBefore: before, TokensAfter: r.usage.Output, Summary: summary})
	}
	summary += open(a.past.todos)
	a.past.fold(summary, t.id)
	if trigger == "auto" { // the turn goes on
		a.past.messages = append(a.past.messages, message{role: terret.RoleUser, blocks: []terret.Block{terret.Text(goOn)}, turn: t.id})
	}
	a.context = r.usage.Output
	a.mu.Unlock()
	post := t.event(terret.CompactPost{TokensBefore: before, TokensAfter: r.usage.Output, Summary: summary})
	return a.host.Emit(ctx, []terret.Event{post, t.used()}, nil)
}

// summarize asks for the summary. If the conversation is too long even for that, the
// results of tools are cut, and then its earlier half is left out, again and again.
func (t *turnRun) summarize(ctx context.Context, q query) (reply, error) {
	m, cut := t.model(), false
	for attempt := 1; ; attempt++ {
		r, err := t.ask(ctx, m, q, func(piece) error { return ctx.Err() })
		t.spend(m, r)
		if err == nil {
			return r, nil
		}
		if ctx.Err() != nil {
			return reply{}, context.Cause(ctx)
		}
		if f, ok := errors.AsType[*failure](err); ok && f.tooLong && len(q.messages) > 2 {
			if cut {
				q.messages = repaired(q.messages[len(q.messages)/2:], nil)
			}
			for i := range q.messages {
				q.messages[i].blocks = shortened(q.messages[i].blocks)
			}
			cut = true
			continue
		}
		if err := t.pause(ctx, attempt, err); err != nil {
			return reply{}, err
		}
	}
}

// shortened are the blocks with long results of tools cut.
func shortened(blocks []terret.Block) []terret.Block {
	out := slices.Clone(blocks)
	for i, b := range out {
		if b.Type == terret.BlockToolResult {
			out[i].Content = []terret.Block{terret.Text(brief.Cut(terret.TextOf(b.Content), maxResult))}
		}
	}
	return out
}

package native

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// past is the conversation according to a log.
type past struct {
	messages []message // as they were said: see repaired
	// folded is what a summary has replaced, for those who go back to before it.
	folded []message
	// undone is what there was before each Rewind, the last one last.
	undone []remembered
	calls  map[string]bool // ids of all calls so far
	// results are those of tools that ended, even if the turn ended before they got
	// into a message.
	results map[string]terret.Block
	todos   []terret.PlanEntry // as the model last wrote them down
	begun   bool               // an agent was opened for the session before
}

// remembered is a conversation as it was.
type remembered struct{ messages, folded []message }

// rebuild reads the conversation from the log, and from those that it was forked from.
func rebuild(ctx context.Context, history func(context.Context) iter.Seq2[terret.Entry, error], line lineage) (past, error) {
	p := past{calls: map[string]bool{}, results: map[string]terret.Block{}}
	if history == nil {
		return p, nil
	}
	for entry, err := range history(ctx) {
		if err != nil {
			return past{}, terret.Errorf(terret.CodeResumeFailed, "cannot read the session's log: %w", err)
		}
		if entry.Seq > line[entry.Session] {
			continue
		}
		switch entry.Kind {
		case terret.KindTurnStart, terret.KindUserPrompt, terret.KindMessageComplete, terret.KindToolPost, terret.KindToolFailure, terret.KindCheckpointRewound,
			terret.KindCompactPre, terret.KindCompactPost, terret.KindTurnError,
			terret.KindHookEvent, terret.KindHookDecision, terret.KindStopDecision, terret.KindPlanUpdate, terret.KindNotification:
		case terret.KindSessionStart:
			p.begun = p.begun || line[entry.Session] == math.MaxInt64
			continue
		default:
			continue
		}
		ev, err := entry.Decode()
		if err != nil {
			return past{}, terret.Errorf(terret.CodeResumeFailed, "cannot read the session's log: %w", err)
		}
		if ev.Actor == "" || ev.Actor == terret.ActorRoot {
			p.take(ev)
		} else if m, ok := ev.Data.(terret.MessageComplete); ok {
			p.know(m.Blocks)
		}
	}
	return p, nil
}

func (p *past) take(ev terret.Event) {
	switch d := ev.Data.(type) {
	case terret.TurnStart:
		p.messages = append(p.messages, message{role: terret.RoleUser, blocks: d.Prompt, turn: ev.Turn, id: d.MessageID})
		p.undone = nil
	case terret.UserPrompt:
		if p.hears(d, ev.Turn) {
			return
		}
		p.messages = append(p.messages, message{role: terret.RoleUser, blocks: d.Blocks, turn: ev.Turn})
	case terret.MessageComplete:
		role := d.Role
		if role != terret.RoleAssistant {
			role = terret.RoleUser
		}
		p.messages = append(p.messages, message{role: role, blocks: d.Blocks, turn: ev.Turn})
		p.know(d.Blocks)
	case terret.ToolPost:
		p.results[d.ToolID] = terret.Block{Type: terret.BlockToolResult, ToolID: d.ToolID, Content: d.Content}
	case terret.ToolFailure:
		if len(d.Content) > 0 {
			p.results[d.ToolID] = terret.Block{Type: terret.BlockToolResult, ToolID: d.ToolID, Content: d.Content, IsError: true}
		}
	case terret.TurnError:
		p.unheard(d.Error.Code, ev.Turn)
	case terret.CompactPre:
		if d.Trigger == manually {
			p.drop(ev.Turn)
		}
	case terret.CompactPost:
		if d.Summary != "" {
			p.fold(d.Summary, ev.Turn)
		}
	case terret.PlanUpdate:
		p.todos = d.Entries
	case terret.Notification:
		if d.Type == contextNote {
			p.drop(ev.Turn)
		}
	case terret.HookEvent:
		p.asked(d, ev.Turn)
	case terret.HookDecision:
		p.decided(d.Decision, ev.Turn)
	case terret.StopDecision:
		p.decided(d.Decision, ev.Turn)
	case terret.CheckpointRewound:
		switch {
		case !d.Conversation:
		case d.Direction == "undo":
			p.rewind(d.MessageID)
		default:
			p.forward()
		}
	}
}

// know remembers the ids of calls, so that they are not used again.
func (p *past) know(blocks []terret.Block) {
	for _, c := range callsIn(blocks) {
		p.calls[c.ToolID] = true
	}
}

// hears puts what the model heard in the place of the command that a person typed, if
// it is that, and reports whether it did.
func (p *past) hears(d terret.UserPrompt, turn string) bool {
	at := slices.IndexFunc(p.messages, func(m message) bool { return m.turn == turn })
	if d.MessageID != turn || at < 0 {
		return false
	}
	p.messages[at].blocks = d.Blocks
	return true
}

// unheard removes the prompt of a command that there was not, or that could not be read.
func (p *past) unheard(code terret.ErrorCode, turn string) {
	if last := len(p.messages) - 1; (code == terret.CodeNotFound || code == terret.CodeInvalidRequest) && last >= 0 &&
		p.messages[last].turn == turn && strings.HasPrefix(terret.TextOf(p.messages[last].blocks), "/") {
		p.messages = p.messages[:last:last]
	}
}

// drop removes what was said in a turn: its prompt was a command to the agent, and not
// for the model.
func (p *past) drop(turn string) {
	p.messages = slices.DeleteFunc(slices.Clone(p.messages), func(m message) bool { return m.turn == turn })
}

// rewind goes back to before the prompt with that id, and reports whether there is one.
func (p *past) rewind(id string) bool {
	is := func(m message) bool { return m.id == id && id != "" }
	now := remembered{p.messages, p.folded}
	if at := slices.IndexFunc(p.messages, is); at >= 0 {
		p.messages = p.messages[:at:at]
	} else if at := slices.IndexFunc(p.folded, is); at >= 0 {
		p.messages, p.folded = p.folded[:at:at], nil
	} else {
		return false
	}
	p.undone = append(p.undone, now)
	return true
}

// forward undoes the last rewind, and reports whether there is one.
func (p *past) forward() bool {
	last := len(p.undone) - 1
	if last < 0 {
		return false
	}
	p.messages, p.folded = p.undone[last].messages, p.undone[last].folded
	p.undone = p.undone[:last]
	return true
}

// fold puts a summary in the place of the conversation.
func (p *past) fold(summary, turn string) {
	p.folded = slices.Concat(p.folded, p.messages)
	p.messages = []message{
		{role: terret.RoleUser, blocks: []terret.Block{terret.Text(summaryPrompt)}, turn: turn},
		{role: terret.RoleAssistant, blocks: []terret.Block{terret.Text(summary)}, turn: turn},
	}
}

// Placeholders for what is missing.
const (
	brokenOff = "The turn was interrupted before this tool had run to its end."
	noAnswer  = "[There is no answer: the turn ended before it.]"
	noPrompt  = "[The beginning of the conversation is missing.]"
)

// repaired makes a conversation that models accept: it begins with the user, the two
// take turns, no message is empty, and each tool call has exactly one result, at the
// beginning of the next message. A broken-off turn leaves calls without a result and
// prompts without an answer. Missing results come from known, which may be nil. in is
// not changed.
func repaired(in []message, known map[string]terret.Block) []message {
	r := repair{known: known, seen: map[string]bool{}}
	for _, m := range in {
		if m.role == terret.RoleAssistant {
			r.assistant(m)
		} else {
			r.user(m)
		}
	}
	r.answer(message{})
	return r.out
}

type repair struct {
	known   map[string]terret.Block
	out     []message
	waiting []terret.Block  // calls in the last message, which is the assistant's
	seen    map[string]bool // ids of calls
}

func (r *repair) last() *message {
	if len(r.out) == 0 {
		return nil
	}
	return &r.out[len(r.out)-1]
}

func (r *repair) assistant(m message) {
	var blocks []terret.Block
	for _, b := range m.blocks {
		switch b.Type {
		case terret.BlockToolResult:
			continue
		case terret.BlockToolUse:
			if b.ToolID == "" || r.seen[b.ToolID] {
				continue
			}
			r.seen[b.ToolID] = true
		default:
		}
		blocks = append(blocks, b)
	}
	if len(blocks) == 0 {
		return
	}
	r.answer(message{turn: m.turn})
	switch last := r.last(); {
	case last == nil:
		r.out = append(r.out, message{role: terret.RoleUser, blocks: []terret.Block{terret.Text(noPrompt)}, turn: m.turn})
	case last.role == terret.RoleAssistant:
		last.blocks = slices.Concat(last.blocks, blocks)
		r.waiting = callsIn(blocks)
		return
	}
	r.out = append(r.out, message{role: terret.RoleAssistant, blocks: blocks, turn: m.turn})
	r.waiting = callsIn(blocks)
}

func (r *repair) user(m message) {
	if len(r.waiting) > 0 && len(m.blocks) > 0 {
		r.answer(m)
		return
	}
	blocks := words(m.blocks)
	if len(blocks) == 0 {
		return
	}
	if last := r.last(); last != nil && last.role == terret.RoleUser {
		if last.blocks[len(last.blocks)-1].Type == terret.BlockToolResult {
			last.blocks = slices.Concat(last.blocks, blocks)
			return
		}
		r.out = append(r.out, message{role: terret.RoleAssistant, blocks: []terret.Block{terret.Text(noAnswer)}, turn: last.turn})
	}
	r.out = append(r.out, message{role: terret.RoleUser, blocks: blocks, turn: m.turn})
}

// answer gives every waiting call its result: the one in m, a known one, or a
// placeholder. The rest of m follows.
func (r *repair) answer(m message) {
	if len(r.waiting) == 0 {
		return
	}
	var blocks []terret.Block
	for _, c := range r.waiting {
		blocks = append(blocks, r.result(c, m))
	}
	r.waiting = nil
	r.out = append(r.out, message{role: terret.RoleUser, blocks: append(blocks, words(m.blocks)...), turn: m.turn})
}

func (r *repair) result(c terret.Block, m message) terret.Block {
	for _, b := range m.blocks {
		if b.Type == terret.BlockToolResult && b.ToolID == c.ToolID {
			return b
		}
	}
	if b, ok := r.known[c.ToolID]; ok {
		return b
	}
	return resultOf(c, brokenOff, true)
}

// resultOf makes the result of a call.
func resultOf(c terret.Block, text string, failed bool) terret.Block {
	return terret.Block{Type: terret.BlockToolResult, ToolID: c.ToolID, IsError: failed, Content: []terret.Block{terret.Text(text)}}
}

// words are the blocks that are neither tool calls nor results.
func words(blocks []terret.Block) []terret.Block {
	var out []terret.Block
	for _, b := range blocks {
		if b.Type != terret.BlockToolResult && b.Type != terret.BlockToolUse {
			out = append(out, b)
		}
	}
	return out
}

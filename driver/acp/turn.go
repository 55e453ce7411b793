package acp

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
)

// turn is what must be remembered of a turn until it ends. Except for its first
// fields, which do not change, it belongs to whoever holds the agent's telling.
type turn struct {
	profile  Profile
	p        *process
	whole    bool // messages are not told in pieces
	cwd      string
	began    time.Time
	life     context.Context // of what the agent asks
	withdraw context.CancelCauseFunc
	asks     sync.WaitGroup
	told     chan struct{} // closed when its end was told

	servers   []string // names of MCP servers
	heard     time.Time
	open      int  // requests that somebody decides about
	cancelled bool // it is to end
	silent    bool // because the agent said nothing
	again     bool // it need not be told so once more
	message   message
	said      string // the last message that held text
	steps     int
	tools     []*tool
	denials   []terret.Denial
	usage     terret.Usage // as told in pieces
	before    terret.Usage // of the process, when the turn began
	spent     terret.Cost  // of the session, when the turn began
	retries   int
	status    int  // that the model's API answered
	unnamed   bool // the last message had no id of its own
}

// message is one that the model has begun.
type message struct {
	id       string
	native   string // the agent's own id
	blocks   []terret.Block
	thinking bool            // the last block is no text
	last     strings.Builder // of the last block, which grows
}

// content are the blocks so far.
func (m *message) content() []terret.Block {
	out := slices.Clone(m.blocks)
	if n := len(out); n > 0 {
		out[n-1].Text = m.last.String()
	}
	return out
}

func newTurn(profile Profile, p *process, in terret.Settings, cwd string) *turn {
	t := &turn{profile: profile, p: p, whole: in.WholeMessages, cwd: cwd, began: time.Now(), heard: time.Now(), told: make(chan struct{})}
	t.life, t.withdraw = context.WithCancelCause(context.Background())
	return t
}

// busy reports whether it is somebody else's turn to do something.
func (t *turn) busy() bool {
	return t.open > 0 || slices.ContainsFunc(t.tools, func(c *tool) bool { return c.told && !c.done })
}

// stop notes that the turn is to end. An agent that is at work hears it the first time;
// one that is not may begin only afterwards, and is told again.
func (t *turn) stop() {
	t.cancelled = true
	t.again = t.again || len(t.tools) > 0 || len(t.message.blocks) > 0 || t.steps > 0
}

// text takes in a piece of a message, or of what the model thinks.
func (t *turn) text(native, text string, thinking bool) (events []terret.Event) {
	m := &t.message
	if thinking && !m.thinking {
		text = strings.TrimLeft(text, "\n") // before the first thought
	}
	if text == "" {
		return nil
	}
	// What is thought belongs to what is said next.
	failure := t.profile.quirks.failure
	if len(m.blocks) > 0 && !m.thinking && (thinking || native != m.native || failure != nil && failure.MatchString(text)) {
		events = t.complete()
	}
	if m.id == "" {
		m.id = terret.NewID(terret.PrefixMessage)
	}
	if !thinking {
		m.native = native
	}
	if len(m.blocks) == 0 || m.thinking != thinking {
		m.blocks = m.content()
		m.last.Reset()
		kind := terret.BlockText
		if thinking {
			kind = terret.BlockThinking
		}
		m.blocks = append(m.blocks, terret.Block{Type: kind})
		m.thinking = thinking
	}
	index := len(m.blocks) - 1
	m.last.WriteString(text)
	if thinking {
		return append(events, terret.Event{Data: terret.ReasoningDelta{MessageID: m.id, Index: index, Text: text}})
	}
	return append(events, terret.Event{Data: terret.MessageDelta{MessageID: m.id, Index: index, Text: text}})
}

// complete tells the message that the model has begun, with the calls that it ends
// with.
func (t *turn) complete(calls ...terret.Block) []terret.Event {
	id, native, blocks := t.message.id, t.message.native, append(t.message.content(), calls...)
	t.message = message{}
	if len(blocks) == 0 {
		return nil
	}
	if id == "" {
		id = terret.NewID(terret.PrefixMessage)
	}
	if text := terret.TextOf(blocks); text != "" {
		t.said, t.unnamed = text, native == ""
	}
	t.steps++
	return []terret.Event{{Data: terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: blocks}}}
}

// end tells the end of the turn, and before it the ends of all that ends with it.
// a.telling is held.
func (t *turn) end(a *agent, answer prompted, err error) []terret.Event {
	events := t.complete()
	failure := t.failureOf(a, answer, err)
	for _, c := range t.tools {
		if !c.done {
			events = append(events, t.fail(c, "the turn ended before the tool did", true)...)
		}
	}
	usage := t.used(a, answer)
	cost := max(a.state.cost-t.spent, 0)
	took := time.Since(t.began).Milliseconds()
	if usage != (terret.Usage{}) || cost > 0 {
		events = append(events, terret.Event{Data: terret.UsageUpdate{
			Usage: usage, CostUSD: cost, ContextUsed: a.state.context.Used, ContextMax: a.state.context.Max,
		}})
	}
	if failure != nil {
		return append(events, terret.Event{Data: terret.TurnError{
			Error: *failure, Text: t.said, Usage: usage, CostUSD: cost, DurationMS: took, Denials: t.denials,
		}})
	}
	return append(events, terret.Event{Data: terret.TurnComplete{
		Text: t.said, StopReason: answer.StopReason, Usage: usage, CostUSD: cost, DurationMS: took, NumSteps: t.steps, Denials: t.denials,
	}})
}

// used is what the turn has used.
func (t *turn) used(a *agent, answer prompted) terret.Usage {
	if u := answer.Usage; u != nil {
		all := u.usage()
		switch t.profile.quirks.usage {
		case usageOfSession:
			a.state.usage = all
			if used := all.Sub(t.before); used.Input >= 0 && used.Output >= 0 {
				return used
			}
		case usageOfCall, usageOfTurn:
		}
		return all
	}
	if q := answer.Meta.Quota.Count; q.Input+q.Output > 0 {
		return terret.Usage{Input: q.Input, Output: q.Output}
	}
	return t.usage
}

func (u tokens) usage() terret.Usage {
	return terret.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Thought}
}

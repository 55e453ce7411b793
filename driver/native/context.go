package native

import (
	"context"
	"fmt"
	"strings"

	"github.com/terret-dev/terret"
)

// contextCommand is what people type to see what fills the context.
const contextCommand = "context"

// contextNote is the type of the notice that marks such a turn in the log: the model does not
// hear of it.
const contextNote = "context"

var _ terret.ContextReader = (*agent)(nil)

// Context implements terret.ContextReader. What the model counted at its last answer is
// divided among the parts by their sizes.
func (a *agent) Context(context.Context) (terret.ContextUsage, error) {
	a.mu.Lock()
	in := a.last
	a.mu.Unlock()
	t, err := a.newTurn("", in)
	if err != nil {
		return terret.ContextUsage{}, err
	}
	return t.filled(), nil
}

// filled says what fills the context of the turn's model.
func (t *turnRun) filled() terret.ContextUsage {
	m, q := t.query()
	q = m.suited(q)
	told := min(len(t.a.told), len(q.system))
	said, results := 0, 0
	for _, x := range q.messages {
		for _, b := range x.blocks {
			if b.Type == terret.BlockToolResult {
				results += sizeOf(b.Content)
			} else {
				said += len(b.Text) + len(b.Input) + imageSize*len(imagesIn([]terret.Block{b}))
			}
		}
	}
	specs := 0
	for _, x := range q.tools {
		specs += len(x.name) + len(x.description) + len(x.schema)
	}
	sizes := []int{len(q.system) - told, specs, told, said, results}
	all := 0
	for _, n := range sizes {
		all += n
	}
	t.a.mu.Lock()
	used := t.a.context
	t.a.mu.Unlock()
	if used == 0 { // no model has counted yet
		used = int64(all) / perToken
	}
	out := terret.ContextUsage{Used: used, Max: m.card.Context}
	for i, name := range []string{"system prompt", "tools", "instructions from files", "messages", "tool results"} {
		out.Parts = append(out.Parts, terret.ContextPart{Name: name, Tokens: used * int64(sizes[i]) / int64(max(all, 1))})
	}
	if out.Max > used {
		out.Parts = append(out.Parts, terret.ContextPart{Name: "free", Tokens: out.Max - used})
	}
	return out
}

// showContext answers /context. The model is not asked, and does not hear of it.
func (a *agent) showContext(ctx context.Context, turn string, in terret.Settings) error {
	in.OutputSchema = nil // it is about answers
	return a.start(ctx, turn, in, func(ctx context.Context, t *turnRun) error {
		t.text, t.stopReason = describe(t.filled()), "end_turn"
		return t.emit(ctx,
			terret.MessageComplete{MessageID: terret.NewID(terret.PrefixMessage), Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text(t.text)}},
			terret.Notification{Type: contextNote, Level: "info", Text: "the model does not hear of this turn"})
	})
}

// describe is the usage in words, as a table of Markdown.
func describe(u terret.ContextUsage) string {
	var out strings.Builder
	fmt.Fprintf(&out, "About %d tokens", u.Used)
	if u.Max > 0 {
		fmt.Fprintf(&out, " of %d (%d%%)", u.Max, u.Used*100/u.Max)
	}
	out.WriteString(" fill the context.\n\n| what | tokens |\n|---|---|\n")
	for _, p := range u.Parts {
		fmt.Fprintf(&out, "| %s | %d |\n", p.Name, p.Tokens)
	}
	return out.String()
}

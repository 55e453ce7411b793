package native

import (
	"fmt"
	"slices"

	"github.com/terret-dev/terret"
)

// off reports whether it is known that a model cannot do something.
func off(can *bool) bool { return can != nil && !*can }

// can is what the model is known to do, and not to do.
func (c card) can() map[string]bool {
	out := map[string]bool{}
	for name, can := range map[string]*bool{"tools": c.Tools, "images": c.Images, "cache": c.Cache} {
		if can != nil {
			out[name] = *can
		}
	}
	if c.Thinking != "" {
		out["thinking"] = c.Thinking != thinkNone
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// imagesIn are the images among blocks.
func imagesIn(blocks []terret.Block) []terret.Block {
	var out []terret.Block
	for _, b := range blocks {
		if b.Type == terret.BlockImage {
			out = append(out, b)
		}
	}
	return out
}

// suited is the question without what the model cannot take: it is told what it misses. q
// is not changed.
func (c *chosen) suited(q query) query {
	if c.card.Thinking == thinkNone {
		q.effort = ""
	}
	if off(c.card.Tools) {
		q.tools = nil
	}
	if !off(c.card.Tools) && !off(c.card.Images) {
		return q
	}
	q.messages = slices.Clone(q.messages)
	for i, m := range q.messages {
		q.messages[i].blocks = c.card.suit(m.blocks)
	}
	return q
}

// suit is blocks as the model can take them.
func (c card) suit(in []terret.Block) []terret.Block {
	out := slices.Clone(in)
	for i, b := range out {
		switch {
		case b.Type == terret.BlockImage && off(c.Images):
			out[i] = terret.Text(notShown(b).Text)
		case b.Type == terret.BlockToolUse && off(c.Tools):
			out[i] = terret.Text(fmt.Sprintf("[A tool was called: %s with the input %s]", b.Name, b.Input))
		case b.Type == terret.BlockToolResult && off(c.Tools):
			out[i] = terret.Text("[The result of the tool]\n" + terret.TextOf(c.suit(b.Content)))
		case b.Type == terret.BlockToolResult:
			out[i].Content = c.suit(b.Content)
		}
	}
	return out
}

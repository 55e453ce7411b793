package codex

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// speaker collects a reply of the model: thinking, text and calls of tools make one
// message.
type speaker struct {
	id     string // of the message: that of its first piece
	blocks []terret.Block
	at     map[string]int // where an item's block is
}

// speaker returns the speaker of the message at hand.
func (t *translator) speaker() *speaker {
	s := t.speakers[t.actor]
	if s == nil {
		s = &speaker{at: map[string]int{}}
		t.speakers[t.actor] = s
	}
	return s
}

// block returns the item's block, which is new unless it is known.
func (s *speaker) block(item string, kind terret.BlockType) (*terret.Block, int) {
	if s.id == "" {
		s.id = item
	}
	i, ok := s.at[item]
	if !ok {
		i = len(s.blocks)
		s.at[item] = i
		s.blocks = append(s.blocks, terret.Block{Type: kind})
	}
	return &s.blocks[i], i
}

// piece takes in a piece of text or thinking.
func (t *translator) piece(item string, kind terret.BlockType, text string) {
	if item == "" || text == "" {
		return
	}
	s := t.speaker()
	b, i := s.block(item, kind)
	b.Text += text
	if kind == terret.BlockThinking {
		t.emit(terret.ReasoningDelta{MessageID: s.id, Index: i, Text: text})
		return
	}
	if t.actor == "" {
		t.turn.text = b.Text
	}
	t.emit(terret.MessageDelta{MessageID: s.id, Index: i, Text: text})
}

// said takes in a whole text.
func (t *translator) said(it item) {
	b, _ := t.speaker().block(it.ID, terret.BlockText)
	b.Text = it.Text
	if it.Text == "" {
		return
	}
	if t.actor == "" {
		t.turn.text = it.Text
	} else if a := t.agents[strings.TrimPrefix(t.actor, terret.SubActor(""))]; a != nil {
		a.text = it.Text
	}
}

// thought takes in what the model thought, as a whole. Codex may tell none of it.
func (t *translator) thought(it item) {
	text := strings.Join(it.Summary, "\n\n")
	var content []string
	if seat.Decode(it.Content, &content) && len(content) > 0 {
		text = strings.Join(content, "\n\n")
	}
	if text == "" {
		return
	}
	b, _ := t.speaker().block(it.ID, terret.BlockThinking)
	b.Text = text
}

// complete ends the message at hand.
func (t *translator) complete() {
	s := t.speakers[t.actor]
	if s == nil {
		return
	}
	delete(t.speakers, t.actor)
	blocks := slices.DeleteFunc(s.blocks, func(b terret.Block) bool { return b.Type != terret.BlockToolUse && b.Text == "" })
	if len(blocks) > 0 {
		t.emit(terret.MessageComplete{MessageID: s.id, Role: terret.RoleAssistant, Blocks: blocks})
	}
}

// heard takes in a person's message. That of the turn itself is known already.
func (t *translator) heard(it item) {
	if t.actor != "" || !t.turn.steered[it.ClientID] {
		return
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	seat.Decode(it.Content, &parts)
	out := terret.UserPrompt{MessageID: it.ClientID, Blocks: []terret.Block{}}
	for _, p := range parts {
		if p.Type == "text" {
			out.Blocks = append(out.Blocks, terret.Text(p.Text))
		}
	}
	t.emit(out)
}

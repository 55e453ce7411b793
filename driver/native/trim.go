package native

import (
	"fmt"
	"slices"

	"github.com/terret-dev/terret"
)

const (
	// trimAt is how full a model's context may be, in percent, before old results of
	// tools are trimmed. It is less than fullAt: often that is enough.
	trimAt = 60
	// keptResults are the last results, which are never trimmed.
	keptResults = 10
	// largeResult is the size of a result, in bytes, from which it is trimmed.
	largeResult = 8000
	// perToken is about how many bytes a token has.
	perToken = 4
)

// trimmed is the conversation with the large results of tools cut, oldest first, until
// about excess tokens are saved, and how many are. The last ones stay whole. in is not
// changed.
func trimmed(in []message, excess int64) (out []message, saved int64) {
	type at struct{ message, block int }
	var large []at
	results := 0
	for i, m := range slices.Backward(in) {
		for j, b := range slices.Backward(m.blocks) {
			if b.Type != terret.BlockToolResult {
				continue
			}
			if results++; results > keptResults && sizeOf(b.Content) > largeResult {
				large = append(large, at{i, j})
			}
		}
	}
	out = slices.Clone(in)
	for _, l := range slices.Backward(large) {
		if saved >= excess {
			break
		}
		blocks := slices.Clone(out[l.message].blocks)
		text := terret.TextOf(blocks[l.block].Content)
		size := sizeOf(blocks[l.block].Content)
		short := fmt.Sprintf("%s\n[%d bytes of this old result were left out to save room; call the tool again if you need them]", cutAt(text, largeResult/4), size-min(len(text), largeResult/4))
		blocks[l.block].Content = []terret.Block{terret.Text(short)}
		out[l.message].blocks = blocks
		saved += int64(size-len(short)) / perToken
	}
	return out, saved
}

// imageSize is about how many bytes of text cost as much as an image.
const imageSize = 10_000

// sizeOf is the size of a result in bytes, as far as models count it.
func sizeOf(content []terret.Block) int {
	return len(terret.TextOf(content)) + imageSize*len(imagesIn(content))
}

// cutAt is the beginning of a text, without half a character.
func cutAt(s string, n int) string {
	for n > 0 && n < len(s) && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:min(n, len(s))]
}

// trim trims the conversation if the model's context is rather full. What was trimmed
// stays so, as long as the agent is open: a provider's cache depends on it.
func (t *turnRun) trim() {
	limit := t.model().card.Context
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	used, messages := t.memory()
	if limit == 0 || *used*100 <= limit*trimAt {
		return
	}
	var saved int64
	*messages, saved = trimmed(*messages, *used-limit*trimAt/100)
	*used -= saved
}

// memory is the conversation, and how many tokens it had at the last answer. a.mu must be
// held.
func (t *turnRun) memory() (used *int64, messages *[]message) {
	if t.sub != nil {
		return &t.sub.context, &t.sub.messages
	}
	return &t.a.context, &t.a.past.messages
}

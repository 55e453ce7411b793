package native

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

const (
	demoPause  = 2 * time.Millisecond // between pieces
	demoPieces = 100                  // at most per text, so that long ones take no longer
)

// demoVoice streams an answer of the demo model.
type demoVoice struct {
	ctx    context.Context
	sink   sink
	blocks []terret.Block
	tokens int64
	err    error
}

// say streams words, a few at a time.
func (d *demoVoice) say(text string) {
	if d.err != nil || text == "" {
		return
	}
	if len(d.blocks) == 0 {
		d.blocks = append(d.blocks, terret.Text(""))
	} else {
		text = "\n\n" + text
	}
	least := len(text) / demoPieces
	piecemeal := ""
	for _, word := range strings.SplitAfter(text, " ") {
		if piecemeal += word; len(piecemeal) >= least {
			d.tell(piecemeal)
			piecemeal = ""
		}
	}
	d.tell(piecemeal)
	d.blocks[0].Text += text
}

// tell streams a piece. The pause makes the streaming visible without making anybody
// wait.
func (d *demoVoice) tell(text string) {
	if d.err != nil || text == "" {
		return
	}
	if d.err = d.sink(piece{text: text}); d.err != nil {
		return
	}
	t := time.NewTimer(demoPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-d.ctx.Done():
		d.err = context.Cause(d.ctx)
	}
}

func (d *demoVoice) call(id, name string, input map[string]any) {
	if d.err != nil {
		return
	}
	text, err := json.Marshal(input)
	if err != nil {
		d.err = err
		return
	}
	index := len(d.blocks)
	if d.err = d.sink(piece{index: index, toolID: id, toolName: name}); d.err != nil {
		return
	}
	d.err = d.sink(piece{index: index, input: string(text)})
	d.blocks = append(d.blocks, terret.Block{Type: terret.BlockToolUse, ToolID: id, Name: name, Input: text})
}

func (d *demoVoice) reply(stop string) (reply, error) {
	if d.err != nil {
		return reply{}, d.err
	}
	var words int64
	for _, b := range d.blocks {
		words += int64(len(b.Text)+len(b.Input)) / 4
	}
	return reply{blocks: d.blocks, stopReason: stop, usage: terret.Usage{Input: d.tokens, Output: words}, context: d.tokens + words}, nil
}

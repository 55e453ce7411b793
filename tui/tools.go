package tui

import (
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// lateResult is a result that comes only within a message.
func (c *conversation) lateResult(e terret.Event, b terret.Block) {
	it := c.keys[b.ToolID]
	if it == nil || it.kind != itemTool || it.state > toolRunning {
		return
	}
	it.state, it.text = toolDone, clipOutput(resultText(b.Content))
	if b.IsError {
		it.state, it.fail = toolFailed, it.text
	}
	c.stopped(it)
	c.touch(e, it)
}

func resultText(blocks []terret.Block) string {
	var b strings.Builder
	for _, x := range blocks {
		if x.Type == terret.BlockText {
			b.WriteString(withoutTags(x.Text))
		}
	}
	return b.String()
}

// withoutTags removes the tag in which some agents wrap what went wrong, for the model.
func withoutTags(s string) string {
	for _, tag := range []string{"tool_use_error", "error"} {
		if rest, ok := strings.CutPrefix(s, "<"+tag+">"); ok {
			return strings.TrimSuffix(strings.TrimSpace(rest), "</"+tag+">")
		}
	}
	return s
}

func clipOutput(s string) string { return s[max(0, len(s)-maxOutput):] }

func (c *conversation) newTool(e terret.Event, id, name string, class terret.ToolClass) *item {
	return c.add(e, &item{kind: itemTool, key: id, name: name, class: class})
}

// tool folds what is said of tools, and reports whether the event is about one.
func (c *conversation) tool(e terret.Event) bool {
	switch d := e.Data.(type) {
	case terret.ToolStart:
		c.newTool(e, d.ToolID, d.Name, d.Class)
	case terret.ToolDelta:
	case terret.ToolPre:
		it := c.newTool(e, d.ToolID, d.Name, d.Class)
		it.state, it.name, it.class, it.input, it.diff, it.time = toolRunning, d.Name, d.Class, d.Input, d.Diff, e.Time.Time
		if !slices.Contains(c.running, it) {
			c.running = append(c.running, it)
		}
		c.touch(e, it)
	case terret.ToolProgress:
		if it := c.keys[d.ToolID]; it != nil && it.state == toolRunning && d.Text != "" {
			if it.stream == nil || it.stream.Len() > 2*maxOutput {
				it.stream = &strings.Builder{}
				it.stream.WriteString(clipOutput(it.text))
			}
			it.stream.WriteString(d.Text)
			it.text = it.stream.String()
			c.touch(e, it)
		}
	case terret.ToolPost:
		it := c.finish(e, d.ToolID, d.Name, d.Content, d.Diff, d.DurationMS)
		it.state = toolDone
	case terret.ToolFailure:
		it := c.finish(e, d.ToolID, d.Name, d.Content, d.Diff, d.DurationMS)
		it.state, it.fail = toolFailed, withoutTags(d.Error)
		if d.Interrupted {
			it.state = toolStopped
		}
		if d.Denied {
			it.state = toolDenied
		}
	case terret.PermissionDenied:
		if it := c.keys[d.ToolID]; it != nil && it.kind == itemTool {
			it.state, it.fail = toolDenied, d.Reason
			c.stopped(it)
			c.touch(e, it)
		}
	default:
		return false
	}
	return true
}

func (c *conversation) finish(e terret.Event, id, name string, content []terret.Block, diff string, ms int64) *item {
	it := c.newTool(e, id, name, terret.ClassOther)
	if out := resultText(content); out != "" {
		it.text = clipOutput(out)
	}
	it.stream, it.spent = nil, millis(ms)
	if diff != "" {
		it.diff = diff
	}
	if it.class == terret.ClassEdit || it.class == terret.ClassExecute {
		c.changes++
	}
	c.stopped(it)
	c.touch(e, it)
	return it
}

func (c *conversation) stopped(it *item) {
	c.running = slices.DeleteFunc(c.running, func(x *item) bool { return x == it })
	if c.turn != "" {
		c.act = "thinking"
	}
}

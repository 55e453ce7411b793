package view

import (
	"fmt"
	"strings"

	"github.com/terret-dev/terret"
)

// The events of the chirality view. Each has its type and the session's id.
type (
	uiHead struct {
		Type      string `json:"type"`
		SessionID string `json:"sessionId"`
	}
	uiText struct { // chat:delta, chat:complete
		uiHead
		Text string `json:"text"`
	}
	uiToolStart struct {
		uiHead
		ToolUseID string      `json:"toolUseId"`
		Name      string      `json:"name"`
		Input     terret.JSON `json:"input"`
	}
	uiToolResult struct {
		uiHead
		ToolUseID string `json:"toolUseId"`
		Content   string `json:"content"`
		IsError   bool   `json:"isError"`
	}
	uiInit struct {
		uiHead
		NativeID terret.NullString `json:"claudeSessionId"`
		Model    string            `json:"model"`
		Tools    []string          `json:"tools"`
	}
	uiComplete struct {
		uiHead
		CostUSD terret.Cost `json:"costUsd"`
		Usage   uiUsage     `json:"usage"`
	}
	uiUsage struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
	}
	uiError struct {
		uiHead
		Error string `json:"error"`
		// Recoverable says that the turn continues.
		Recoverable bool `json:"recoverable,omitempty"`
	}
	uiExit struct {
		uiHead
		Code   *int              `json:"code"`
		Signal terret.NullString `json:"signal"`
	}
)

// chirality shows each turn as a process of its own: session:init comes first,
// process:exit last, even if one process serves many turns. What subagents say is
// omitted, what their tools do is not.
type chirality struct {
	known
	oneShot bool
	turn    string // last seen
	open    bool   // it has no result yet
	greeted bool   // session:init has come in it
	owed    bool   // it has a result, but no process:exit yet
	exit    *terret.ProcessExit
	calls   calls
	out     []Message // of the current event
}

func newChirality(o Options) *chirality {
	return &chirality{known: knownOf(o.Session), oneShot: o.Session.OneShot, calls: newCalls()}
}

func (c *chirality) Event(e terret.Event) []Message {
	c.out = nil
	c.learn(e)
	if _, ok := e.Data.(terret.TurnStart); ok || e.Turn != "" && e.Turn != c.turn {
		c.begin(e.Turn)
	}
	if !e.Hidden() {
		c.translate(e)
	}
	return c.out
}

// begin starts a turn, and ends the previous one if nobody did.
func (c *chirality) begin(turn string) {
	c.abandon()
	c.turn, c.open, c.greeted, c.exit = turn, true, false, nil
	c.calls.nextTurn()
}

// abandon ends what nothing else will end.
func (c *chirality) abandon() {
	if c.open {
		c.fail("the turn ended without a result", c.exit)
	}
	if c.owed {
		c.leave(nil)
	}
}

func (c *chirality) translate(e terret.Event) {
	root := subagent(e) == ""
	switch d := e.Data.(type) {
	case terret.SessionStart:
		c.greet()
	case terret.SessionNativeID:
		c.renamed(d)
	case terret.MessageDelta:
		if root && d.Text != "" {
			c.say("chat:delta", func(h uiHead) any { return uiText{h, d.Text} })
		}
	case terret.ToolStart:
		c.tool(d.ToolID, d.Name, nil, false)
	case terret.ToolPre:
		c.tool(d.ToolID, d.Name, d.Input, true)
	case terret.MessageComplete:
		c.blocks(d.Blocks)
	case terret.ToolPost:
		c.result(d.ToolID, d.Name, plain(d.Content), false)
	case terret.ToolFailure:
		c.result(d.ToolID, d.Name, failed(d), true)
	case terret.TurnComplete:
		c.say("chat:complete", func(h uiHead) any { return uiText{h, d.Text} })
		c.say("session:complete", func(h uiHead) any { return uiComplete{h, d.CostUSD, usageOf(d.Usage)} })
		c.end(c.exit)
	case terret.TurnError:
		exit := c.exit
		if exit == nil && (d.Error.ExitCode != nil || d.Error.Signal != "") {
			exit = &terret.ProcessExit{Code: d.Error.ExitCode, Signal: terret.NullString(d.Error.Signal)}
		}
		c.fail(why(d), exit)
	case terret.ProcessSpawn:
		c.exit = nil // the turn continues in another process
	case terret.ProcessExit:
		switch {
		case c.open:
			c.exit = &d
		case c.owed:
			c.leave(&d)
		}
	case terret.SessionEnd:
		c.abandon()
	}
}

// say sends something of the turn. session:init comes before the first one.
func (c *chirality) say(name string, body func(uiHead) any) {
	if c.open && !c.greeted {
		c.greet()
	}
	c.out = append(c.out, say(name, body(uiHead{name, c.id})))
}

// greet sends session:init with what is known by now.
func (c *chirality) greet() {
	c.greeted = true
	c.say("session:init", func(h uiHead) any { return uiInit{h, terret.NullString(c.native), c.model, c.tools} })
}

// renamed reports that the agent lost the session and started another. A new
// session:init follows, at the latest with the next event.
func (c *chirality) renamed(d terret.SessionNativeID) {
	if d.Reason != "stale" {
		return
	}
	text := d.Error
	if text == "" {
		text = fmt.Sprintf("the agent no longer has session %s", d.Old)
	}
	c.greeted = true // what follows does it
	c.say("session:error", func(h uiHead) any { return uiError{h, text, true} })
	c.greeted = false
}

// tool sends tool:start: once without the input, while the model still writes it, and
// once with it.
func (c *chirality) tool(id, name string, input terret.JSON, whole bool) {
	if c.calls.begin(id, whole) {
		c.say("tool:start", func(h uiHead) any { return uiToolStart{h, id, name, inputOf(input)} })
	}
}

// result sends tool:result, after a tool:start if nothing has reported the call.
func (c *chirality) result(id, name, text string, isError bool) {
	if c.calls.end(id) {
		if name != "" {
			c.tool(id, name, nil, false)
		}
		c.say("tool:result", func(h uiHead) any { return uiToolResult{h, id, text, isError} })
	}
}

// blocks reports the tools in a complete message that nothing else has reported.
func (c *chirality) blocks(blocks []terret.Block) {
	for _, b := range blocks {
		switch b.Type {
		case terret.BlockToolUse:
			c.tool(b.ToolID, b.Name, b.Input, true)
		case terret.BlockToolResult:
			c.result(b.ToolID, "", plain(b.Content), b.IsError)
		default:
		}
	}
}

// fail ends the turn without a result. The text names the exit code, if there is one.
func (c *chirality) fail(text string, exit *terret.ProcessExit) {
	if exit != nil && exit.Code != nil && !strings.Contains(text, fmt.Sprintf("code %d", *exit.Code)) {
		text += fmt.Sprintf(" (exit code %d)", *exit.Code)
	}
	c.say("session:error", func(h uiHead) any { return uiError{h, text, false} })
	c.end(exit)
}

// end ends the turn. Its process:exit follows at once, if it is known or if the process
// continues.
func (c *chirality) end(exit *terret.ProcessExit) {
	c.open, c.owed = false, true
	if exit != nil || !c.oneShot {
		c.leave(exit)
	}
}

// leave sends process:exit, the last message of a turn.
func (c *chirality) leave(exit *terret.ProcessExit) {
	c.owed, c.exit = false, nil
	out := uiExit{}
	if exit != nil {
		out.Code, out.Signal = exit.Code, exit.Signal
	}
	if out.Signal != "" {
		out.Code = nil // as for a process that a signal ended
	}
	c.say("process:exit", func(h uiHead) any { out.uiHead = h; return out })
}

func usageOf(u terret.Usage) uiUsage {
	return uiUsage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

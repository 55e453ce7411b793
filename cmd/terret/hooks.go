package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/terret-dev/terret"
)

// isHook reports whether agents wait at the gate only if somebody wants to decide
// there.
func isHook(g terret.Gate) bool { return slices.Contains(terret.HookGates(), g) }

// hookText describes in one line what waits at such a gate.
func hookText(gate terret.Gate, data terret.JSON) string {
	var d struct {
		LastMessage  string         `json:"last_message"`
		Result       string         `json:"result"`
		Instructions string         `json:"instructions"`
		Blocks       []terret.Block `json:"blocks"`
		Name         string         `json:"name"`
		Input        terret.JSON    `json:"input"`
	}
	_ = json.Unmarshal(data, &d) // missing fields are not shown
	var text, more string
	switch gate {
	case terret.GateStop:
		text, more = "the agent is about to stop", d.LastMessage
	case terret.GateSubagentStop:
		text, more = "a subagent is about to stop", d.Result
	case terret.GateCompact:
		text, more = "the agent is about to compact its context", d.Instructions
	case terret.GatePrompt:
		text, more = "the agent is about to read a prompt", terret.TextOf(d.Blocks)
	case terret.GatePreTool:
		text, more = "the agent is about to use "+d.Name, detail(terret.PermissionRequest{Input: d.Input})
	default:
		text = string(gate)
	}
	if more = oneLine(more); more != "" {
		text += ": " + more
	}
	return printable(text)
}

// hookRefusal is the negative answer at such a gate.
func hookRefusal(gate terret.Gate) terret.Behavior {
	if gate == terret.GatePreTool {
		return terret.BehaviorDeny
	}
	return terret.BehaviorBlock
}

// hook asks whether the agent may continue.
func (a *asker) hook(ctx context.Context, ev terret.Event, d *terret.Decision) error {
	gate := ev.Expects.Gate
	data, err := json.Marshal(ev.Data)
	if err != nil {
		return err
	}
	s := a.screen
	s.line("")
	s.line("%s %s", s.paint(amber, "?"), s.paint(bold, fit(hookText(gate, data), 400)))
	for {
		line, err := a.read(ctx, "  [y]es, let it  [n]o, and say why > ", "y")
		if err != nil {
			return err
		}
		switch word, reason := firstWord(line); word {
		case "y", "yes":
			d.Behavior = terret.BehaviorAllow
			return nil
		case "n", "no":
			d.Behavior, d.Reason = hookRefusal(gate), reason
			return nil
		}
		s.line("  type y or n; after n say why")
	}
}

package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// gateHooks are the hooks that are defined only where somebody wants to decide.
var gateHooks = map[terret.Gate]string{
	terret.GatePrompt: "UserPromptSubmit", terret.GateStop: "Stop", terret.GateSubagentStop: "SubagentStop", terret.GateCompact: "PreCompact",
}

const toolHook = "PreToolUse"

// inward are tools that touch nothing but the agent itself, or ask a person anyway: nobody
// is asked for permission. Rules about them count.
var inward = map[string]bool{
	askTool: true, "update_plan": true, "tool_search": true, "get_goal": true, "create_goal": true, "update_goal": true,
}

// hookedGates are those of the gates that have a hook of their own, sorted.
func hookedGates(gates []terret.Gate) []terret.Gate {
	var out []terret.Gate
	for _, g := range gates {
		if gateHooks[g] != "" && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	slices.Sort(out)
	return out
}

// hookTimeout is how long Codex waits for a hook, in seconds: a year. People are given
// less where somebody says so.
const hookTimeout = 366 * 24 * 60 * 60

// hookArgs are the arguments that define the hooks.
func hookArgs(command string, gates []terret.Gate) []string {
	var args []string
	define := func(name string) {
		handler := seat.Encode([]object{{"hooks": []object{{"type": "command", "command": command, "timeout": hookTimeout}}}})
		args = append(args, "-c", "hooks."+name+"="+tomlOf(handler))
	}
	define(toolHook)
	for _, g := range gates {
		define(gateHooks[g])
	}
	return args
}

// tomlOf writes simple JSON as inline TOML: the colons after keys become equal signs.
func tomlOf(j json.RawMessage) string {
	var out strings.Builder
	inString, escaped := false, false
	for _, b := range j {
		switch {
		case inString:
			inString = escaped || b != '"'
			escaped = !escaped && b == '\\'
		case b == '"':
			inString = true
		case b == ':':
			b = '='
		}
		out.WriteByte(b)
	}
	return out.String()
}

// hookInput is what a hook is told.
type hookInput struct {
	Event    string          `json:"hook_event_name"`
	Session  string          `json:"session_id"`
	Agent    string          `json:"agent_id"` // of a subagent: its thread
	Tool     string          `json:"tool_name"`
	Input    json.RawMessage `json:"tool_input"`
	ToolID   string          `json:"tool_use_id"`
	Again    bool            `json:"stop_hook_active"`
	LastSaid string          `json:"last_assistant_message"`
}

// hookKey tells apart hooks that Codex says it has started. That of a tool ends with the
// tool's id.
func hookKey(event, run string) string {
	if strings.EqualFold(event, toolHook) {
		return run[strings.LastIndex(run, ":")+1:]
	}
	return strings.ToLower(event)
}

// hookAnswer is what a hook prints. None of its fields means no opinion.
type hookAnswer struct {
	Decision   string        `json:"decision,omitempty"` // block
	Reason     string        `json:"reason,omitempty"`
	Specific   *hookSpecific `json:"hookSpecificOutput,omitempty"`
	Continue   *bool         `json:"continue,omitempty"` // false ends the turn
	StopReason string        `json:"stopReason,omitempty"`
}

type hookSpecific struct {
	Event    string      `json:"hookEventName"`
	Decision string      `json:"permissionDecision"` // allow, deny
	Reason   string      `json:"permissionDecisionReason,omitempty"`
	Input    terret.JSON `json:"updatedInput,omitempty"`
}

// hookPatience is how long a hook waits for Codex to say that it has started it, so that
// what was said before comes before it.
const hookPatience = 2 * time.Second

// hook answers a hook. It blocks for as long as the decision takes.
func (p *process) hook(input []byte, answer func(line []byte) error) {
	var in hookInput
	seat.Decode(input, &in)
	key := cmp.Or(in.ToolID, strings.ToLower(in.Event))
	p.awaitHook(key)
	var out hookAnswer
	var decided terret.Decision
	if in.Event == toolHook {
		out, decided = p.toolHook(in)
	} else {
		out, decided = p.gateHook(in, input)
	}
	if answer(seat.Encode(out)) == nil && decided.RequestID != "" {
		_ = p.host().Delivered(p.Life, decided.RequestID) // for the record only
	}
}

// toolHook decides about a tool: first the rules, then whoever is asked for permission.
func (p *process) toolHook(in hookInput) (hookAnswer, terret.Decision) {
	var c *toolCall
	var parent string
	p.say(toolHook, nil, func(t *translator) {
		if !t.turn.running {
			return
		}
		if thread := cmp.Or(in.Agent, in.Session); thread != "" && thread != t.thread {
			t.actor = terret.SubActor(thread)
			if a := t.agents[thread]; a != nil {
				parent = a.tool
			}
		}
		c = t.call(hookedCall(in))
		c.told = true
	})
	if c == nil { // a subagent goes on, which nobody watches any more
		return hookAnswer{Specific: &hookSpecific{Event: toolHook, Decision: "deny", Reason: "the turn is over"}}, terret.Decision{}
	}
	event := func(data terret.Data) terret.Event {
		return terret.Event{Actor: c.actor, ParentTool: parent, Source: toolHook, Data: data}
	}
	d, err := p.ask(terret.Ask{Key: c.id + "/pre", Gate: terret.GatePreTool, Event: event(c.pre())})
	switch open := err == nil && (d.Behavior == terret.BehaviorAsk || d.Behavior == terret.BehaviorPassthrough); {
	case open && inward[c.name]:
		d.Behavior = terret.BehaviorAllow
	case open:
		d, err = p.ask(terret.Ask{Key: c.id, Gate: terret.GatePermission, Event: event(c.request(""))})
	}
	if err != nil {
		d = terret.Decision{Behavior: terret.BehaviorDeny, Reason: "it could not be decided"}
	}
	if d.Behavior == terret.BehaviorAllow {
		p.say(toolHook, nil, func(*translator) { c.allowed = true })
		if len(d.UpdatedInput) == 0 {
			return hookAnswer{}, d
		}
		return hookAnswer{Specific: &hookSpecific{Event: toolHook, Decision: "allow", Input: nativeInput(c.name, d.UpdatedInput)}}, d
	}
	why := cmp.Or(d.Reason, "denied")
	if d.Interrupt {
		p.interrupt()
	}
	p.say(toolHook, nil, func(t *translator) {
		if t.tools[c.id] == nil {
			return // the turn is over
		}
		t.actor = c.actor
		t.complete()
		delete(t.tools, c.id)
		t.deny(c, why, t.now.Sub(c.began).Milliseconds())
	})
	return hookAnswer{Specific: &hookSpecific{Event: toolHook, Decision: "deny", Reason: why}}, d
}

// gateHook decides whether the agent may go on, or stop.
func (p *process) gateHook(in hookInput, input []byte) (hookAnswer, terret.Decision) {
	q := terret.Ask{Key: terret.NewID(terret.PrefixControl), Event: terret.Event{
		Source: in.Event, Data: terret.HookEvent{Hook: in.Event, Data: terret.JSON(input)},
	}}
	for gate, name := range gateHooks {
		if name == in.Event {
			q.Gate = gate
		}
	}
	if q.Gate == "" {
		return hookAnswer{}, terret.Decision{} // none of ours
	}
	if q.Gate == terret.GateStop {
		p.say(in.Event, nil, func(t *translator) { t.complete() }) // it has said all it has to say
		q.Event.Data = terret.StopRequest{LastMessage: in.LastSaid, Again: in.Again}
	}
	d, err := p.ask(q)
	if err != nil || d.Behavior != terret.BehaviorBlock {
		return hookAnswer{}, d
	}
	why := cmp.Or(d.Reason, "blocked")
	if q.Gate == terret.GatePrompt || q.Gate == terret.GateCompact {
		p.say(in.Event, nil, func(t *translator) { t.turn.blocked = why })
	}
	if q.Gate == terret.GateCompact {
		return hookAnswer{Continue: new(bool), StopReason: why}, d
	}
	return hookAnswer{Decision: "block", Reason: why}, d
}

// hookedCall is the call that a hook tells of, in the words of the model.
func hookedCall(in hookInput) toolCall {
	c := toolCall{id: cmp.Or(in.ToolID, terret.NewID(terret.PrefixControl)), name: in.Tool, input: terret.JSON(in.Input)}
	var plain struct {
		Command string `json:"command"`
		Path    string `json:"path"`
	}
	seat.Decode(in.Input, &plain)
	switch in.Tool {
	case "Bash":
		c.name, c.input = shellTool, terret.JSON(seat.Encode(object{"cmd": plain.Command}))
	case patchTool:
		c.input = terret.JSON(seat.Encode(object{"input": plain.Command}))
		c.diff, c.paths = patchDiff(plain.Command)
	default:
		if plain.Path != "" {
			c.paths = []string{plain.Path}
		}
	}
	return c
}

// nativeInput is the input of a tool in the words of its hook.
func nativeInput(tool string, input terret.JSON) terret.JSON {
	var ours struct {
		Cmd   *string `json:"cmd"`
		Input *string `json:"input"`
	}
	seat.Decode(input, &ours)
	switch {
	case tool == shellTool && ours.Cmd != nil:
		return terret.JSON(seat.Encode(object{"command": *ours.Cmd}))
	case tool == patchTool && ours.Input != nil:
		return terret.JSON(seat.Encode(object{"command": *ours.Input}))
	}
	return input
}

// ask puts a request to the host. It must not be called where the agent is read.
func (p *process) ask(q terret.Ask) (terret.Decision, error) {
	return p.host().Ask(p.Life, q)
}

// awaitHook waits until Codex has said that it has started the hook.
func (p *process) awaitHook(key string) {
	ctx, cancel := context.WithTimeout(p.Life, hookPatience)
	defer cancel()
	for {
		p.mu.Lock()
		seen := p.t.hooks[key] > 0
		if seen {
			if p.t.hooks[key]--; p.t.hooks[key] == 0 {
				delete(p.t.hooks, key)
			}
		}
		heard := p.heard
		p.mu.Unlock()
		if seen {
			return
		}
		select {
		case <-heard:
		case <-ctx.Done():
			return
		}
	}
}

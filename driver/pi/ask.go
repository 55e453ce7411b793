package pi

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// extensionSays takes in what an extension says or asks, and reports whether that was
// all there is to do.
func (p *process) extensionSays(l line) bool {
	switch {
	case l.Method == "setStatus" && l.StatusKey == extensionName:
		var s said
		return seat.Decode([]byte(l.StatusText), &s) && p.ours(s)
	case l.Method == "input" && l.Title == extensionName:
		var q asked
		seat.Decode([]byte(l.Placeholder), &q)
		p.Work.Go(func() { p.gate(l.ID, q) })
	case l.Method == "select" || l.Method == "confirm" || l.Method == "input" || l.Method == "editor":
		p.Work.Go(func() { p.question(l) })
	default:
		return false
	}
	return true
}

// ours takes in what our extension says.
func (p *process) ours(s said) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case s.Hello > 0:
		p.hello = s
	case s.Re != "":
		p.results[s.Re] = s
	case len(s.Structured) > 0:
		p.t.turn.structured = terret.JSON(s.Structured)
	default:
		return false
	}
	return true
}

// ask puts a request to the host. It must not be called where the agent is read.
func (p *process) ask(q terret.Ask) (terret.Decision, error) {
	p.mu.Lock()
	a := p.a
	p.mu.Unlock()
	if a == nil {
		return terret.Decision{}, terret.Errorf(terret.CodeConflict, "the session has not begun")
	}
	return a.Req.Host.Ask(p.Life, q)
}

// delivered notes that the agent was told, for the record only.
func (p *process) delivered(d terret.Decision) {
	if d.RequestID != "" {
		_ = p.a.Req.Host.Delivered(p.Life, d.RequestID)
	}
}

// gate answers our extension. It blocks for as long as the decision takes.
func (p *process) gate(id string, q asked) {
	var d terret.Decision
	out := answer{Reason: "Terret does not know what this is"}
	switch q.Gate {
	case "tool":
		out, d = p.tool(q)
	case "compact":
		out, d = p.compact(q)
	}
	if p.send(object{"type": "extension_ui_response", "id": id, "value": string(seat.Encode(out))}) == nil {
		p.delivered(d)
	}
}

// tool decides about a tool: first the rules, then whoever is asked for permission.
func (p *process) tool(q asked) (answer, terret.Decision) {
	var c *call
	p.say("tool_call", func(t *translator) {
		if t.turn.running {
			c = t.call(q.ID, q.Tool)
			c.input, c.told = terret.JSON(q.Input), true
		}
	})
	switch {
	case c == nil:
		return answer{Reason: "no turn is running"}, terret.Decision{}
	case q.Tool == structuredTool: // it changes nothing
		p.say("tool_call", func(t *translator) { t.emit(c.pre(t.cwd)) })
		return answer{Allow: true}, terret.Decision{}
	}
	diff := diffOf(c.input, p.launch.dir)
	var pre terret.ToolPre
	p.say("tool_call", func(t *translator) {
		c.diff = diff
		pre = c.pre(t.cwd)
	})
	event := func(data terret.Data) terret.Event { return terret.Event{Source: "tool_call", Data: data} }
	d, err := p.ask(terret.Ask{Key: c.id + "/pre", Gate: terret.GatePreTool, Event: event(pre)})
	switch {
	case err == nil && d.Behavior == terret.BehaviorPassthrough && harmless(c.name):
		d.Behavior = terret.BehaviorAllow // no rule and no policy is against it
	case err == nil && (d.Behavior == terret.BehaviorAsk || d.Behavior == terret.BehaviorPassthrough):
		d, err = p.ask(terret.Ask{Key: c.id, Gate: terret.GatePermission, Event: event(terret.PermissionRequest{
			ToolID: c.id, Tool: c.name, Class: pre.Class, Input: pre.Input, InputHash: terret.InputHash(pre.Input), Title: pre.Title, Diff: pre.Diff,
		})})
	}
	if err != nil {
		d = terret.Decision{Behavior: terret.BehaviorDeny, Reason: "it could not be decided"}
	}
	if d.Behavior == terret.BehaviorAllow {
		p.say("tool_call", func(*translator) { c.began = time.Now() })
		return answer{Allow: true, Input: json.RawMessage(d.UpdatedInput)}, d
	}
	p.say("tool_call", func(*translator) { c.denied, c.reason = true, cmp.Or(d.Reason, "denied") })
	if d.Interrupt {
		p.interrupt()
	}
	return answer{Reason: c.reason}, d
}

// compact decides whether the conversation may be compacted.
func (p *process) compact(q asked) (answer, terret.Decision) {
	p.mu.Lock()
	wants := p.t.turn.wants(terret.GateCompact)
	p.mu.Unlock()
	if !wants {
		return answer{Allow: true}, terret.Decision{}
	}
	const hook = "session_before_compact"
	about := terret.HookEvent{Hook: hook, Data: terret.JSON(seat.Encode(object{"instructions": q.Instructions}))}
	d, err := p.ask(terret.Ask{
		Key: terret.NewID(terret.PrefixControl), Gate: terret.GateCompact, Event: terret.Event{Source: hook, Data: about},
	})
	if err != nil || d.Behavior != terret.BehaviorBlock {
		return answer{Allow: true}, d
	}
	p.say(hook, func(t *translator) {
		if t.turn.summing { // else the turn goes on
			t.turn.blocked = cmp.Or(d.Reason, "blocked")
		}
	})
	return answer{}, d
}

// question puts what another extension asks to a person. Without an answer the dialog is
// dismissed.
func (p *process) question(l line) {
	var text string
	seat.Decode(l.Message, &text)
	q := terret.Question{ID: "answer", Text: l.Title}
	if text != "" {
		q.Text += "\n" + text
	}
	for _, o := range l.Options {
		q.Options = append(q.Options, terret.Option{Label: o})
	}
	if l.Method == "confirm" {
		q.Options = []terret.Option{{Label: "Yes"}, {Label: "No"}}
	}
	d, err := p.ask(terret.Ask{Key: l.ID, Gate: terret.GateQuestion, Event: terret.Event{
		Source: "extension_ui_request", Data: terret.QuestionRequest{Questions: []terret.Question{q}},
	}})
	out := object{"type": "extension_ui_response", "id": l.ID}
	switch chosen := d.Answers[q.ID]; {
	case err != nil || d.Behavior != terret.BehaviorAnswer || len(chosen) == 0:
		out["cancelled"] = true
	case l.Method == "confirm":
		out["confirmed"] = chosen[0] == "Yes"
	default:
		out["value"] = chosen[0]
	}
	if p.send(out) == nil {
		p.delivered(d)
	}
}

// notice tells what an extension tells people. Pi's other notices are about its terminal.
func (t *translator) notice(l line) {
	var text string
	if l.Method == "notify" && seat.Decode(l.Message, &text) {
		t.emit(terret.Notification{Text: brief.Cut(text, diagLimit), Level: cmp.Or(l.NotifyType, "info"), Type: l.Method})
	}
}

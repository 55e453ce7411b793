package acp

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/rpc"
)

// hear takes in a notification. An error means that the log takes nothing more.
func (a *agent) hear(m rpc.Message) error {
	a.telling.Lock()
	defer a.telling.Unlock()
	if a.d.p.quirks.ignores(m.Method) || a.replaying && m.Method == methodUpdate {
		return nil
	}
	events := a.translate(m)
	for i := range events {
		events[i].Source = m.Method
	}
	if t := a.turn; t != nil && len(events) > 0 {
		t.heard = time.Now()
		if t.cancelled && !t.again {
			// It may have begun only after it was told to stop.
			t.again = true
			a.Work.Go(func() { _ = a.cancel(t) })
		}
	}
	return a.emit(m.Raw, events)
}

// translate gives the events of a notification. a.telling is held.
func (a *agent) translate(m rpc.Message) []terret.Event {
	var params updateParams
	var u update
	if m.Method != methodUpdate || !seat.Decode(m.Params, &params) || !seat.Decode(params.Update, &u) || params.SessionID != a.native && a.native != "" {
		return unknown(m.Method)
	}
	if a.d.p.quirks.ignores(u.Kind) {
		return nil
	}
	if events, ok := a.aside(u); ok {
		return events
	}
	if a.turn == nil { // it would begin a turn that nobody ends
		return unknown(m.Method + " " + u.Kind)
	}
	if events, ok := a.turn.inTurn(u, params.Update); ok {
		return events
	}
	return unknown(m.Method + " " + u.Kind)
}

func unknown(name string) []terret.Event {
	return []terret.Event{{Data: terret.Unknown{NativeType: name}}}
}

// aside takes in what may be said at any time. a.telling is held.
func (a *agent) aside(u update) (events []terret.Event, ok bool) {
	s := &a.state
	switch u.Kind {
	case "available_commands_update":
		list := []terret.Command{}
		for _, c := range u.Commands {
			list = append(list, terret.Command{Name: c.Name, Description: c.Description, Hint: c.Input.Hint})
		}
		if s.commands == nil {
			close(s.listed)
		}
		s.commands = list
		return []terret.Event{{Data: terret.SessionCommands{Commands: list}}}, true
	case "current_mode_update":
		return a.modeChanged(u.Mode), true
	case "config_option_update":
		before := s.mode
		s.options(u.Options)
		mode := s.mode
		s.mode = before
		return a.modeChanged(mode), true
	case "session_info_update":
		if u.Title == "" {
			return nil, true
		}
		return []terret.Event{{Visibility: terret.VisibleInternal, Data: terret.Notification{Text: u.Title, Level: "info", Type: "title"}}}, true
	case "usage_update":
		before, cost := s.context, s.cost
		s.context = terret.ContextUsage{Used: u.Used, Max: u.Size}
		if u.Cost != nil {
			a.count(terret.CostOf(max(u.Cost.Amount, 0)))
		}
		if s.cost == cost && s.context.Used == before.Used && s.context.Max == before.Max {
			return nil, true // some agents repeat it while they ask the model in vain
		}
		return []terret.Event{{Data: a.soFar()}}, true
	case "notice":
		return []terret.Event{{Data: terret.Notification{Text: u.Text, Level: levelOf(u.Level), Type: u.Kind}}}, true
	case "compaction_update":
		if u.State == "completed" {
			return []terret.Event{{Data: terret.CompactPost{}}}, true
		}
		return []terret.Event{{Data: terret.CompactPre{Trigger: "auto"}}}, true
	}
	return nil, false
}

// count takes in what the session has cost. An agent that was started again counts
// anew.
func (a *agent) count(total terret.Cost) {
	if total < a.state.cost && a.turn != nil {
		a.turn.spent = min(a.turn.spent, 0)
	}
	a.state.cost = total
}

// soFar is what the running turn has used by now.
func (a *agent) soFar() terret.UsageUpdate {
	out := terret.UsageUpdate{ContextUsed: a.state.context.Used, ContextMax: a.state.context.Max}
	if t := a.turn; t != nil {
		out.Usage, out.CostUSD = t.usage, max(a.state.cost-t.spent, 0)
	}
	return out
}

func levelOf(level string) string {
	switch level {
	case "warning", "error":
		return level
	}
	return "info"
}

// modeChanged takes in that the agent works in another mode now. What we have told it
// is known already.
func (a *agent) modeChanged(mode string) []terret.Event {
	if mode == "" || mode == a.state.mode {
		return nil
	}
	a.state.mode = mode
	if a.turn == nil || a.turn.open > 0 || a.turn.steps == 0 {
		return nil // we are setting it, or it is about the turn only
	}
	a.mu.Lock()
	a.session.mode = mode
	a.mu.Unlock()
	return []terret.Event{{Data: terret.SessionUpdated{PermissionMode: &mode}}}
}

// inTurn takes in what is part of a turn.
func (t *turn) inTurn(u update, raw json.RawMessage) (events []terret.Event, ok bool) {
	switch u.Kind {
	case "agent_message_chunk", "agent_thought_chunk":
		t.usage = t.usage.Add(u.Meta.Usage.usage())
		var b block
		if !seat.Decode(u.Content, &b) {
			return nil, false
		}
		text, ok := b.block()
		if !ok {
			return nil, false
		}
		if text.Type != terret.BlockText { // a picture, say
			return t.complete(text), true
		}
		if u.Kind == "agent_thought_chunk" {
			return t.text(u.MessageID, strings.TrimPrefix(text.Text, t.profile.quirks.heading), true), true
		}
		if notice := t.profile.quirks.notice; notice != nil && notice.MatchString(text.Text) {
			return t.notice(text.Text), true
		}
		return t.text(u.MessageID, text.Text, false), true
	case "user_message_chunk":
		return nil, true // the prompt, which is in the log
	case "tool_call", "tool_call_update":
		var c call
		if !seat.Decode(raw, &c) || c.ID == "" {
			return nil, false
		}
		one, events := t.upsert(c)
		return append(events, t.progress(one, c)...), true
	case "plan":
		entries := []terret.PlanEntry{}
		for _, e := range u.Entries {
			entries = append(entries, terret.PlanEntry{Text: e.Content, Status: e.Status})
		}
		return []terret.Event{{Data: terret.PlanUpdate{Entries: entries}}}, true
	}
	return nil, false
}

// stray keeps a line that is no message, or that nobody expects.
func (a *agent) stray(line []byte, why error) {
	ev := terret.Event{Data: terret.DiagParseError{Text: brief.Cut(string(line), 500)}}
	var message struct {
		Type   string          `json:"type"`
		ID     json.RawMessage `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	line = bytes.TrimSpace(line)
	if len(line) > 0 && line[0] == '{' && seat.Decode(line, &message) {
		if message.ID != nil {
			a.Req.Log.Debug("an answer of the agent that nobody waits for", "error", why)
			return
		}
		ev.Data = terret.Unknown{NativeType: message.Type}
	}
	if err := a.tell(line, func() []terret.Event { return []terret.Event{ev} }); err != nil {
		a.Req.Log.Warn("a line of the agent could not be logged", "error", err)
	}
}

// notice tells what the agent says for itself, in the place of the model.
func (t *turn) notice(text string) []terret.Event {
	if strings.Contains(text, "Retrying") {
		t.retries++
		return []terret.Event{{Data: terret.Retry{Attempt: t.retries, Error: brief.Cut(text, 500)}}}
	}
	return []terret.Event{{Data: terret.Notification{Text: text, Level: "info"}}}
}

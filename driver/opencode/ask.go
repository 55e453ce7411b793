package opencode

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

// inputPatience is how long the input of a tool may come after the request about it.
const inputPatience = 2 * time.Second

// asking is a request of the agent that is open.
type asking struct {
	session string
	ctx     context.Context
	cancel  context.CancelCauseFunc
	// settled is closed when the request no longer stands in the way of a denial: it is
	// denied itself, or the agent has been told.
	settled chan struct{}
}

// request takes in events that are about requests.
func (s *stay) request(ev event) {
	switch ev.Type {
	case "permission.asked":
		var q permissionAsked
		if seat.Decode(ev.Properties, &q) {
			s.permission(q)
		}
	case "question.asked":
		var q questionAsked
		if seat.Decode(ev.Properties, &q) {
			s.question(q)
		}
	case "permission.replied", "question.replied", "question.rejected":
		var d answered
		seat.Decode(ev.Properties, &d)
		s.mu.Lock()
		if q := s.asks[d.RequestID]; q != nil {
			select {
			case <-q.settled: // by us
			default:
				q.cancel(seat.ErrWithdrawn)
			}
		}
		s.mu.Unlock()
	}
}

// open notes a request, and runs what answers it. It does nothing if the request is
// open already, or about another session.
func (s *stay) open(id, session string, answer func(q *asking)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ours := s.t.actor(session)
	if id == "" || !ours || s.asks[id] != nil || s.over {
		return
	}
	q := &asking{session: session, settled: make(chan struct{})}
	q.ctx, q.cancel = context.WithCancelCause(s.life)
	s.asks[id] = q
	s.asking.Go(func() {
		answer(q)
		s.mu.Lock()
		delete(s.asks, id)
		s.spokeAt = time.Now()
		s.mu.Unlock()
		q.cancel(nil)
		s.nudge()
	})
}

// permission puts a request to use a tool to the host, and answers it. A request that
// cannot be decided is rejected: silence would hold the agent for ever.
func (s *stay) permission(q permissionAsked) {
	s.open(q.ID, q.SessionID, func(open *asking) {
		pre, actor, parent := s.toolOf(open.ctx, q)
		if why := s.forbidden(q, pre); why != "" {
			s.refuse(q, why)
			close(open.settled)
			return
		}
		if s.quiet(q, pre) {
			if d, asked := s.preTool(open, q, pre, actor, parent); !asked {
				return
			} else if d.Behavior != terret.BehaviorAsk {
				s.deliver(open, q, d)
				return
			}
		}
		ask := terret.Ask{Key: q.ID, Gate: terret.GatePermission, Event: terret.Event{
			Source: "permission.asked", Actor: actor, ParentTool: parent,
			Data: terret.PermissionRequest{
				ToolID: pre.ToolID, Tool: pre.Name, Class: pre.Class, Input: pre.Input, InputHash: terret.InputHash(pre.Input),
				Title: pre.Title, Diff: unified(q.Metadata.Diff),
			},
		}}
		d, err := s.a.Req.Host.Ask(open.ctx, ask)
		switch {
		case context.Cause(open.ctx) != nil:
			return // nobody waits for the answer
		case err != nil:
			s.a.Req.Log.Warn("a request of the agent is refused", "error", err)
			s.refuse(q, "it could not be decided")
			close(open.settled)
			return
		}
		s.deliver(open, q, d)
	})
}

// quiet reports whether a person need not be asked about a tool use if no rule says so:
// it changes nothing, stays in the session's folders, and the agent's own rules allow it.
func (s *stay) quiet(q permissionAsked, pre terret.ToolPre) bool {
	if !harmless(pre.Name) {
		return false
	}
	s.mu.Lock()
	role := s.role
	if c, _ := s.t.actor(q.SessionID); c != nil {
		role = c.agent
	}
	s.mu.Unlock()
	if found, ok := s.about.find(role); !ok || !allowed(found.Permission, q.Permission, q.Patterns) {
		return false
	}
	roots := append([]string{s.a.Req.Session.Cwd}, s.a.settings().AddDirs...)
	return !slices.ContainsFunc(pre.Paths, func(path string) bool { return !within(path, roots) })
}

// within reports whether a path is in one of the folders, as it is written. Where links
// lead is for rules to find out.
func within(path string, roots []string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(roots[0], path)
	}
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// preTool lets rules decide. What no rule is about is allowed; where a rule wants a
// person, the decision says ask. asked is false if the agent no longer waits, or has been
// refused.
func (s *stay) preTool(open *asking, q permissionAsked, pre terret.ToolPre, actor, parent string) (d terret.Decision, asked bool) {
	s.mu.Lock()
	c := s.t.calls[q.Tool.CallID]
	if c != nil && c.told {
		c = nil
	}
	if c != nil {
		c.told = true // by the request
	}
	s.mu.Unlock()
	d, err := s.a.Req.Host.Ask(open.ctx, terret.Ask{Key: q.ID + " rules", Gate: terret.GatePreTool, Event: terret.Event{
		Source: "permission.asked", Actor: actor, ParentTool: parent, Data: pre,
	}})
	switch {
	case context.Cause(open.ctx) != nil:
		return d, false
	case err != nil:
		s.a.Req.Log.Warn("a request of the agent is refused", "error", err)
		s.refuse(q, "it could not be decided")
		close(open.settled)
		return d, false
	}
	switch b := d.Behavior; {
	case b == terret.BehaviorPassthrough, b == terret.BehaviorAsk && d.Rule == "":
		d.Behavior = terret.BehaviorAllow
	case b == terret.BehaviorBlock:
		d.Behavior = terret.BehaviorDeny
	}
	return d, true
}

// deliver tells the agent what was decided. It is never told to allow something always:
// that would count for other sessions of the folder too, and past our rules. A denial
// takes the other requests of the session with it, so it comes after them.
func (s *stay) deliver(open *asking, q permissionAsked, d terret.Decision) {
	body := map[string]any{"reply": "once"}
	if d.Behavior != terret.BehaviorAllow {
		body = map[string]any{"reply": "reject"}
		stop := d.Interrupt || d.Source == terret.ByInterrupt || d.Source == terret.ByAgentExit
		if !stop {
			body["message"] = cmp.Or(d.Reason, "denied")
		}
		s.mu.Lock()
		if u := s.t.turn; u != nil && stop {
			u.interrupted = true
		}
		if c := s.t.calls[q.Tool.CallID]; c != nil {
			c.denied, c.reason = true, d.Reason
		}
		others := s.others(open)
		s.mu.Unlock()
		close(open.settled)
		if !stop {
			await(open.ctx, others)
		}
	}
	err := s.c.post(open.ctx, "/permission/"+q.ID+"/reply", body, nil)
	if d.Behavior == terret.BehaviorAllow {
		close(open.settled)
	}
	if err == nil {
		_ = s.a.Req.Host.Delivered(open.ctx, d.RequestID) // for the record only
	} else if open.ctx.Err() == nil && !isStatus(err, 404) {
		s.a.Req.Log.Warn("the agent could not be told of a decision", "error", err)
	}
}

// others are the open requests of the same session. s.mu is held.
func (s *stay) others(but *asking) []*asking {
	var out []*asking
	for _, q := range s.asks {
		if q != but && q.session == but.session {
			out = append(out, q)
		}
	}
	return out
}

// await waits until the requests are settled or withdrawn.
func await(ctx context.Context, all []*asking) {
	for _, q := range all {
		select {
		case <-q.settled:
		case <-q.ctx.Done():
		case <-ctx.Done():
			return
		}
	}
}

// toolOf is the tool use that a request is about, with whoever makes it. The request
// may come before the tool's input.
func (s *stay) toolOf(ctx context.Context, q permissionAsked) (pre terret.ToolPre, actor, parent string) {
	s.mu.Lock()
	if c, ok := s.t.actor(q.SessionID); ok && c != nil {
		actor, parent = terret.SubActor(c.id), c.tool
	}
	var c *call
	if q.Tool.CallID != "" && s.t.turn != nil {
		c = s.t.call(q.Tool.CallID)
	}
	s.mu.Unlock()
	if c != nil {
		timer := time.NewTimer(inputPatience)
		select {
		case <-c.known:
		case <-timer.C:
			s.fetchInput(ctx, q)
		case <-ctx.Done():
		}
		timer.Stop()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c != nil && c.read {
		return s.t.toolPre(c, ""), actor, parent
	}
	input := map[string]any{"patterns": q.Patterns}
	if q.Metadata.Command != "" {
		input["command"] = q.Metadata.Command
	}
	if q.Metadata.FilePath != "" {
		input["filePath"] = q.Metadata.FilePath
	}
	unknown := &call{id: q.Tool.CallID, name: s.t.opts.names.ours(q.Permission), input: terret.JSON(seat.Encode(input))}
	return s.t.toolPre(unknown, ""), actor, parent
}

// fetchInput reads the message that a request is about.
func (s *stay) fetchInput(ctx context.Context, q permissionAsked) {
	var m storedMessage
	if s.c.get(ctx, "/session/"+q.SessionID+"/message/"+q.Tool.MessageID, &m) != nil {
		return
	}
	s.mu.Lock()
	events := s.t.stored([]storedMessage{m}, time.Now())
	s.mu.Unlock()
	_ = s.emit(events) // if it fails, the next one does too
}

// forbidden is why a tool use is refused without asking anybody: the agent's own rules
// forbid it to the subagent, which asks only because we made it ask, or it would start a
// subagent that does not ask.
func (s *stay) forbidden(q permissionAsked, pre terret.ToolPre) string {
	s.mu.Lock()
	c, _ := s.t.actor(q.SessionID)
	running := s.t.turn != nil
	s.mu.Unlock()
	if !running {
		return "no turn is running"
	}
	if c != nil {
		if role, ok := s.about.find(c.agent); ok && denied(role.Permission, q.Permission, q.Patterns) {
			return fmt.Sprintf("OpenCode's own settings deny %s to the agent %s", q.Permission, c.agent)
		}
	}
	if pre.Name == "task" {
		var f toolInput
		seat.Decode(pre.Input, &f)
		return s.unwatched(f.SubagentType)
	}
	return ""
}

// unwatched says why a subagent may not be started, if that is so.
func (s *stay) unwatched(name string) string {
	if role, ok := s.about.find(name); ok && !watched(role.Permission) {
		return fmt.Sprintf("the settings of the agent %s let it use tools without asking, so it may not be started here; take its permissions out of OpenCode's settings", name)
	}
	return ""
}

// refuse rejects a request without asking anybody.
func (s *stay) refuse(q permissionAsked, why string) {
	s.mu.Lock()
	if c := s.t.calls[q.Tool.CallID]; c != nil {
		c.denied, c.reason = true, why
	}
	s.mu.Unlock()
	err := s.c.post(s.life, "/permission/"+q.ID+"/reply", map[string]any{"reply": "reject", "message": why}, nil)
	if err != nil && s.life.Err() == nil {
		s.a.Req.Log.Warn("the agent could not be told of a refusal", "error", err)
	}
}

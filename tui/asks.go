package tui

import (
	"slices"

	"github.com/terret-dev/terret"
)

// requestOf is the request that an event makes, if a person may have to answer it.
func requestOf(e terret.Event) (request, bool) {
	q := request{session: e.Session, data: e.Data, since: e.Time.Time}
	switch d := e.Data.(type) {
	case terret.PermissionRequest:
		q.id, q.gate = d.RequestID, terret.GatePermission
	case terret.QuestionRequest:
		q.id, q.gate = d.RequestID, terret.GateQuestion
	case terret.PlanRequest:
		q.id, q.gate = d.RequestID, terret.GatePlan
	case terret.StopRequest:
		q.id, q.gate = d.RequestID, terret.GateStop
	default:
		if e.Expects == nil {
			return request{}, false
		}
		q.id, q.gate = e.Expects.RequestID, e.Expects.Gate
	}
	return q, e.Expects == nil || !e.Expects.Decided
}

// requestFrom is a request as the server lists it.
func requestFrom(r terret.Request) request {
	kinds := map[terret.Gate]terret.Kind{
		terret.GatePermission: terret.KindPermissionRequest, terret.GateQuestion: terret.KindQuestionRequest,
		terret.GatePlan: terret.KindPlanRequest, terret.GateStop: terret.KindStopRequest, terret.GatePreTool: terret.KindToolPre,
	}
	kind, ok := kinds[r.Gate]
	if !ok {
		kind = terret.KindHookEvent
	}
	data, err := terret.DecodeData(kind, r.Data)
	if err != nil {
		data = terret.Opaque{Name: kind, JSON: r.Data}
	}
	return request{id: r.RequestID, session: r.Session, gate: r.Gate, data: data, since: r.CreatedAt.Time, decision: r.Decision}
}

// asks folds requests and decisions, and reports whether the event is one.
func (c *conversation) asks(e terret.Event) bool {
	if d, ok := terret.DecisionOf(e.Data); ok {
		c.decided(e, d)
		return true
	}
	q, waits := requestOf(e)
	if q.id == "" {
		return false
	}
	switch d := q.data.(type) {
	case terret.QuestionRequest:
		c.told[d.ToolID] = true
	case terret.PlanRequest:
		c.told[d.ToolID] = true
	}
	if waits && c.keys[q.id] == nil {
		c.open = append(c.open, c.add(e, &item{kind: itemRequest, key: q.id, ask: q}))
	}
	return true
}

// decided closes a request. What a person said about a tool stands on the tool's row.
func (c *conversation) decided(e terret.Event, d terret.Decision) {
	it := c.keys[d.RequestID]
	if it == nil || it.kind != itemRequest {
		return
	}
	it.ask.decision = &d
	c.open = slices.DeleteFunc(c.open, func(x *item) bool { return x == it })
	c.touch(e, it)
	if p, ok := it.ask.data.(terret.PermissionRequest); ok {
		if t := c.keys[p.ToolID]; t != nil && t.kind == itemTool && (d.Source == terret.ByUser || d.Source == terret.ByChannel || d.Behavior != terret.BehaviorAllow) {
			if t.note = verdict(d); d.Reason != "" {
				t.note += ": " + oneLine(d.Reason)
			}
			if d.Behavior == terret.BehaviorAllow && d.By == owner && (d.Scope == "" || d.Scope == terret.ScopeOnce) {
				t.note = "" // it ran, so somebody allowed it
			}
			if d.Behavior == terret.BehaviorAllow {
				t.time = e.Time.Time // what a person thought about is no time that it ran
			}
			t.version++
		}
	}
}

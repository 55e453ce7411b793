package acp

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
)

// requestData is what a request of the list asks.
func requestData(r terret.Request) (terret.Data, bool) {
	var data terret.Data
	var err error
	switch r.Gate {
	case terret.GatePermission:
		data, err = decode[terret.PermissionRequest](r.Data)
	case terret.GateQuestion:
		data, err = decode[terret.QuestionRequest](r.Data)
	case terret.GatePlan:
		data, err = decode[terret.PlanRequest](r.Data)
	case terret.GatePreTool, terret.GatePrompt, terret.GateStop, terret.GateSubagentStop, terret.GateCompact, terret.GateTrust: // for programs
	}
	return data, err == nil && data != nil
}

func decode[T terret.Data](raw terret.JSON) (terret.Data, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// ask puts a request to the editor. Requests at other gates are for programs.
func (s *session) ask(id string, data terret.Data) {
	var answer func(context.Context) (terret.Decision, error)
	switch d := data.(type) {
	case terret.PermissionRequest:
		answer = func(ctx context.Context) (terret.Decision, error) { return s.askPermission(ctx, d) }
	case terret.QuestionRequest:
		answer = func(ctx context.Context) (terret.Decision, error) { return s.askQuestions(ctx, d) }
	case terret.PlanRequest:
		answer = func(ctx context.Context) (terret.Decision, error) { return s.askPlan(ctx, d) }
	default:
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.mu.Lock()
	if s.asked[id] != nil {
		s.mu.Unlock()
		cancel()
		return
	}
	s.asked[id] = cancel
	s.mu.Unlock()
	s.d.wait.Go(func() {
		defer cancel()
		d, err := answer(ctx)
		if err != nil || d.Behavior == "" {
			return // somebody else answers: it was withdrawn, or the editor could not ask
		}
		c, err := s.d.client()
		if err == nil {
			d.RequestID = id
			_, err = c.Decide(s.ctx, d, "")
		}
		if code := terret.AsError(err); err != nil && code.Code != terret.CodeAlreadyDecided {
			s.d.cfg.Log.Warn("the answer could not be given", "request", id, "error", err)
		}
	})
}

// withdraw takes a question back that was answered elsewhere.
func (s *session) withdraw(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.asked[id]; cancel != nil {
		cancel()
		delete(s.asked, id)
	}
}

// choose has the editor ask a person for one of the choices. It is empty if nobody chose.
func (s *session) choose(ctx context.Context, call toolCall, choices []choice) (string, error) {
	var answer struct {
		Outcome struct {
			Outcome string `json:"outcome"`
			Option  string `json:"optionId"`
		} `json:"outcome"`
	}
	err := s.d.conn.Call(ctx, "session/request_permission", object{"sessionId": s.id, "toolCall": call, "options": choices}, &answer)
	if err != nil || answer.Outcome.Outcome != "selected" {
		return "", err
	}
	if !slices.ContainsFunc(choices, func(c choice) bool { return c.ID == answer.Outcome.Option }) {
		return "", terret.Invalid("optionId", "the editor chose %q, which was not offered", answer.Outcome.Option)
	}
	return answer.Outcome.Option, nil
}

func (s *session) askPermission(ctx context.Context, r terret.PermissionRequest) (terret.Decision, error) {
	id := r.ToolID
	if id == "" {
		id = r.RequestID
	}
	call := s.call(id, r.Tool, r.Title, r.Class, r.Input, r.Diff)
	if r.Reason != "" {
		call.Content = append(call.Content, contentText(r.Reason))
	}
	choices := []choice{{"allow", "Allow", "allow_once"}, {"session", "Allow for this session", "allow_always"}}
	if len(r.Suggestions) > 0 {
		choices = append(choices, choice{"always", "Always allow " + r.Suggestions[0], "allow_always"})
	}
	choices = append(choices, choice{"deny", "Deny", "reject_once"})
	chosen, err := s.choose(ctx, call, choices)
	d := terret.Decision{Gate: terret.GatePermission, InputHash: r.InputHash}
	switch chosen {
	case "allow":
		d.Behavior, d.Scope = terret.BehaviorAllow, terret.ScopeOnce
	case "session":
		d.Behavior, d.Scope = terret.BehaviorAllow, terret.ScopeSession
	case "always":
		d.Behavior, d.Scope = terret.BehaviorAllow, terret.ScopeAlways
	case "deny":
		d.Behavior = terret.BehaviorDeny
	}
	return d, err
}

func (s *session) askPlan(ctx context.Context, r terret.PlanRequest) (terret.Decision, error) {
	id := r.ToolID
	if id == "" {
		id = r.RequestID
	}
	call := toolCall{ID: id, Title: "Plan", Kind: "switch_mode", Content: []toolContent{contentText(r.Plan)}}
	chosen, err := s.choose(ctx, call, []choice{{"approve", "Approve", "allow_once"}, {"revise", "Keep planning", "reject_once"}})
	d := terret.Decision{Gate: terret.GatePlan}
	switch chosen {
	case "approve":
		d.Behavior = terret.BehaviorApprove
	case "revise":
		d.Behavior = terret.BehaviorRevise
	}
	return d, err
}

// askQuestions shows a form, if the editor has forms, or else offers the answers of one
// question after the other. What cannot be asked like that is left to the other windows.
func (s *session) askQuestions(ctx context.Context, r terret.QuestionRequest) (terret.Decision, error) {
	s.d.mu.Lock()
	forms := s.d.elicits
	s.d.mu.Unlock()
	switch {
	case forms:
		return s.askForm(ctx, r)
	case slices.ContainsFunc(r.Questions, func(q terret.Question) bool { return q.Multi || len(q.Options) == 0 }):
		var text strings.Builder
		text.WriteString("\nThis editor cannot show this question; answer it in Terret's web page, or with `terret decide`:\n")
		for _, q := range r.Questions {
			text.WriteString("\n> " + q.Text + "\n")
		}
		s.told.chunk("agent_message_chunk", "", block{Type: "text", Text: text.String()})
		return terret.Decision{}, nil
	}
	d := terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorAnswer, Answers: map[string]terret.Choice{}}
	for i, q := range r.Questions {
		var choices []choice
		for n, o := range q.Options {
			choices = append(choices, choice{strconv.Itoa(n), o.Label, "allow_once"})
		}
		choices = append(choices, choice{"none", "Do not answer", "reject_once"})
		id := r.ToolID
		if id == "" {
			id = r.RequestID
		}
		chosen, err := s.choose(ctx, toolCall{ID: id + "/" + strconv.Itoa(i), Title: q.Text, Kind: "other"}, choices)
		if err != nil || chosen == "" {
			return terret.Decision{}, err
		}
		n, err := strconv.Atoi(chosen)
		if err != nil {
			return terret.Decision{Gate: terret.GateQuestion, Behavior: terret.BehaviorReject}, nil
		}
		d.Answers[q.ID] = terret.Choice{q.Options[n].Label}
	}
	return d, nil
}

func (s *session) askForm(ctx context.Context, r terret.QuestionRequest) (terret.Decision, error) {
	fields := object{}
	message := ""
	for _, q := range r.Questions {
		labels := make([]string, 0, len(q.Options))
		for _, o := range q.Options {
			labels = append(labels, o.Label)
		}
		field := object{"type": "string", "title": q.Text}
		switch {
		case q.Multi && len(labels) > 0:
			field = object{"type": "array", "title": q.Text, "items": object{"type": "string", "enum": labels}}
		case len(labels) > 0:
			field["enum"] = labels
		}
		fields[q.ID] = field
		if message == "" {
			message = q.Text
		}
	}
	var answer struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content"`
	}
	params := object{"sessionId": s.id, "mode": "form", "message": message, "requestedSchema": object{"type": "object", "properties": fields}}
	if r.ToolID != "" {
		params["toolCallId"] = r.ToolID
	}
	if err := s.d.conn.Call(ctx, "elicitation/create", params, &answer); err != nil {
		return terret.Decision{}, err
	}
	d := terret.Decision{Gate: terret.GateQuestion}
	switch answer.Action {
	case "accept":
		d.Behavior, d.Answers = terret.BehaviorAnswer, map[string]terret.Choice{}
		for id, raw := range answer.Content {
			var c terret.Choice
			if json.Unmarshal(raw, &c) == nil && len(c) > 0 && fields[id] != nil {
				d.Answers[id] = c
			}
		}
		if len(d.Answers) == 0 {
			d.Behavior = terret.BehaviorReject
		}
	case "decline":
		d.Behavior = terret.BehaviorReject
	}
	return d, nil
}

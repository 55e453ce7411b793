package opencode

import (
	"cmp"
	"context"
	"fmt"

	"github.com/terret-dev/terret"
)

// question puts a question to the host, and answers it.
func (s *stay) question(q questionAsked) {
	s.open(q.ID, q.SessionID, func(open *asking) {
		request := terret.QuestionRequest{ToolID: q.Tool.CallID, Questions: []terret.Question{}}
		for i, one := range q.Questions {
			request.Questions = append(request.Questions, terret.Question{
				ID: questionID(i), Header: one.Header, Text: one.Question, Options: one.Options, Multi: one.Multiple,
			})
		}
		s.mu.Lock()
		ev := terret.Event{Source: "question.asked", Data: request}
		if c, ok := s.t.actor(q.SessionID); ok && c != nil {
			ev.Actor, ev.ParentTool = terret.SubActor(c.id), c.tool
		}
		s.mu.Unlock()
		d, err := s.a.Req.Host.Ask(open.ctx, terret.Ask{Key: q.ID, Gate: terret.GateQuestion, Event: ev})
		if context.Cause(open.ctx) != nil {
			// An aborted question stays with the server until it is answered.
			s.reply(context.WithoutCancel(open.ctx), "/question/"+q.ID+"/reject", nil)
			return
		}
		close(open.settled)
		path, body := "/question/"+q.ID+"/reply", any(map[string]any{"answers": answersOf(q, d)})
		if err != nil || d.Interrupt || d.Source == terret.ByInterrupt || d.Source == terret.ByAgentExit {
			path, body = "/question/"+q.ID+"/reject", nil
			s.mu.Lock()
			if u := s.t.turn; u != nil {
				u.interrupted = true
			}
			s.mu.Unlock()
		}
		if s.reply(open.ctx, path, body) && err == nil {
			_ = s.a.Req.Host.Delivered(open.ctx, d.RequestID)
		}
	})
}

func (s *stay) reply(ctx context.Context, path string, body any) bool {
	ctx, cancel := context.WithTimeout(ctx, abortTime)
	defer cancel()
	if !s.lease.Alive() {
		return false
	}
	return s.c.post(ctx, path, body, nil) == nil
}

// questionID is the id of the nth question.
func questionID(n int) string { return fmt.Sprintf("q%d", n+1) }

// answersOf gives the answers as the agent wants them: a list for each question. To
// reject a question would end the turn; so a rejection is told as an answer.
func answersOf(q questionAsked, d terret.Decision) [][]string {
	out := make([][]string, len(q.Questions))
	for i := range q.Questions {
		out[i] = append([]string{}, d.Answers[questionID(i)]...)
		if d.Behavior != terret.BehaviorAnswer {
			out[i] = []string{"(not answered: " + cmp.Or(d.Reason, "decide by yourself") + ")"}
		}
	}
	return out
}

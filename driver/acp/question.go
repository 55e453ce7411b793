package acp

import (
	"context"
	"encoding/json"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/elicit"
	"github.com/terret-dev/terret/internal/rpc"
)

// elicitParams are those of elicitation/create.
type elicitParams struct {
	Message string          `json:"message"`
	URL     string          `json:"url"`
	Schema  json.RawMessage `json:"requestedSchema"`
	Call    string          `json:"toolCallId"` // that waits for the answers
}

// elicit puts questions of the agent to people, and answers it.
func (a *agent) elicit(ctx context.Context, p *process, m rpc.Message) (any, error) {
	var params elicitParams
	if err := m.Decode(&params); err != nil {
		return nil, err
	}
	form, err := elicit.Parse(params.Schema, elicit.Options{Custom: true})
	if err != nil {
		return nil, err
	}
	a.telling.Lock()
	t := a.askable(p)
	if t == nil {
		a.telling.Unlock()
		return elicit.Result{Action: elicit.Cancelled}, nil
	}
	t.heard = time.Now()
	t.open++
	t.asks.Add(1)
	q := terret.QuestionRequest{Questions: form.Questions(params.Message), URL: params.URL}
	if c := t.find(params.Call); c != nil {
		q.ToolID = c.id
	}
	a.telling.Unlock()
	defer t.asks.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })()
	if has(params.Schema) {
		q.Schema = terret.JSON(params.Schema)
	}
	d, err := a.Req.Host.Ask(ctx, terret.Ask{Key: p.id + "/" + m.ID, Gate: terret.GateQuestion, Event: terret.Event{Source: m.Method, Data: q}})
	a.telling.Lock()
	t.open--
	t.heard = time.Now()
	a.telling.Unlock()
	if err != nil {
		return elicit.Result{Action: elicit.Cancelled}, nil //nolint:nilerr // nobody answered
	}
	_ = a.Req.Host.Delivered(ctx, d.RequestID) // for the record only
	return form.Result(d)
}

package native

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// The tools that talk to a person.
const (
	askTool  = "Ask"
	planTool = "Plan"
)

var ownTools = []toolSpec{
	{
		askTool, "Ask the person a question, with options to choose from or free text. Use it when you cannot go on without knowing.",
		json.RawMessage(`{"type":"object","properties":{"question":{"type":"string"},"header":{"type":"string","description":"one or two words"},` +
			`"options":{"type":"array","items":{"type":"object","properties":{"label":{"type":"string"},"description":{"type":"string"}},"required":["label"]}},` +
			`"multi":{"type":"boolean","description":"several options may be chosen"}},"required":["question"],"additionalProperties":false}`),
	},
	{
		planTool, "Present a plan for approval before you carry it out.",
		json.RawMessage(`{"type":"object","properties":{"plan":{"type":"string","description":"Markdown"}},"required":["plan"],"additionalProperties":false}`),
	},
}

// questionID is the id of the only question of an Ask.
const questionID = "answer"

// ask asks the person a question.
func (u *use) ask(ctx context.Context) outcome {
	var in struct {
		Question, Header string
		Options          []terret.Option
		Multi            bool
	}
	if why := readInput(askTool, u.call.Input, &in); why != "" {
		return u.refuse(ctx, why)
	}
	if strings.TrimSpace(in.Question) == "" {
		return u.refuse(ctx, askTool+": the question is empty")
	}
	d, err := u.request(ctx, terret.GateQuestion, terret.QuestionRequest{
		ToolID:    u.call.ToolID,
		Questions: []terret.Question{{ID: questionID, Header: in.Header, Text: in.Question, Options: in.Options, Multi: in.Multi}},
	})
	if err != nil {
		return u.interrupted(ctx, err, tools.Result{}, 0)
	}
	if d.Behavior != terret.BehaviorAnswer {
		o := u.failed(ctx, tools.Result{Text: because("the question was not answered", d.Reason)}, 0)
		o.stop = d.Interrupt
		return o
	}
	return u.done(ctx, tools.Result{Text: strings.Join(d.Answers[questionID], ", ")}, 0)
}

// askFor puts the question of an MCP server to a person. Outside of a turn there is nobody
// to ask.
func (a *agent) askFor(ctx context.Context, q terret.QuestionRequest) (terret.Decision, error) {
	a.mu.Lock()
	busy := a.turn != ""
	a.mu.Unlock()
	if !busy {
		return terret.Decision{}, terret.Errorf(terret.CodeConflict, "no turn runs")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(a.life, stop)()
	d, err := a.host.Ask(ctx, terret.Ask{Key: terret.NewID(terret.PrefixControl), Gate: terret.GateQuestion, Event: terret.Event{Data: q}})
	if err == nil {
		err = a.host.Delivered(ctx, d.RequestID)
	}
	return d, err
}

// plan presents a plan.
func (u *use) plan(ctx context.Context) outcome {
	var in struct{ Plan string }
	if why := readInput(planTool, u.call.Input, &in); why != "" {
		return u.refuse(ctx, why)
	}
	if strings.TrimSpace(in.Plan) == "" {
		return u.refuse(ctx, planTool+": the plan is empty")
	}
	d, err := u.request(ctx, terret.GatePlan, terret.PlanRequest{ToolID: u.call.ToolID, Plan: in.Plan})
	if err != nil {
		return u.interrupted(ctx, err, tools.Result{}, 0)
	}
	if d.Behavior != terret.BehaviorApprove {
		o := u.done(ctx, tools.Result{Text: because("The plan was not approved", d.Reason)}, 0)
		o.stop = d.Interrupt
		return o
	}
	mode := d.NextMode
	if mode == "" {
		mode = modeDefault
	}
	if u.approved(mode) {
		if err := u.emit(ctx, terret.SessionUpdated{PermissionMode: &mode}); err != nil {
			return outcome{text: brokenOff, failed: true, err: err}
		}
	}
	return u.done(ctx, tools.Result{Text: "The plan is approved. Carry it out."}, 0)
}

// because joins what and why, if there is a why.
func because(what, why string) string {
	if why == "" {
		return what + "."
	}
	return what + ": " + why
}

// readInput reads the input of a tool, or says what is wrong with it.
func readInput(tool string, input terret.JSON, into any) (wrong string) {
	dec := json.NewDecoder(strings.NewReader(string(input)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return tool + ": cannot read the input: " + err.Error()
	}
	return ""
}

func (u *use) request(ctx context.Context, gate terret.Gate, data terret.Data) (terret.Decision, error) {
	if err := u.emit(ctx, u.pre()); err != nil {
		return terret.Decision{}, err
	}
	return u.decide(ctx, terret.Ask{Key: u.key, Gate: gate, Event: u.event(data)})
}

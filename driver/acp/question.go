package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/rpc"
)

// elicitParams are those of elicitation/create.
type elicitParams struct {
	Message string          `json:"message"`
	URL     string          `json:"url"`
	Schema  json.RawMessage `json:"requestedSchema"`
}

// field is one of the form that an agent wants filled in.
type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	OneOf       []named  `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []named  `json:"anyOf"`
	} `json:"items"`
}

// named is a value with what people are shown for it.
type named struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// otherSuffix marks the field for an answer that is not among those of the field
// before.
const otherSuffix = "_custom"

// form is the fields that are asked for, by name.
type form map[string]field

func formOf(schema json.RawMessage) form {
	var s struct {
		Properties form `json:"properties"`
	}
	decode(schema, &s)
	return s.Properties
}

// companion reports whether a field only takes what does not fit into another.
func (f form) companion(name string) bool {
	base, ok := strings.CutSuffix(name, otherSuffix)
	_, exists := f[base]
	return ok && exists
}

// questions are the form in the words of people.
func (f form) questions(message string) []terret.Question {
	var out []terret.Question
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if !f.companion(name) {
			out = append(out, f[name].question(name, message))
		}
	}
	if out == nil {
		out = []terret.Question{{ID: "q1", Text: message}}
	}
	return out
}

func (f field) question(name, message string) terret.Question {
	q := terret.Question{ID: name, Header: cmp.Or(f.Title, name), Text: cmp.Or(f.Description, message), Multi: f.Type == "array"}
	for _, v := range slices.Concat(f.Enum, f.Items.Enum) {
		q.Options = append(q.Options, terret.Option{Label: v})
	}
	for _, v := range slices.Concat(f.OneOf, f.Items.AnyOf) {
		q.Options = append(q.Options, terret.Option{Label: cmp.Or(v.Title, v.Const), Description: v.Description})
	}
	if f.Type == "boolean" {
		q.Options = []terret.Option{{Label: "true"}, {Label: "false"}}
	}
	return q
}

// value is what stands for a label that people chose.
func (f field) value(label string) (value string, listed bool) {
	for _, v := range slices.Concat(f.OneOf, f.Items.AnyOf) {
		if label == v.Title || label == v.Const {
			return v.Const, true
		}
	}
	return label, slices.Contains(f.Enum, label) || slices.Contains(f.Items.Enum, label)
}

// fill puts an answer into the content of the form.
func (f form) fill(content object, name string, answer terret.Choice) {
	one, ok := f[name]
	if !ok {
		return
	}
	var values []string
	for _, label := range answer {
		v, listed := one.value(label)
		if _, other := f[name+otherSuffix]; other && !listed {
			content[name+otherSuffix] = label
			continue
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return
	}
	text := strings.Join(values, ", ")
	content[name] = text
	switch one.Type {
	case "array":
		content[name] = values
	case "boolean":
		if b, err := strconv.ParseBool(strings.ToLower(text)); err == nil {
			content[name] = b
		}
	case "integer", "number":
		if json.Valid([]byte(text)) {
			content[name] = json.RawMessage(text)
		}
	}
}

// elicit puts questions of the agent to people, and answers it.
func (a *agent) elicit(ctx context.Context, p *process, m rpc.Message) (any, error) {
	var params elicitParams
	if err := m.Decode(&params); err != nil {
		return nil, err
	}
	f := formOf(params.Schema)
	a.telling.Lock()
	t := a.turn
	if t == nil || t.p != p || t.cancelled || context.Cause(t.life) != nil {
		a.telling.Unlock()
		return object{"action": "cancel"}, nil
	}
	t.heard = time.Now()
	t.open++
	t.asks.Add(1)
	a.telling.Unlock()
	defer t.asks.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.life, func() { cancel(context.Cause(t.life)) })()
	q := terret.QuestionRequest{Questions: f.questions(params.Message), URL: params.URL}
	if has(params.Schema) {
		q.Schema = terret.JSON(params.Schema)
	}
	d, err := a.req.Host.Ask(ctx, terret.Ask{Key: p.id + "/" + m.ID, Gate: terret.GateQuestion, Event: terret.Event{Source: m.Method, Data: q}})
	a.telling.Lock()
	t.open--
	t.heard = time.Now()
	a.telling.Unlock()
	if err != nil {
		return object{"action": "cancel"}, nil //nolint:nilerr // nobody answered
	}
	_ = a.req.Host.Delivered(ctx, d.RequestID) // for the record only
	return f.answer(d), nil
}

// answer is what the agent is told.
func (f form) answer(d terret.Decision) object {
	switch {
	case d.Source == terret.ByInterrupt || d.Source == terret.ByAgentExit:
		return object{"action": "cancel"}
	case d.Behavior != terret.BehaviorAnswer:
		return object{"action": "decline"}
	}
	content := object{}
	for name, answer := range d.Answers {
		f.fill(content, name, answer)
	}
	return object{"action": "accept", "content": content}
}

// Package elicit turns the forms by which MCP servers and ACP agents ask for something into
// questions for people, and the answers into what the form wants.
package elicit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

const (
	maxFields = 20
	maxAsked  = 2000 // characters of a question
)

// The answers to what is only to be confirmed. Yes is the only one that accepts it.
const (
	Yes = "Yes"
	No  = "No"
)

// Confirm is the id of the only question of a form without fields.
const Confirm = "confirm"

// otherSuffix marks a field that takes the answer which the field before it does not list.
const otherSuffix = "_custom"

// Options say how a form is read.
type Options struct {
	// From is who asks, if it is not the agent itself. People are told with each question.
	From string
	// Custom says that a field NAME_custom takes answers that the field NAME does not list.
	Custom bool
}

// Form is what is asked for. It does not change.
type Form struct {
	o      Options
	fields map[string]field
}

type field struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	Names       []string `json:"enumNames"`
	OneOf       []choice `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []choice `json:"anyOf"`
	} `json:"items"`
}

// choice is a value with what people are shown for it.
type choice struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description"`
}

// Parse reads the schema of a form: an object of plain fields. An empty one is a question
// that can only be confirmed.
func Parse(schema []byte, o Options) (Form, error) {
	var in struct {
		Properties map[string]field `json:"properties"`
	}
	if len(schema) > 0 {
		if err := json.Unmarshal(schema, &in); err != nil {
			return Form{}, fmt.Errorf("the question must be a form of plain fields: %w", err)
		}
	}
	if len(in.Properties) > maxFields {
		return Form{}, fmt.Errorf("the question must be a form of at most %d fields", maxFields)
	}
	return Form{o: o, fields: in.Properties}, nil
}

// choices are the values that a field lists, as people see them.
func (f field) choices() []choice {
	if f.Type == "boolean" {
		return []choice{{Const: "true", Title: Yes}, {Const: "false", Title: No}}
	}
	var out []choice
	for i, v := range f.Enum {
		c := choice{Const: v}
		if i < len(f.Names) {
			c.Title = f.Names[i]
		}
		out = append(out, c)
	}
	for _, v := range f.Items.Enum {
		out = append(out, choice{Const: v})
	}
	return slices.Concat(out, f.OneOf, f.Items.AnyOf)
}

// Questions are the form in the words of people: one question for each field.
func (f Form) Questions(message string) []terret.Question {
	message = brief.Cut(strings.ToValidUTF8(message, "\uFFFD"), maxAsked)
	var out []terret.Question
	for _, name := range slices.Sorted(maps.Keys(f.fields)) {
		if !f.companion(name) {
			out = append(out, f.question(name, message))
		}
	}
	if out == nil {
		out = []terret.Question{{ID: Confirm, Header: brief.Line(f.o.From), Text: message, Options: []terret.Option{{Label: Yes}, {Label: No}}}}
	}
	return out
}

// companion reports whether a field only takes what another does not list.
func (f Form) companion(name string) bool {
	base, ok := strings.CutSuffix(name, otherSuffix)
	_, exists := f.fields[base]
	return f.o.Custom && ok && exists
}

func (f Form) question(name, message string) terret.Question {
	one := f.fields[name]
	q := terret.Question{ID: name, Header: brief.Line(cmp.Or(one.Title, name)), Text: cmp.Or(one.Description, message), Multi: one.Type == "array"}
	if f.o.From != "" {
		about := strings.TrimSpace(one.Title + " " + one.Description)
		q.Header, q.Text = brief.Line(f.o.From), message+"\n"+cmp.Or(about, name)
	}
	q.Text = brief.Cut(strings.ToValidUTF8(q.Text, "\uFFFD"), maxAsked)
	for _, c := range one.choices() {
		q.Options = append(q.Options, terret.Option{Label: cmp.Or(c.Title, c.Const), Description: c.Description})
	}
	return q
}

// Result is what the asker is told.
type Result struct {
	Action  string         `json:"action"` // accept, decline or cancel
	Content map[string]any `json:"content,omitempty"`
}

// What became of a question.
const (
	Accepted  = "accept"
	Declined  = "decline"
	Cancelled = "cancel"
)

// Result is what the asker gets for a decision. The decision is not changed. The error says
// which answer does not fit its field.
func (f Form) Result(d terret.Decision) (Result, error) {
	switch {
	case d.Source == terret.ByInterrupt || d.Source == terret.ByAgentExit:
		return Result{Action: Cancelled}, nil
	case d.Behavior != terret.BehaviorAnswer, len(f.fields) == 0 && !confirmed(d.Answers[Confirm]):
		return Result{Action: Declined}, nil
	}
	content := map[string]any{}
	for name, answer := range d.Answers {
		if err := f.fill(content, name, answer); err != nil {
			return Result{}, err
		}
	}
	return Result{Action: Accepted, Content: content}, nil
}

func confirmed(answer terret.Choice) bool {
	return len(answer) == 1 && strings.EqualFold(strings.TrimSpace(answer[0]), Yes)
}

// fill puts an answer into the content. Nothing is put there for an empty one.
func (f Form) fill(content map[string]any, name string, answer terret.Choice) error {
	one, ok := f.fields[name]
	if !ok {
		return nil
	}
	var values []string
	for _, label := range answer {
		value, listed := one.value(label)
		if _, other := f.fields[name+otherSuffix]; f.o.Custom && other && !listed {
			content[name+otherSuffix] = label
			continue
		}
		if value != "" {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	text := strings.Join(values, ", ")
	switch one.Type {
	case "array":
		content[name] = values
	case "boolean":
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return fmt.Errorf("the answer to %s must be %s or %s", name, Yes, No)
		}
		content[name] = b
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("the answer to %s must be a whole number", name)
		}
		content[name] = n
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("the answer to %s must be a number", name)
		}
		content[name] = n
	default:
		content[name] = text
	}
	return nil
}

// value is what stands for what people chose or wrote.
func (f field) value(label string) (value string, listed bool) {
	label = strings.TrimSpace(label)
	for _, c := range f.choices() {
		if label == cmp.Or(c.Title, c.Const) || label == c.Const || f.Type == "boolean" && strings.EqualFold(label, c.Title) {
			return c.Const, true
		}
	}
	return label, false
}

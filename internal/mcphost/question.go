package mcphost

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/brief"
)

const (
	maxFields = 20
	maxAsked  = 2000 // bytes of a question
	yes, no   = "Yes", "No"
)

// What became of a question.
const (
	accepted = "accept"
	declined = "decline"
)

// form is what a server asks for.
type form struct {
	Properties map[string]field `json:"properties"`
	Required   []string         `json:"required"`
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

type choice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// choices are the values of a field that can be chosen, by what people see.
func (f field) choices() (labels []string, values map[string]string) {
	values = map[string]string{}
	add := func(value, label string) {
		if label == "" {
			label = value
		}
		labels = append(labels, label)
		values[label] = value
	}
	for i, v := range f.Enum {
		label := ""
		if i < len(f.Names) {
			label = f.Names[i]
		}
		add(v, label)
	}
	for _, v := range f.Items.Enum {
		add(v, "")
	}
	for _, c := range slices.Concat(f.OneOf, f.Items.AnyOf) {
		add(c.Const, c.Title)
	}
	return labels, values
}

// elicit puts the question of a server to a person.
func (s *Servers) elicit(ctx context.Context, server string, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	raw, err := json.Marshal(p.RequestedSchema)
	var f form
	if err == nil {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("the question must be a form: %w", err)
	}
	if len(f.Properties) > maxFields {
		return nil, fmt.Errorf("the question must be a form of at most %d fields", maxFields)
	}
	d, err := s.o.Ask(ctx, terret.QuestionRequest{Questions: f.questions(server, p.Message)})
	if err != nil || d.Behavior != terret.BehaviorAnswer || f.refused(d.Answers) {
		return &mcp.ElicitResult{Action: declined}, nil //nolint:nilerr // nobody answered
	}
	content, err := f.content(d.Answers)
	if err != nil {
		return nil, err
	}
	return &mcp.ElicitResult{Action: accepted, Content: content}, nil
}

// confirm is the id of the only question of an empty form.
const confirm = "confirm"

// refused reports whether a form without fields, which only asks whether to go on, was not
// answered with yes.
func (f form) refused(answers map[string]terret.Choice) bool {
	return len(f.Properties) == 0 && !slices.Contains(answers[confirm], yes)
}

// questions are one for each field.
func (f form) questions(server, message string) []terret.Question {
	head := brief.Line(server)
	message = brief.Cut(strings.ToValidUTF8(message, "\uFFFD"), maxAsked)
	if len(f.Properties) == 0 {
		return []terret.Question{{ID: confirm, Header: head, Text: message, Options: []terret.Option{{Label: yes}, {Label: no}}}}
	}
	var out []terret.Question
	for _, name := range slices.Sorted(maps.Keys(f.Properties)) {
		p := f.Properties[name]
		about := strings.TrimSpace(strings.Join([]string{p.Title, p.Description}, " "))
		if about == "" {
			about = name
		}
		q := terret.Question{ID: name, Header: head, Text: brief.Cut(message+"\n"+about, maxAsked), Multi: p.Type == "array"}
		labels, _ := p.choices()
		if p.Type == "boolean" {
			labels = []string{yes, no}
		}
		for _, l := range labels {
			q.Options = append(q.Options, terret.Option{Label: l})
		}
		out = append(out, q)
	}
	return out
}

// content is what the server gets of the answers.
func (f form) content(answers map[string]terret.Choice) (map[string]any, error) {
	out := map[string]any{}
	for name, p := range f.Properties {
		given := slices.Clone(answers[name]) // the decision is in the log as it was given
		_, values := p.choices()
		for i, g := range given {
			if v, ok := values[g]; ok {
				given[i] = v
			}
		}
		text := strings.TrimSpace(strings.Join(given, ", "))
		if text == "" && !slices.Contains(f.Required, name) {
			continue
		}
		var err error
		switch p.Type {
		case "boolean":
			out[name] = strings.EqualFold(text, yes) || strings.EqualFold(text, "true")
		case "integer":
			out[name], err = strconv.ParseInt(text, 10, 64)
		case "number":
			out[name], err = strconv.ParseFloat(text, 64)
		case "array":
			out[name] = []string(given)
		default:
			out[name] = text
		}
		if err != nil {
			return nil, fmt.Errorf("the answer to %s is not a number", name)
		}
	}
	return out, nil
}

package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/terret-dev/terret"
)

// questionInput is the input of the tool that asks people.
type questionInput struct {
	Questions []struct {
		Question    string          `json:"question"`
		Header      string          `json:"header"`
		Options     []terret.Option `json:"options"`
		MultiSelect bool            `json:"multiSelect"`
	} `json:"questions"`
}

// questionID is the id of the nth question.
func questionID(n int) string { return fmt.Sprintf("q%d", n+1) }

func questionRequest(input json.RawMessage) terret.QuestionRequest {
	var in questionInput
	decode(input, &in)
	out := terret.QuestionRequest{Questions: []terret.Question{}}
	for i, q := range in.Questions {
		out.Questions = append(out.Questions, terret.Question{
			ID: questionID(i), Header: q.Header, Text: q.Question, Options: q.Options, Multi: q.MultiSelect,
		})
	}
	return out
}

// answersByText returns the answers in the agent's form: by the text of the question,
// several in one string. An answer may name its question by id, text or header.
func answersByText(input json.RawMessage, answers map[string]terret.Choice) map[string]string {
	var in questionInput
	decode(input, &in)
	out := map[string]string{}
	for i, q := range in.Questions {
		for _, key := range []string{questionID(i), q.Question, q.Header} {
			if a, ok := answers[key]; ok && key != "" {
				out[q.Question] = strings.Join(a, ", ")
				break
			}
		}
	}
	return out
}

// elicitation handles a question from an MCP server.
func (t *translator) elicitation(m *controlRequest) {
	r := m.Request
	var text string
	decode(r.Message, &text)
	fields := schemaFields(r.RequestedSchema)
	q := terret.QuestionRequest{URL: r.URL, Schema: terret.JSON(r.RequestedSchema)}
	if string(q.Schema) == "null" {
		q.Schema = nil
	}
	for _, name := range sortedKeys(fields) {
		q.Questions = append(q.Questions, fields[name].question(name, text))
	}
	if len(q.Questions) == 0 {
		q.Questions = []terret.Question{{ID: questionID(0), Header: r.MCPServerName, Text: text}}
	}
	t.put(asking{
		id:     m.RequestID,
		ask:    terret.Ask{Gate: terret.GateQuestion, Event: terret.Event{Data: q}},
		answer: func(d terret.Decision) any { return answerElicitation(fields, d) },
	}, "", "", t.head.name())
}

// schemaField is a field of a form from an MCP server.
type schemaField struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
	Items       struct {
		Enum []string `json:"enum"`
	} `json:"items"`
}

func schemaFields(schema json.RawMessage) map[string]schemaField {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	decode(schema, &s)
	out := map[string]schemaField{}
	for name, raw := range s.Properties {
		var f schemaField
		decode(raw, &f)
		out[name] = f
	}
	return out
}

func (f schemaField) question(name, text string) terret.Question {
	out := terret.Question{ID: name, Header: name, Text: text, Multi: f.Type == "array"}
	if f.Title != "" {
		out.Header = f.Title
	}
	if f.Description != "" {
		out.Text += "\n" + f.Description
	}
	options := slices.Concat(f.Enum, f.Items.Enum)
	if f.Type == "boolean" {
		options = []string{"true", "false"}
	}
	for _, o := range options {
		out.Options = append(out.Options, terret.Option{Label: o})
	}
	return out
}

// value converts an answer to the type of the field.
func (f schemaField) value(c terret.Choice) any {
	text := strings.Join(c, ", ")
	switch f.Type {
	case "array":
		return []string(c)
	case "boolean":
		if b, err := strconv.ParseBool(strings.ToLower(text)); err == nil {
			return b
		}
	case "integer":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	case "number":
		if n, err := strconv.ParseFloat(text, 64); err == nil && json.Valid([]byte(text)) {
			return n
		}
	}
	return text
}

type elicitationAnswer struct {
	Action  string         `json:"action"` // accept, decline, cancel
	Content map[string]any `json:"content,omitempty"`
}

// answerElicitation is the answer to a question from an MCP server.
func answerElicitation(fields map[string]schemaField, d terret.Decision) elicitationAnswer {
	switch {
	case d.Source == terret.ByInterrupt || d.Source == terret.ByAgentExit || d.Source == terret.ByTimeout:
		return elicitationAnswer{Action: "cancel"}
	case d.Behavior != terret.BehaviorAnswer:
		return elicitationAnswer{Action: "decline"}
	}
	out := elicitationAnswer{Action: "accept", Content: map[string]any{}}
	for _, name := range slices.Sorted(maps.Keys(d.Answers)) {
		if f, ok := fields[name]; ok {
			out.Content[name] = f.value(d.Answers[name])
		}
	}
	return out
}

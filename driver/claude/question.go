package claude

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/elicit"
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

func questionRequest(r canUseTool) terret.QuestionRequest {
	var in questionInput
	decode(r.Input, &in)
	out := terret.QuestionRequest{ToolID: r.ToolUseID, Questions: []terret.Question{}}
	for i, q := range in.Questions {
		out.Questions = append(out.Questions, terret.Question{
			ID: questionID(i), Header: q.Header, Text: q.Question, Options: q.Options, Multi: q.MultiSelect,
		})
	}
	return out
}

// answersByText returns the answers in the agent's form: by the text of the question,
// several in one string.
func answersByText(input json.RawMessage, answers map[string]terret.Choice) map[string]string {
	var in questionInput
	decode(input, &in)
	out := map[string]string{}
	for i, q := range in.Questions {
		if a, ok := answers[questionID(i)]; ok {
			out[q.Question] = strings.Join(a, ", ")
		}
	}
	return out
}

// elicitation handles a question from an MCP server.
func (t *translator) elicitation(m *controlRequest) {
	r := m.Request
	var text string
	decode(r.Message, &text)
	o := elicit.Options{From: r.MCPServerName}
	form, unreadable := elicit.Parse(r.RequestedSchema, o)
	if unreadable != nil {
		form, _ = elicit.Parse(nil, o) // so that people learn of it
	}
	q := terret.QuestionRequest{Questions: form.Questions(text), URL: r.URL, Schema: terret.JSON(r.RequestedSchema)}
	if string(q.Schema) == "null" {
		q.Schema = nil
	}
	t.put(asking{
		id:  m.RequestID,
		ask: terret.Ask{Gate: terret.GateQuestion, Event: terret.Event{Data: q}},
		answer: func(d terret.Decision) any {
			if out := answerElicitation(form, d); unreadable == nil || out.Action != elicit.Accepted {
				return out
			}
			return elicit.Result{Action: elicit.Declined} // nobody could fill it in
		},
	}, "", "", t.head.name())
}

// answerElicitation is the answer to a question from an MCP server.
func answerElicitation(form elicit.Form, d terret.Decision) elicit.Result {
	if d.Source == terret.ByTimeout {
		return elicit.Result{Action: elicit.Cancelled}
	}
	out, err := form.Result(d)
	if err != nil { // the server could not use it
		return elicit.Result{Action: elicit.Declined}
	}
	return out
}

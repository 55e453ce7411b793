package native

import (
	"context"
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// structuredTool takes the answer of a turn that must fit a schema.
const structuredTool = "StructuredOutput"

const (
	formatPrompt = "\n\nGive your final answer by calling the tool " + structuredTool + ", once, when you are done."
	formatAgain  = "Give your answer by calling the tool " + structuredTool + "."
	maxReminders = 2
	maxMisfits   = 5
)

// format is the form that an answer must have.
type format struct {
	schema   terret.JSON
	resolved *jsonschema.Resolved
}

func newFormat(schema terret.JSON) (*format, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, terret.Invalid("output_schema", "it is not a JSON schema: %w", err)
	}
	if s.Type != "object" {
		return nil, terret.Invalid("output_schema", "it must be the schema of an object: models answer with the input of a tool")
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, terret.Invalid("output_schema", "%w", err)
	}
	return &format{schema: schema, resolved: resolved}, nil
}

func (f *format) spec() *toolSpec {
	return &toolSpec{name: structuredTool, description: "Give the final answer. The input is the answer.", schema: json.RawMessage(f.schema)}
}

// answer takes the answer, or says why it does not fit, so that the model can mend it.
func (u *use) answer(ctx context.Context) outcome {
	var value any
	err := json.Unmarshal(u.call.Input, &value)
	if err == nil {
		err = u.format.resolved.Validate(value)
	}
	if err != nil {
		u.a.mu.Lock()
		u.misfits++
		u.a.mu.Unlock()
		return u.refuse(ctx, "the answer does not fit the schema: "+err.Error()+"; call "+structuredTool+" again with one that does")
	}
	if err := u.emit(ctx, u.pre()); err != nil {
		return outcome{failed: true, err: err}
	}
	u.a.mu.Lock() // calls run concurrently; the last one counts
	u.structured = u.call.Input
	u.a.mu.Unlock()
	return u.done(ctx, tools.Result{Text: "Accepted."}, 0)
}

// remind asks for an answer that the model forgot to give in the right form, a few times.
func (t *turnRun) remind() bool {
	if t.format == nil || t.structured != nil || t.reminders == maxReminders {
		return false
	}
	t.reminders++
	t.a.add(message{role: terret.RoleUser, blocks: []terret.Block{terret.Text(formatAgain)}, turn: t.id})
	return true
}

// unformatted is the error of a turn without the answer that was asked for.
func (t *turnRun) unformatted() error {
	if t.format == nil || t.structured != nil {
		return nil
	}
	return terret.Errorf(terret.CodeMaxStructured, "the model gave no answer that fits output_schema; what it said instead is the text of the turn")
}

// misfit is the error of a turn whose answers did not fit too often.
func (t *turnRun) misfit() error {
	if t.structured != nil || t.misfits < maxMisfits {
		return nil
	}
	return terret.Errorf(terret.CodeMaxStructured, "the model gave %d answers, none of which fits output_schema; simplify the schema, or ask again", t.misfits)
}

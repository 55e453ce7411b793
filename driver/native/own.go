package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// Tool is a tool of the program that embeds the agent. [NewTool] makes one.
type Tool struct {
	// Name is what the model calls it; letters, digits, _ and - are allowed.
	Name        string
	Description string // for the model
	input       func() (*jsonschema.Resolved, json.RawMessage, error)
	run         func(ctx context.Context, input json.RawMessage) (string, error)
}

// NewTool makes a tool of a function. The schema of its input comes from the fields of In,
// a struct or a map, and their json and jsonschema tags. The model gets the text, or the error, that run
// returns. run may be called concurrently, and must return soon when its context ends. Each
// use asks for permission, as one of another tool does.
func NewTool[In any](name, description string, run func(ctx context.Context, in In) (string, error)) Tool {
	return Tool{
		Name: name, Description: description,
		input: func() (*jsonschema.Resolved, json.RawMessage, error) {
			schema, err := jsonschema.For[In](nil)
			if err != nil {
				return nil, nil, err
			}
			if schema.Type != "object" && !slices.Contains(schema.Types, "object") {
				return nil, nil, errors.New("it must be a struct or a map")
			}
			resolved, err := schema.Resolve(nil)
			if err != nil {
				return nil, nil, err
			}
			text, err := json.Marshal(schema)
			return resolved, text, err
		},
		run: func(ctx context.Context, input json.RawMessage) (string, error) {
			var in In
			if err := json.Unmarshal(input, &in); err != nil {
				return "", err
			}
			return run(ctx, in)
		},
	}
}

// ownClass is the class of the program's own tools.
const ownClass = string(terret.ClassOther)

// made are the program's own tools, ready for use.
func (c Config) made() ([]tools.Tool, error) {
	var out []tools.Tool
	seen := map[string]bool{taskTool: true, skillTool: true, askTool: true, planTool: true, structuredTool: true, outputTool: true, killTool: true, todoTool: true}
	for _, t := range tools.All() {
		seen[t.Name] = true
	}
	for _, t := range c.Tools {
		odd := func(r rune) bool {
			return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-'
		}
		switch {
		case t.Name == "" || len(t.Name) > 64 || strings.ContainsFunc(t.Name, odd) || strings.HasPrefix(t.Name, "mcp__"):
			return nil, terret.Errorf(terret.CodeInvalidRequest, "%q cannot be the name of a tool", t.Name)
		case seen[t.Name]:
			return nil, terret.Errorf(terret.CodeInvalidRequest, "there are two tools with the name %s", t.Name)
		case t.run == nil:
			return nil, terret.Errorf(terret.CodeInvalidRequest, "the tool %s was not made by NewTool", t.Name)
		}
		seen[t.Name] = true
		resolved, schema, err := t.input()
		if err != nil {
			return nil, terret.Errorf(terret.CodeInvalidRequest, "the input of the tool %s has no schema: %w", t.Name, err)
		}
		out = append(out, tools.Tool{Name: t.Name, Class: ownClass, Description: t.Description, Schema: schema, Prepare: t.prepare(resolved)})
	}
	return out, nil
}

// prepare checks the input by the schema.
func (t Tool) prepare(schema *jsonschema.Resolved) func(context.Context, tools.Env, json.RawMessage) (*tools.Use, error) {
	return func(_ context.Context, _ tools.Env, input json.RawMessage) (*tools.Use, error) {
		var value any
		err := json.Unmarshal(input, &value)
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: the input does not fit the schema: %w", t.Name, err)
		}
		return tools.Use{Tool: t.Name, Class: ownClass, Title: t.Name}.Doing(func(ctx context.Context, _ func(string)) (r tools.Result, err error) {
			defer func() {
				if v := recover(); v != nil { // one bad tool must not end all sessions
					r, err = tools.Result{Text: fmt.Sprintf("the tool %s panicked: %v", t.Name, v), IsError: true}, nil
				}
			}()
			text, err := t.run(ctx, input)
			switch {
			case ctx.Err() != nil:
				return tools.Result{Text: text}, ctx.Err()
			case err != nil:
				return tools.Result{Text: err.Error(), IsError: true}, nil
			}
			return tools.Result{Text: text}, nil
		}), nil
	}
}

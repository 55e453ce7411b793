package native

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/native/internal/tools"
)

// todoTool keeps the model's list of what is to be done.
const todoTool = "TodoWrite"

const (
	maxTodos = 200
	maxTodo  = 2000 // bytes of one
)

// States of an item.
const (
	todoPending = "pending"
	todoActive  = "in_progress"
	todoDone    = "completed"
)

var todoSpec = toolSpec{
	todoTool, "Keeps a list of what is to be done, which the person sees. Use it for work of several steps: write all items, mark one as in_progress when you begin with it, " +
		"and as completed as soon as it is done. Each call replaces the list.",
	json.RawMessage(`{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},` +
		`"status":{"type":"string","enum":["pending","in_progress","completed"]}},"required":["content","status"],"additionalProperties":false}}},"required":["todos"],"additionalProperties":false}`),
}

// todo replaces the list.
func (u *use) todo(ctx context.Context) outcome {
	var in struct {
		Todos []struct{ Content, Status string }
	}
	if why := readInput(todoTool, u.call.Input, &in); why != "" {
		return u.refuse(ctx, why)
	}
	entries := []terret.PlanEntry{}
	for i, t := range in.Todos {
		switch {
		case len(in.Todos) > maxTodos:
			return u.refuse(ctx, fmt.Sprintf("%s: there are more than %d items", todoTool, maxTodos))
		case strings.TrimSpace(t.Content) == "" || len(t.Content) > maxTodo:
			return u.refuse(ctx, fmt.Sprintf("%s: the content of item %d must have between 1 and %d bytes", todoTool, i+1, maxTodo))
		case !slices.Contains([]string{todoPending, todoActive, todoDone}, t.Status):
			return u.refuse(ctx, fmt.Sprintf("%s: the status of item %d must be %s, %s or %s", todoTool, i+1, todoPending, todoActive, todoDone))
		}
		entries = append(entries, terret.PlanEntry{Text: t.Content, Status: t.Status})
	}
	d, allowed, err := u.permit(ctx, &tools.Use{Title: fmt.Sprintf("To do: %d items", len(entries))}, true)
	switch {
	case err != nil:
		return u.interrupted(ctx, err, tools.Result{}, 0)
	case !allowed:
		return u.denied(ctx, d)
	}
	if u.sub == nil {
		u.a.mu.Lock()
		u.a.past.todos = entries
		u.a.mu.Unlock()
	}
	if err := u.emit(ctx, terret.PlanUpdate{Entries: entries}); err != nil {
		return outcome{text: brokenOff, failed: true, err: err}
	}
	return u.done(ctx, tools.Result{Text: "The list is kept."}, 0)
}

// open says what is still to be done, for a summary; empty if nothing is.
func open(entries []terret.PlanEntry) string {
	var out strings.Builder
	for _, e := range entries {
		if e.Status != todoDone {
			fmt.Fprintf(&out, "\n- %s (%s)", e.Text, e.Status)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	return "\n\nStill to do, by the list in " + todoTool + ":" + out.String()
}

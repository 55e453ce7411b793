package claude

import (
	"cmp"
	"slices"

	"github.com/terret-dev/terret"
)

// planItem is an item of the agent's to-do list.
type planItem struct{ id, text, status string }

// planned reports the to-do list after a tool has changed it.
func (t *translator) planned(c *toolCall, extra toolOutcome) {
	f := decodeInput(c.input)
	switch t.known(c.name) {
	case "TodoWrite":
		t.plan = nil
		for _, d := range f.Todos {
			t.plan = append(t.plan, planItem{text: d.Content, status: d.Status})
		}
	case "TaskCreate":
		if extra.Task.ID == "" {
			return
		}
		t.plan = append(t.plan, planItem{extra.Task.ID, cmp.Or(extra.Task.Subject, f.Subject), "pending"})
	case "TaskUpdate":
		i := slices.IndexFunc(t.plan, func(p planItem) bool { return p.id == f.TaskID })
		switch {
		case f.TaskID == "":
			return
		case i < 0: // made before this process started
			t.plan = append(t.plan, planItem{f.TaskID, cmp.Or(f.Subject, "#"+f.TaskID), cmp.Or(f.Status, "pending")})
		case f.Status == "deleted":
			t.plan = slices.Delete(t.plan, i, i+1)
		default:
			p := &t.plan[i]
			p.text, p.status = cmp.Or(f.Subject, p.text), cmp.Or(f.Status, p.status)
		}
	case "TaskList":
		if extra.Tasks == nil {
			return
		}
		t.plan = nil
		for _, d := range extra.Tasks {
			t.plan = append(t.plan, planItem{d.ID, d.Subject, d.Status})
		}
	default:
		return
	}
	entries := []terret.PlanEntry{}
	for _, p := range t.plan {
		entries = append(entries, terret.PlanEntry{Text: p.text, Status: p.status})
	}
	t.emitBy(c.actor, c.parentTool, "", terret.PlanUpdate{Entries: entries})
}

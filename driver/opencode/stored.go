package opencode

import (
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
)

func (t *translator) unknown(ev event) {
	if slices.ContainsFunc(noise, func(n string) bool { return strings.HasPrefix(ev.Type, n) }) {
		return
	}
	var of subject
	seat.Decode(ev.Properties, &of)
	if _, ok := t.actor(of.SessionID); of.SessionID == "" || ok {
		t.emit("", "", terret.Unknown{NativeType: ev.Type})
	}
}

func (t *translator) todos(d todoEvent) {
	c, ok := t.actor(d.SessionID)
	if !ok || t.turn == nil {
		return
	}
	out := terret.PlanUpdate{Entries: []terret.PlanEntry{}}
	for _, todo := range d.Todos {
		out.Entries = append(out.Entries, terret.PlanEntry{Text: todo.Content, Status: todo.Status})
	}
	if c == nil {
		t.emit("", "", out)
	} else {
		t.emit(c.id, c.tool, out)
	}
}

func (t *translator) stored(all []storedMessage, now time.Time) []terret.Event {
	t.start("", nil, now)
	for _, m := range all {
		unfinished := m.Info
		unfinished.Time.Completed, unfinished.Error = 0, nil
		if known := t.messages[m.Info.ID]; known == nil || !known.told {
			t.messageUpdated(messageEvent{Info: unfinished})
		}
		for _, p := range m.Parts {
			p.SessionID, p.MessageID = m.Info.SessionID, m.Info.ID
			t.partUpdated(p)
		}
		t.messageUpdated(messageEvent{Info: m.Info})
		if known := t.messages[m.Info.ID]; known != nil && m.Info.done() {
			t.complete(known)
		}
	}
	return t.take()
}

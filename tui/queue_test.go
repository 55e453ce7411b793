package tui

import (
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
)

// perform runs a command, and those that it leads to.
func perform(m *model, cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.BatchMsg:
		for _, c := range msg {
			perform(m, c)
		}
	default:
		perform(m, m.update(msg))
	}
}

func write(m *model, words string) {
	for _, r := range words {
		press(m, string(r))
	}
}

// TestHeld holds that what a stop holds is shown as such as soon as the event says so, and
// is sent on, edited and dropped.
func TestHeld(t *testing.T) {
	t.Parallel()
	m := screenOf(t, 100, 30, "none", story().events[:5])
	s := connectedTo(t, m)
	s.reply = map[string]string{"GET /v1/sessions/s1/queue": `{"items":[
		{"id":"t8","held":true,"prompt":[{"type":"text","text":"and then the docs, all of them"},{"type":"image","name":"a.png"}]},
		{"id":"t9","held":true,"prompt":[{"type":"text","text":"a changelog"}]}]}`}
	heard := func(d terret.Data) {
		seq := m.conv.seq + 1
		m.live = &stream{out: make(chan arrival)}
		m.update(batch{stream: m.live, events: []terret.Event{{Seq: seq, Session: "s1", Turn: "t1", Actor: terret.ActorRoot, Data: d}}})
	}
	both := []terret.QueuedPrompt{{Turn: "t8", Text: "and then the docs"}, {Turn: "t9", Text: "a changelog"}}
	heard(terret.QueueChange{Change: terret.QueueAdded, Queue: both, Count: 2})
	if got := seen(t, m); !strings.Contains(got, "waits: and then the docs") || strings.Contains(got, "Held") {
		t.Errorf("queued:\n%s", got)
	}
	if cmd := press(m, "enter"); cmd != nil {
		t.Error("Enter sends on what is not held")
	}
	both[0].Held, both[1].Held = true, true
	heard(terret.QueueChange{Change: terret.QueueHeld, Queue: both, Count: 2})
	heard(terret.TurnError{Error: terret.Error{Code: terret.CodeInterrupted}})
	if got := seen(t, m); !strings.Contains(got, "Held: and then the docs") || !strings.Contains(got, "Held: a changelog") || !strings.Contains(got, "Enter sends it on") {
		t.Errorf("held:\n%s", got)
	}

	said := func(want string) {
		t.Helper()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.Contains(s.said, want) {
			t.Errorf("%q was not asked of the server:\n%s", want, strings.Join(s.said, "\n"))
		}
		s.said = nil
	}
	perform(m, press(m, "enter"))
	said(`POST /v1/sessions/s1/queue/send {}`)
	perform(m, m.command("edit", ""))
	perform(m, press(m, "enter")) // the first of both
	if m.compose.Text != "and then the docs, all of them" {
		t.Fatalf("%q is to be edited", m.compose.Text)
	}
	write(m, "!")
	perform(m, press(m, "enter"))
	said(`PATCH /v1/sessions/s1/queue/t8 {"blocks":[{"text":"and then the docs, all of them!","type":"text"},{"name":"a.png","type":"image"}]}`)
	perform(m, m.command("edit", ""))
	perform(m, press(m, "enter"))
	if press(m, "esc"); m.editing != nil || m.compose.Text != "" {
		t.Errorf("after Esc %q is still edited", m.compose.Text)
	}
	m.queue = m.queue[1:]
	perform(m, m.command("drop", ""))
	said(`DELETE /v1/sessions/s1/queue/t9 null`)
}

package tui

import (
	"fmt"
	"testing"

	"github.com/terret-dev/terret"
)

// long is a session of that many events.
func long(n int) []terret.Event {
	l := &log{}
	for len(l.events) < n {
		i := len(l.events)
		id := fmt.Sprint(i)
		l.add(
			terret.MessageComplete{MessageID: id, Role: terret.RoleAssistant, Blocks: []terret.Block{terret.Text("A message with **marks** and `code`, number " + id)}},
			terret.ToolPre{ToolID: "t" + id, Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"go test"}`)},
			terret.ToolPost{ToolID: "t" + id, Name: "Bash", Content: []terret.Block{terret.Text("ok")}},
		)
	}
	return l.events
}

// BenchmarkOpen folds a session and draws its first frame: one of 50,000 events against an
// empty one.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{0, 50_000} {
		events := long(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				m := benchScreen(b, events)
				_ = m.View()
			}
		})
	}
}

func benchScreen(b *testing.B, events []terret.Event) *model {
	b.Helper()
	m := newModel(b.Context(), Config{Cwd: "/src/api", Theme: "dark"}, nil)
	m.width, m.height = 160, 50
	m.session = record("s1", "long", "/src/api", terret.SessionBusy)
	m.conv = newConversation(m.session)
	for _, e := range events {
		m.conv.apply(e)
	}
	return m
}

// BenchmarkKey is a key and the frame that shows it: at rest, and while a command prints
// 2,000 pieces of output in each frame.
func BenchmarkKey(b *testing.B) {
	for _, pieces := range []int{0, 2000} {
		b.Run(fmt.Sprintf("flood=%d", pieces), func(b *testing.B) {
			m := benchScreen(b, long(50_000))
			l := &log{events: make([]terret.Event, m.conv.seq)}
			l.add(terret.TurnStart{}, terret.ToolPre{ToolID: "flood", Name: "Bash", Class: terret.ClassExecute, Input: terret.JSON(`{"command":"yes"}`)})
			for _, e := range l.events[m.conv.seq:] {
				m.conv.apply(e)
			}
			m.live = &stream{out: make(chan arrival)}
			seq := m.conv.seq
			for b.Loop() {
				var events []terret.Event
				for range pieces {
					seq++
					events = append(events, terret.Event{Seq: seq, Actor: terret.ActorRoot, Data: terret.ToolProgress{ToolID: "flood", Text: "a line of output that a command prints\n"}})
				}
				if pieces > 0 {
					m.update(batch{stream: m.live, events: events})
				}
				press(m, "x")
				_ = m.View()
			}
		})
	}
}

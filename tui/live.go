package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
)

// listen follows the session that is open, from the last event that is known.
func (m *model) listen() tea.Cmd {
	if m.live != nil {
		m.live.cancel()
	}
	m.live = follow(m.ctx, m.wait, m.c, m.session.ID, m.conv.seq)
	return m.live.next
}

// arrived takes what a stream has brought.
func (m *model) arrived(b batch) tea.Cmd {
	switch b.stream {
	case m.live:
		return m.heard(b)
	case m.all:
		return m.noticed(b)
	}
	return nil // of a session that was left
}

// heard folds the events of the session that is open.
func (m *model) heard(b batch) tea.Cmd {
	var cmds []tea.Cmd
	n := len(m.conv.items)
	settles, moved := b.caught, false
	for _, e := range b.events {
		m.conv.apply(e)
		settles = settles || unsettles(e)
		if !m.loading {
			moved = moved || movesBranch(e)
			m.requeue(e)
		}
	}
	if b.caught {
		m.loading = false
		m.seek()
	}
	if m.view.away {
		m.view.news += len(m.conv.items) - n
	}
	if settles && !m.loading || m.conv.changes > m.counted && m.conv.turn == "" {
		cmds = append(cmds, m.look())
	}
	if moved {
		cmds = append(cmds, m.lookBranch())
	}
	if b.err != nil {
		return m.gone(b.err)
	}
	return tea.Batch(append(cmds, b.stream.next)...)
}

// seek goes to the message that was sought, once its session has been read.
func (m *model) seek() {
	f := m.sought
	if f.MessageID == "" || f.Session != m.session.ID || m.loading {
		return
	}
	m.sought = terret.Found{}
	at := slices.IndexFunc(m.conv.items, func(it *item) bool {
		return it.key == f.MessageID || it.kind == itemText && strings.Contains(it.key, "/"+f.MessageID+"/")
	})
	if at >= 0 {
		m.view.to(at)
	}
}

// unsettles reports whether only the server knows what an event changes: what waits, and
// what has changed in the folder.
func unsettles(e terret.Event) bool {
	switch e.Data.(type) {
	case terret.TurnStart, terret.TurnComplete, terret.TurnError, terret.CheckpointRewound, terret.SessionUpdated, terret.QueueChange:
		return true
	}
	return false
}

// gone says that the server is gone, and looks for it again.
func (m *model) gone(err error) tea.Cmd {
	if hasCode(err, terret.CodeSessionNotFound) {
		m.say(bad, "this session was deleted")
		return tea.Batch(m.begin(), m.refresh())
	}
	if m.offline.IsZero() {
		m.offline = m.now()
		return m.connect(retryAfter)
	}
	return nil
}

// noticed folds what happens in all sessions into the lists.
func (m *model) noticed(b batch) tea.Cmd {
	fresh := false
	for i, e := range b.events {
		if i < len(b.bodies) {
			m.feed.add(e, b.bodies[i])
		}
		fresh = m.patch(e) || fresh
	}
	m.current()
	if b.err != nil {
		return m.gone(b.err)
	}
	if fresh {
		return tea.Batch(b.stream.next, m.refresh())
	}
	return b.stream.next
}

// patch changes the lists by an event, and reports whether they must be fetched again.
func (m *model) patch(e terret.Event) (fresh bool) {
	i := slices.IndexFunc(m.sessions, func(s terret.Session) bool { return s.ID == e.Session })
	if i < 0 {
		return e.Kind().InTurn() || e.Kind() == terret.KindSessionStart || e.Kind() == terret.KindSessionUpdated
	}
	s := &m.sessions[i]
	s.LastSeq = max(s.LastSeq, e.Seq)
	switch d := e.Data.(type) {
	case terret.SessionStateChange:
		s.State = d.State
	case terret.SessionUpdated:
		if d.Title != nil {
			s.Title = *d.Title
		}
		if d.Model != nil {
			s.Model = *d.Model
		}
		if d.Policy != nil {
			s.Policy = *d.Policy
		}
	case terret.UsageUpdate:
		s.CostUSD, s.Usage = d.CostUSD, d.Usage
	case terret.TurnStart:
		m.begun[s.ID] = e.Time.Time
		s.UpdatedAt = e.Time
	case terret.TurnComplete, terret.TurnError:
		delete(m.begun, s.ID)
		s.UpdatedAt = e.Time
		return true
	case terret.CheckpointRewound, terret.SessionEnd:
		return true
	default:
		m.patchRequests(e)
	}
	return false
}

func (m *model) patchRequests(e terret.Event) {
	if d, ok := terret.DecisionOf(e.Data); ok {
		m.requests = slices.DeleteFunc(m.requests, func(q request) bool { return q.id == d.RequestID })
		return
	}
	if q, waits := requestOf(e); waits && q.id != "" && !slices.ContainsFunc(m.requests, func(x request) bool { return x.id == q.id }) {
		m.requests = append(m.requests, q)
	}
}

// current keeps the record of the open session as the list has it.
func (m *model) current() {
	for _, s := range m.sessions {
		if s.ID == m.session.ID && s.ID != "" {
			revert := m.session.Revert
			m.session = s
			if s.Revert == nil {
				m.session.Revert = revert
			}
		}
	}
}

package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// entry is a row of the list of sessions: a headline, or a session.
type entry struct {
	head    string
	amber   bool
	session terret.Session
	ask     *request
}

// entries are the rows of the list: what needs the person, then the sessions by folder,
// the folders by their newest session.
func (m *model) entries() []entry {
	var out []entry
	waits := map[string]*request{}
	for i, q := range m.requests {
		if waits[q.session] == nil {
			waits[q.session] = &m.requests[i]
		}
	}
	var need []entry
	for _, s := range m.sessions {
		if q := waits[s.ID]; q != nil {
			need = append(need, entry{session: s, ask: q})
		}
	}
	if len(need) > 0 {
		out = append(append(out, entry{head: "NEEDS YOU " + number(len(need)), amber: true}), need...)
	}
	var folders []string
	by := map[string][]terret.Session{}
	for _, s := range m.sessions {
		if waits[s.ID] != nil {
			continue
		}
		f := folderOf(s.Cwd)
		if by[f] == nil {
			folders = append(folders, f)
		}
		by[f] = append(by[f], s)
	}
	for _, f := range folders {
		out = append(out, entry{head: f})
		for _, s := range by[f] {
			out = append(out, entry{session: s})
		}
	}
	return out
}

// listRows draws the list: only what is in view.
func (m *model) listRows(columns, height int) []line {
	all := m.entries()
	if len(all) == 0 {
		return []line{nil, text(dim, " No session yet."), text(dim, " Say what to do below.")}
	}
	m.listAt = min(max(m.listAt, 0), len(all)-1)
	top := 0
	cursor := slices.IndexFunc(all, func(e entry) bool { return e.session.ID != "" && e.session.ID == m.session.ID })
	if m.focus == onList {
		cursor = m.listAt
	}
	if cursor >= height {
		top = min(cursor-height/2, len(all)-height)
	}
	var rows []line
	for i := top; i < len(all) && len(rows) < height; i++ {
		rows = append(rows, m.listRow(all[i], i, columns))
	}
	return rows
}

// listTop is the first entry in view.
func (m *model) listTop(height int) int {
	all := m.entries()
	cursor := slices.IndexFunc(all, func(e entry) bool { return e.session.ID != "" && e.session.ID == m.session.ID })
	if m.focus == onList {
		cursor = m.listAt
	}
	if cursor >= height {
		return min(cursor-height/2, len(all)-height)
	}
	return 0
}

func (m *model) listRow(e entry, i, columns int) line {
	s := m.theme.signs
	if e.head != "" {
		k := dim
		if e.amber {
			k = needs | bold
		}
		l := join(line{{s.line + " ", border}}, text(k, e.head).cut(columns-4), line{{" ", plain}})
		return append(l, span{strings.Repeat(s.line, max(0, columns-l.width())), border})
	}
	sign, k := s.idle, dim
	right := line(nil)
	switch {
	case e.ask != nil:
		sign, k = s.needs, needs
		right = text(needs, shortly(*e.ask))
	case e.session.State.Working() || e.session.State == terret.SessionStarting:
		sign, k = s.works, works
		if since, ok := m.begun[e.session.ID]; ok {
			right = text(works, clock(m.now().Sub(since)))
		}
	case e.session.State == terret.SessionFailed, e.session.State == terret.SessionStale:
		sign, k = s.failed, bad
		right = text(bad, "failed")
	case e.session.Usage != (terret.Usage{}):
		sign = s.done
		right = text(dim, ago(m.now().Sub(e.session.UpdatedAt.Time)))
	}
	name := plain
	if e.session.ID == m.session.ID && m.conv != nil {
		name = bold
	}
	row := ends(join(line{{sign + " ", k}}, text(name, titleOf(e.session))), right, columns-1)
	if m.focus == onList && i == m.listAt || m.focus != onList && name == bold {
		return row.over(columns)
	}
	return row.fill(columns)
}

// clock is a short time that counts up.
func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("0:%02d", int(max(0, d).Seconds()))
	}
	return took(d)
}

// ago is how long ago something was, in a word.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return number(int(d.Minutes())) + " m"
	case d < 24*time.Hour:
		return number(int(d.Hours())) + " h"
	}
	return number(int(d.Hours()/24)) + " d"
}

// moveList moves the cursor of the list to the next session.
func (m *model) moveList(by int) {
	all := m.entries()
	for i := m.listAt + by; i >= 0 && i < len(all); i += by {
		if all[i].head == "" {
			m.listAt = i
			return
		}
	}
}

// neighbour is the session before or after the open one in the list.
func (m *model) neighbour(by int) string {
	var ids []string
	at := -1
	for _, e := range m.entries() {
		if e.head == "" {
			if e.session.ID == m.session.ID {
				at = len(ids)
			}
			ids = append(ids, e.session.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	if at < 0 {
		if by < 0 {
			return ids[len(ids)-1]
		}
		return ids[0]
	}
	return ids[(at+by+len(ids))%len(ids)]
}

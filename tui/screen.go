package tui

import (
	"fmt"
	"maps"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
)

// The columns that the panes take, and from which width they are there.
const (
	listColumns = 31
	listFrom    = 90
	sideColumns = 48
	sideFrom    = 150
	leastWidth  = 24
)

// frameOf says where everything is.
type frameOf struct {
	list, middle, side int // columns; 0 is not there
	top, height        int // of the part between header and composer
}

// View draws the screen.
func (m *model) View() tea.View {
	rows, cursor := m.screen()
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		m.theme.draw(&b, r.cut(m.width))
	}
	v := tea.NewView(b.String())
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.Cursor = cursor
	v.WindowTitle = m.windowTitle()
	return v
}

func (m *model) windowTitle() string {
	title := "terret"
	if m.conv != nil {
		title = cut(titleOf(m.session), 60) + " - terret"
	}
	if n := len(m.requests); n > 0 {
		title = fmt.Sprintf("(%d) %s", n, title)
	}
	return title
}

func (m *model) columns() frameOf {
	f := frameOf{middle: m.width, top: 1}
	if m.width >= listFrom {
		f.list = listColumns
		f.middle -= listColumns + 1
	}
	if m.width >= sideFrom && m.side && m.conv != nil {
		f.side = sideColumns
		f.middle -= sideColumns + 1
	}
	return f
}

// screen are the rows of the whole screen.
func (m *model) screen() ([]line, *tea.Cursor) {
	if m.width < leastWidth || m.height < 6 {
		return []line{text(plain, "terret"), text(dim, "more room, please")}, nil
	}
	f := m.columns()
	bottom, x, y := m.bottom()
	f.height = max(1, m.height-1-len(bottom))
	rows := make([]line, 0, m.height)
	rows = append(rows, m.header())
	var left, right []line
	if f.list > 0 {
		left = m.listRows(f.list, f.height)
	}
	if f.side > 0 {
		right = m.sideRows(f.side-1, f.height)
	}
	middle := m.middle(f.middle-2, f.height)
	bar := line{{m.theme.signs.bar, border}}
	for i := range f.height {
		var r line
		if f.list > 0 {
			r = join(rowAt(left, i).fill(f.list), bar)
		}
		r = join(r, line{{" ", plain}}, rowAt(middle, i).fill(f.middle-2), line{{" ", plain}})
		if f.side > 0 {
			r = join(r, bar, line{{" ", plain}}, rowAt(right, i).fill(f.side-1))
		}
		rows = append(rows, r)
	}
	rows = append(rows, bottom...)
	if m.overlay != nil || m.focus != onComposer {
		return rows, nil
	}
	cursor := tea.NewCursor(x, 1+f.height+y)
	cursor.Shape = tea.CursorBar
	return rows, cursor
}

func rowAt(rows []line, i int) line {
	if i < len(rows) {
		return rows[i]
	}
	return nil
}

// header is the first row of the screen.
func (m *model) header() line {
	s := m.theme.signs
	dot := span{" " + s.dot + " ", dim}
	left := line{{" terret", bold | accent}}
	if m.width < 72 && m.conv != nil {
		left = line{{" ", plain}}
	}
	if m.conv != nil {
		left = join(left, line{{"  ", plain}}, text(bold, titleOf(m.session)))
	} else {
		left = join(left, text(dim, "  "+folderOf(m.draftOf.Cwd)))
	}
	right := text(plain, m.agentOf())
	if model := m.modelOf(); model != "" && m.width >= 72 && !strings.EqualFold(model, m.agentOf()) {
		right = join(right, line{dot}, text(plain, model))
	}
	policy := m.policyOf()
	k := plain
	if policy == terret.PolicyAutoApprove {
		k = needs | bold
	}
	right = join(right, line{dot}, text(k, policy.Title()))
	if m.conv != nil && m.width >= 72 {
		if u := m.conv.usage; u.ContextMax > 0 {
			right = append(right, span{fmt.Sprintf("   %d %% context", u.ContextUsed*100/u.ContextMax), dim})
		}
		if n := tokens(m.conv.usage.Usage); n > 0 && m.width >= listFrom {
			right = append(right, span{"  " + amount(n) + " tokens", dim})
		}
		if cost := dollars(m.conv.usage.CostUSD); cost != "" {
			right = append(right, span{"  " + cost, dim})
		}
	}
	switch n := len(m.requests); {
	case !m.offline.IsZero():
		right = join(right, line{{"   reconnecting", needs | bold}})
	case n == 1:
		right = append(right, span{"   1 needs you", needs | bold})
	case n > 1:
		right = append(right, span{fmt.Sprintf("   %d need you", n), needs | bold})
	}
	right = append(right, span{" ", plain})
	if m.conv != nil {
		if left.width()+right.width() >= m.width { // the title gives way
			left = left.cut(max(12, m.width-right.width()-2))
		}
		left = join(left, m.place(m.width-left.width()-right.width()-2))
	}
	return ends(left, right, m.width)
}

func (m *model) modelOf() string {
	if m.conv != nil {
		return modelName(firstOf(m.session.Model, m.conv.model))
	}
	return modelName(m.draftOf.Model)
}

func (m *model) policyOf() terret.Policy {
	p := m.draftOf.Policy
	if m.conv != nil {
		p = m.session.Policy
	}
	if p == "" {
		return terret.PolicyAsk
	}
	return p
}

// middle is the conversation, or what is in front of it.
func (m *model) middle(columns, height int) []line {
	if m.overlay != nil {
		head := join(text(bold, m.overlay.title()), line{{"   Esc closes", dim}})
		return append([]line{head.cut(columns), nil}, m.overlay.rows(m, columns, height-2)...)
	}
	if m.conv == nil {
		return m.welcome(columns, height)
	}
	if m.loading {
		return []line{nil, text(dim, "Reading the conversation "+m.theme.signs.ellipsis)}
	}
	if len(m.conv.items) == 0 {
		return []line{nil, text(dim, "Nothing was said yet.")}
	}
	m.paint.columns, m.paint.now, m.paint.agent, m.paint.cards = columns, m.now(), m.agentOf(), m.cardRows
	m.paint.asked = maps.Clone(m.conv.told)
	for _, it := range m.conv.open {
		if q, ok := it.ask.data.(terret.PermissionRequest); ok {
			m.paint.asked[q.ToolID] = true
		}
	}
	rows := m.view.layout(len(m.conv.items), height, m.itemRows)
	m.notice()
	if m.focus == onConversation {
		out := make([]line, len(rows))
		for i, r := range rows {
			out[i] = r
			if i < len(m.view.owners) && m.view.owners[i] == m.at && len(r) > 0 {
				out[i] = r.over(min(columns, reading))
			}
		}
		rows = out
	}
	if len(rows) < height { // a short conversation stands above the composer, as a long one does
		rows = append(make([]line, height-len(rows)), rows...)
	}
	return rows
}

func (m *model) itemRows(i int) []line { return m.paint.rows(m.conv.items, i) }

// notice remembers since when a request has been in view: nobody answers what they have
// not seen.
func (m *model) notice() {
	for _, it := range m.conv.open {
		if _, ok := m.seen[it.ask.id]; !ok {
			m.seen[it.ask.id] = m.now()
		}
	}
}

// welcome is the middle without a session.
func (m *model) welcome(columns, height int) []line {
	with := "" // nobody has chosen an agent: the server does
	if m.draftOf.Agent != "" {
		with = ", with " + m.agentOf()
	}
	rows := []line{
		text(bold, "What should the agent do?"),
		text(dim, "In "+oneLine(m.draftOf.Cwd)+with+", in the mode "+m.policyOf().Title()+"."),
		nil,
		keysLine([]key{{"Enter", "starts"}, {"Shift-Tab", "mode"}}),
		keysLine([]key{{"/model", "agent and model"}, {"/help", "all keys"}}),
		keysLine([]key{{"Ctrl-O", "finds sessions, commands, files"}}),
	}
	if len(m.sessions) > 0 {
		rows = append(rows, keysLine([]key{{"Tab", "goes to the list of sessions"}}))
	}
	top := max(0, (height-len(rows))/2)
	out := make([]line, top, top+len(rows))
	for _, r := range rows {
		pad := max(0, (columns-60)/2)
		out = append(out, join(line{{strings.Repeat(" ", pad), plain}}, r).cut(columns))
	}
	return out
}

// bottom is the composer, with what belongs to it; x and y are where its cursor is.
func (m *model) bottom() (rows []line, x, y int) {
	s := m.theme.signs
	rows = append(rows, m.status()...)
	rows = append(rows, m.waiting()...)
	rows = append(rows, m.attachments()...)
	rows = append(rows, m.popup.rows(m.width)...)
	prompt := line{{" " + s.prompt + " ", bold | accent}}
	if m.reason != nil {
		prompt = line{{" why? ", bold | needs}}
	} else if m.editing != nil {
		prompt = line{{" edit ", bold | needs}}
	}
	pw := prompt.width()
	body, cx, cy := m.compose.rows(m.width - pw - 1)
	most := max(1, min(12, m.height/3))
	from := max(0, min(cy-most+1, len(body)-most))
	if len(body) > most && cy >= from {
		body = body[from:min(len(body), from+most)]
		cy -= from
	}
	if m.compose.Text == "" {
		body = []line{m.hints(m.width - pw - 1)}
	}
	y = len(rows) + cy
	rows = append(rows, indent(body, prompt, line{{strings.Repeat(" ", pw), plain}})...)
	return rows, pw + cx, y
}

// hints is what an empty composer shows.
func (m *model) hints(columns int) line {
	ask := "Message"
	keys := []key{{"@", "files"}, {"/", "commands"}, {"Shift-Tab", "mode"}, {"?", "help"}}
	switch {
	case m.reason != nil:
		return text(dim, "Say why, or what to do instead. Enter sends it, Esc goes back.").cut(columns)
	case m.editing != nil:
		return text(dim, "Enter puts it back into the queue, Esc leaves it as it was.").cut(columns)
	case m.active() != nil && m.focus == onComposer:
		ask = "Answer with a key, or say something"
	case m.conv != nil && m.conv.turn != "":
		ask = "Say something to steer it"
		keys = []key{{"Enter", "now"}, {"Tab", "afterwards"}, {"Esc", "stop"}}
	case m.holds() > 0:
		ask = "A stop held what waited"
		keys = []key{{"/edit /drop", "changes it"}, {"Enter", "sends it on"}}
	}
	for len(keys) > 1 && keysLine(keys).width()+width(ask)+3 > columns {
		keys = keys[1:]
	}
	return ends(text(dim, ask), keysLine(keys), columns)
}

// status is above the composer: what the agent does, or what has just happened. What is said
// about that takes more rows if it does not fit into one, but leaves most of the screen.
func (m *model) status() []line {
	s := m.theme.signs
	var left line
	var said []line
	switch {
	case m.toast.words != "" && m.now().Before(m.toast.until):
		left = text(m.toast.look, m.toast.words)
		if left.width() > m.width-6 {
			said = indent(left.wrap(m.width-2), line{{" ", plain}}, line{{" ", plain}})
			if most := max(1, m.height/4); len(said) > most {
				said = said[:most]
				said[most-1] = join(said[most-1], line{{s.ellipsis, m.toast.look}}).cut(m.width)
			}
			left = nil
		}
	case m.conv != nil:
		left = m.act()
	}
	right := line(nil)
	if m.view.away && m.conv != nil && m.overlay == nil {
		words := s.down + " End goes to the newest"
		if m.view.news > 0 {
			words = fmt.Sprintf("%s %d new", s.down, m.view.news)
		}
		right = line{{" " + words + " ", accent}}
	}
	l := line{{s.line, border}}
	if len(left) > 0 {
		room := m.width - right.width() - 6
		l = join(l, line{{" ", plain}}, left.cut(room), line{{" ", plain}})
	}
	rule := join(append(l, span{strings.Repeat(s.line, max(0, m.width-l.width()-right.width())), border}), right)
	return append([]line{rule}, said...)
}

// act is who does what, since when, and how to stop it.
func (m *model) act() line {
	doing := m.conv.doing()
	if doing == "" {
		return nil
	}
	s := m.theme.signs
	dot := " " + s.dot + " "
	k := works
	since := m.conv.since
	parts := text(k, m.agentOf()+" ")
	if it := m.active(); it != nil {
		k, since = needs, it.ask.since
		parts = text(needs, m.agentOf()+" ")
	} else {
		parts = join(parts, text(dim, strings.TrimSpace(dot)+" "))
	}
	words := []string{clock(m.now().Sub(since))}
	if used := tokens(m.conv.usage.Usage) - m.conv.before; used > 0 && m.width >= 80 {
		words = append(words, amount(used)+" tokens")
	}
	words = append(words, "Esc to stop")
	tail := text(dim, dot+strings.Join(words, dot))
	return join(parts, text(k, doing).cut(max(12, m.width-parts.width()-tail.width()-8)), tail)
}

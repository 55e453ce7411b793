package tui

import (
	"context"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// settle is how long a request must have been in view before a key answers it, and how long
// a person must not have typed: a letter of a message is no answer.
const settles = 350 * time.Millisecond

// twice is how soon the second Ctrl-C must follow the first to leave.
const twice = 3 * time.Second

// press takes a key.
func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if name != "ctrl+c" {
		m.ctrlC = time.Time{}
	}
	switch name {
	case "ctrl+c":
		return m.interruptOrLeave()
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	}
	if m.leader {
		m.leader = false
		if name == "ctrl+e" {
			return m.editDraft()
		}
		return nil
	}
	if m.overlay != nil {
		if name == "esc" {
			m.overlay = nil
			return nil
		}
		return m.overlay.press(m, k)
	}
	if cmd, done := m.global(name); done {
		return cmd
	}
	switch m.focus {
	case onList:
		return m.pressList(k)
	case onConversation:
		return m.pressConversation(k)
	case onComposer:
	}
	return m.pressComposer(k)
}

// interruptOrLeave stops the turn, or leaves at the second time.
func (m *model) interruptOrLeave() tea.Cmd {
	now := m.now()
	if !m.ctrlC.IsZero() && now.Sub(m.ctrlC) < twice {
		return tea.Quit
	}
	m.ctrlC = now
	switch {
	case m.overlay != nil:
		m.overlay = nil
	case m.conv != nil && m.conv.turn != "":
		m.say(plain, "Stopping. Ctrl-C again leaves.")
		return m.interrupt()
	case m.compose.Text != "":
		m.compose.clear()
		m.say(dim, "Ctrl-C again leaves; Ctrl-_ brings the text back.")
		return nil
	}
	m.warn()
	return nil
}

// warn says what the next Ctrl-C does.
func (m *model) warn() {
	words := "Ctrl-C again leaves."
	if n := m.stops(); n > 0 {
		words = "Ctrl-C again leaves, and stops what works in " + count(n, "session") + ". `terret serve` would let it go on."
	}
	m.say(needs, words)
}

// stops counts the sessions in which leaving stops an agent.
func (m *model) stops() int {
	n := 0
	if m.cfg.Owns == nil || !m.cfg.Owns() {
		return 0
	}
	for _, s := range m.sessions {
		if s.State.Working() {
			n++
		}
	}
	return n
}

func (m *model) interrupt() tea.Cmd {
	id := m.session.ID
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		err := c.Interrupt(ctx, id)
		if hasCode(err, terret.CodeConflict) {
			err = nil // it has just ended
		}
		return nil, err
	})
}

// global are the keys that work wherever the focus is.
func (m *model) global(name string) (tea.Cmd, bool) {
	page := max(1, m.height-8)
	switch name {
	case "ctrl+o":
		return m.finder(""), true
	case "ctrl+g":
		return m.nextNeed(), true
	case "alt+up":
		return m.openID(m.neighbour(-1)), true
	case "alt+down":
		return m.openID(m.neighbour(1)), true
	case "alt+n":
		return m.begin(), true
	case "alt+s":
		m.side = !m.side
	case "shift+tab":
		return m.setPolicy(nextPolicy(m.policyOf())), true
	case "pgup":
		m.scrollBy(-page)
	case "pgdown":
		m.scrollBy(page)
	case "shift+up":
		m.scrollBy(-1)
	case "shift+down":
		m.scrollBy(1)
	case "ctrl+home":
		m.view.to(0)
	case "ctrl+end":
		m.view.end()
	default:
		return nil, false
	}
	return nil, true
}

func (m *model) scrollBy(n int) {
	if m.conv != nil {
		m.view.by(n, len(m.conv.items), m.itemRows)
	}
}

func (m *model) openID(id string) tea.Cmd {
	if id == "" || id == m.session.ID {
		return nil
	}
	return m.open(id)
}

// nextNeed opens the session that has waited longest for the person.
func (m *model) nextNeed() tea.Cmd {
	for _, q := range m.requests {
		if q.session != m.session.ID {
			return m.openID(q.session)
		}
	}
	if m.active() != nil {
		m.view.end()
		m.focus = onComposer
		return nil
	}
	m.say(dim, "Nothing needs you.")
	return nil
}

func (m *model) pressList(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.focus = onComposer
	case "tab":
		m.focus = onComposer
		if m.conv != nil && len(m.conv.items) > 0 {
			m.focusConversation()
		}
	case "up", "k":
		m.moveList(-1)
	case "down", "j":
		m.moveList(1)
	case "enter", "right", "l":
		if all := m.entries(); m.listAt < len(all) {
			m.focus = onComposer
			return m.openID(all[m.listAt].session.ID)
		}
	case "n":
		return m.begin()
	case "?":
		m.overlay = &help{}
	case "/":
		return m.finder("")
	}
	return nil
}

func (m *model) focusConversation() {
	m.focus = onConversation
	m.at = len(m.conv.items) - 1
	m.moveItem(0, -1)
}

// moveItem moves the cursor of the conversation to the next item that can be unfolded.
func (m *model) moveItem(by, search int) {
	for i := m.at + by; i >= 0 && i < len(m.conv.items); i += search {
		if foldable(m.conv.items[i]) && len(m.itemRows(i)) > 0 {
			m.at = i
			break
		}
	}
	switch {
	case m.at < m.view.first || m.at == m.view.first && m.view.row > 0:
		m.view.to(m.at)
	case m.at > m.view.last:
		m.view.to(m.at)
	}
}

func (m *model) pressConversation(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc", "tab", "i":
		m.focus = onComposer
	case "up", "k":
		m.moveItem(-1, -1)
	case "down", "j":
		m.moveItem(1, 1)
	case "enter", "space", " ":
		if m.at < len(m.conv.items) && foldable(m.conv.items[m.at]) {
			begin, _ := group(m.conv.items, m.at)
			m.conv.items[begin].turned = !m.conv.items[begin].turned
			if begin == m.at && m.view.away {
				m.view.to(m.at)
			}
		}
	case "g", "home":
		m.view.to(0)
	case "G", "end":
		m.view.end()
	case "?":
		m.overlay = &help{}
	case "u":
		return m.command("undo", "")
	}
	return nil
}

// pressComposer takes a key for the composer, or as the answer to a request.
func (m *model) pressComposer(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	if m.popup.open() {
		if cmd, done := m.popup.press(m, name); done {
			return cmd
		}
	}
	if it := m.active(); it != nil && m.reason == nil && m.editing == nil && m.compose.Text == "" {
		if cmd, done := m.answerBy(it, name); done {
			return cmd
		}
	}
	switch name {
	case "esc":
		return m.escape()
	case "enter":
		return m.enter(client.WhenSteer)
	case "tab":
		return m.tab()
	case "ctrl+x":
		m.leader = true
		m.say(dim, "Ctrl-E opens the text in your editor.")
		return nil
	case "end":
		if m.compose.Text == "" {
			m.view.end()
			return nil
		}
	case "ctrl+d":
		if m.compose.Text == "" {
			return m.interruptOrLeave()
		}
	case "?":
		if m.compose.Text == "" {
			m.overlay = &help{}
			return nil
		}
	}
	if name == "backspace" && m.compose.detach() {
		return nil
	}
	if m.compose.press(k) {
		m.typed = m.now()
		return m.popup.update(m)
	}
	return nil
}

func (m *model) pasted(content string) tea.Cmd {
	if p, ok := m.overlay.(*picker); ok {
		p.query += oneLine(content)
		return p.typed(m)
	}
	m.overlay, m.focus = nil, onComposer
	if paths := imagePaths(content); paths != nil && m.takesImages() && m.reason == nil && m.editing == nil {
		m.typed = m.now()
		return m.attachPaths(content, paths)
	}
	m.compose.insert(content)
	m.typed = m.now()
	return m.popup.update(m)
}

// answerBy answers a request by a key, if it is one for that.
func (m *model) answerBy(it *item, name string) (tea.Cmd, bool) {
	_, asks := it.ask.data.(terret.QuestionRequest)
	isKey := len(name) == 1 && strings.Contains("ysanrDe", name) || asks && (name == "enter" || len(name) == 1 && name >= "1" && name <= "9")
	since, inView := m.seen[it.ask.id]
	switch {
	case !isKey, m.now().Sub(m.typed) < settles: // it belongs to what is being written
		return nil, false
	case !inView, m.now().Sub(since) < settles: // nobody can have read it
		return nil, true
	case name == "e":
		return m.editRequest(it), true
	}
	d, needsWords, ok := m.answer(it, name)
	switch {
	case !ok:
		return nil, true
	case needsWords:
		m.reason = &d
		return nil, true
	}
	return m.decide(d), true
}

func (m *model) decide(d terret.Decision) tea.Cmd {
	m.reason, m.toast = nil, toast{}
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		_, err := c.Decide(ctx, d, "")
		if hasCode(err, terret.CodeAlreadyDecided) {
			return told{words: "It was answered elsewhere."}, nil
		}
		return nil, err
	})
}

func (m *model) escape() tea.Cmd {
	switch {
	case m.reason != nil, m.editing != nil:
		m.reason, m.editing = nil, nil
		m.compose.clear()
	case m.conv != nil && m.conv.turn != "":
		return m.interrupt()
	case m.view.away:
		m.view.end()
	}
	return nil
}

// tab queues what is written while the agent works, or moves the focus.
func (m *model) tab() tea.Cmd {
	switch {
	case m.compose.Text != "" && m.conv != nil && m.conv.turn != "":
		return m.enter(client.WhenQueue)
	case m.compose.Text != "":
	case m.columns().list > 0 && len(m.sessions) > 0:
		m.focus = onList
		for i, e := range m.entries() {
			if e.head == "" && (e.session.ID == m.session.ID || m.listAt == 0) {
				m.listAt = i
				if e.session.ID == m.session.ID {
					break
				}
			}
		}
	case m.conv != nil && len(m.conv.items) > 0:
		m.focusConversation()
	default:
		return m.finder("")
	}
	return nil
}

// enter sends what is written: as the reason of an answer, as an answer, a command, or a
// prompt.
func (m *model) enter(when string) tea.Cmd {
	if strings.HasSuffix(m.compose.Text, `\`) && m.compose.At == len(m.compose.Text) {
		m.compose.Press("backspace")
		m.compose.Insert("\n")
		return nil
	}
	if m.compose.reading > 0 {
		m.say(dim, "A picture is being read; then Enter sends it.")
		return nil
	}
	if strings.TrimSpace(m.compose.Text) == "" && (len(m.compose.images) == 0 || m.reason != nil || m.editing != nil) {
		if m.holds() > 0 && m.conv.turn == "" && m.editing == nil && m.reason == nil {
			return m.sendHeld("")
		}
		return nil
	}
	if m.c == nil {
		m.eager = true
		m.say(dim, "Connecting; then it is sent.")
		return nil
	}
	m.typed, m.toast = time.Time{}, toast{} // it was about what came before
	if m.reason != nil {
		d := *m.reason
		d.Reason = m.compose.take()
		return m.decide(d)
	}
	if m.editing != nil {
		return m.saveQueued()
	}
	if it := m.active(); it != nil {
		if q, ok := it.ask.data.(terret.QuestionRequest); ok && m.card.question < len(q.Questions) {
			if d, _, done := m.chose(q, terret.Choice{m.compose.take()}); done {
				return m.decide(d)
			}
			return nil
		}
	}
	said := m.compose.take()
	m.popup = popup{}
	if name, arg, ok := slash(said); ok {
		return m.command(name, arg)
	}
	m.view.end()
	return m.prompt(said, when, m.compose.takeImages()...)
}

// slash splits a command into its name and its argument.
func slash(said string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(said, "/")
	if !ok || rest == "" || strings.HasPrefix(rest, "/") {
		return "", "", false
	}
	name, arg, _ = strings.Cut(rest, " ")
	if strings.ContainsAny(name, "/\n") { // a path
		return "", "", false
	}
	return name, strings.TrimSpace(arg), true
}

// wheel scrolls what is under the mouse.
func (m *model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	by := 3
	if msg.Button == tea.MouseWheelUp {
		by = -3
	}
	switch f := m.columns(); {
	case m.overlay != nil:
		key := tea.KeyPressMsg{Code: tea.KeyDown}
		if by < 0 {
			key.Code = tea.KeyUp
		}
		return m.overlay.press(m, key)
	case f.list > 0 && msg.X < f.list:
		m.focus = onList
		m.moveList(by / 3)
	default:
		m.scrollBy(by)
	}
	return nil
}

// click opens the session, or unfolds what is under the mouse.
func (m *model) click(msg tea.MouseClickMsg) tea.Cmd {
	f := m.columns()
	bottom, _, _ := m.bottom()
	height := m.height - 1 - len(bottom)
	y := msg.Y - 1
	if msg.Button != tea.MouseLeft || y < 0 || m.overlay != nil {
		return nil
	}
	if y >= height {
		m.focus = onComposer
		return nil
	}
	if f.list > 0 && msg.X < f.list {
		if all, i := m.entries(), m.listTop(height)+y; i < len(all) {
			return m.openID(all[i].session.ID)
		}
		return nil
	}
	if m.conv == nil {
		return nil
	}
	i := y - max(0, height-len(m.view.owners))
	if i >= 0 && i < len(m.view.owners) {
		if it := m.conv.items[m.view.owners[i]]; foldable(it) {
			begin, _ := group(m.conv.items, m.view.owners[i])
			m.conv.items[begin].turned = !m.conv.items[begin].turned
		}
	}
	return nil
}

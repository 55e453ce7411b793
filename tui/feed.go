package tui

import (
	"cmp"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
)

// feed is what has happened in all sessions since the workspace began: the newest events.
type feed struct {
	rows []fed
	lost int // that are no longer kept
}

type fed struct {
	event terret.Event
	body  []byte
}

// How much the feed keeps.
const (
	maxFed      = 3000
	maxKeptBody = 4 << 10
)

func (f *feed) add(e terret.Event, entry terret.Entry) {
	if len(f.rows) == maxFed {
		n := copy(f.rows, f.rows[maxFed/4:])
		clear(f.rows[n:])
		f.rows, f.lost = f.rows[:n], f.lost+maxFed/4
	}
	e.Data = light(e.Data)
	f.rows = append(f.rows, fed{e, entry.Body})
}

// light leaves the bodies of tools to the entry, which is bounded.
func light(d terret.Data) terret.Data {
	switch d := d.(type) {
	case terret.ToolPost:
		d.Content, d.Structured, d.Diff = nil, nil, ""
		return d
	case terret.ToolFailure:
		d.Content, d.Structured, d.Diff = nil, nil, ""
		return d
	}
	return d
}

// feedView shows the feed, newest last, narrowed by words: of kinds, sessions and tools.
type feedView struct {
	query  string
	paused int // rows that were there when it was paused; 0 if it runs
	up     int // rows from the end
	opened bool
}

func (v *feedView) title() string { return "Feed" }

func (v *feedView) matching(m *model) []fed {
	all := m.feed.rows
	if v.paused > 0 {
		all = all[:min(v.paused, len(all))]
	}
	words := strings.Fields(strings.ToLower(v.query))
	if len(words) == 0 {
		return all
	}
	var out []fed
	for _, f := range all {
		row := strings.ToLower(m.feedWords(f))
		fits := true
		for _, w := range words {
			fits = fits && strings.Contains(row, w)
		}
		if fits {
			out = append(out, f)
		}
	}
	return out
}

func (m *model) titleOfID(id string) string {
	for _, s := range m.sessions {
		if s.ID == id {
			return titleOf(s)
		}
	}
	return cut(id, 13)
}

func (m *model) feedWords(f fed) string {
	return string(f.event.Kind()) + " " + m.titleOfID(f.event.Session) + " " + gistOf(f.event)
}

// gistOf is an event in a few words.
func gistOf(e terret.Event) string {
	if d, ok := terret.DecisionOf(e.Data); ok {
		return verdict(d) + gap(oneLine(d.Reason))
	}
	switch d := e.Data.(type) {
	case terret.ToolPre:
		return oneLine(d.Name) + " " + argument(d.Input, "")
	case terret.ToolPost:
		return oneLine(d.Name) + lasted(millis(d.DurationMS))
	case terret.ToolFailure:
		return oneLine(d.Name) + ": " + flat(d.Error)
	case terret.PermissionRequest:
		return oneLine(d.Tool) + " " + argument(d.Input, "")
	case terret.TurnStart:
		return flat(promptText(d.Prompt))
	case terret.TurnComplete:
		return amount(tokens(d.Usage)) + " tokens  " + took(millis(d.DurationMS))
	case terret.TurnError:
		return flat(d.Error.Error())
	case terret.MessageComplete:
		return flat(terret.TextOf(d.Blocks))
	case terret.SessionStateChange:
		return string(d.State)
	case terret.Notification:
		return flat(d.Text)
	case terret.ToolProgress:
		return flat(d.Text)
	case terret.FileChanged:
		return oneLine(d.Change + " " + d.Path)
	case terret.DiagStderr:
		return flat(d.Text)
	case terret.DiagWarning:
		return flat(d.Text)
	}
	return ""
}

func (v *feedView) press(m *model, k tea.KeyPressMsg) tea.Cmd {
	all := v.matching(m)
	last := max(0, len(all)-1)
	switch k.String() {
	case "up", "ctrl+p":
		v.up = min(last, v.up+1)
	case "down", "ctrl+n":
		v.up = max(0, v.up-1)
	case "pgup":
		v.up = min(last, v.up+10)
	case "pgdown":
		v.up = max(0, v.up-10)
	case "tab":
		v.opened = !v.opened
	case "enter":
		if i := len(all) - 1 - v.up; i >= 0 && i < len(all) {
			m.overlay = nil
			return m.openID(all[i].event.Session)
		}
	case "ctrl+s":
		if v.paused > 0 {
			v.paused, v.up = 0, 0
		} else {
			v.paused = len(m.feed.rows)
		}
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(v.query)
		v.query = v.query[:len(v.query)-n]
	default:
		if k.Text != "" {
			v.query, v.up = v.query+k.Text, 0
		}
	}
	return nil
}

func (v *feedView) rows(m *model, columns, height int) []line {
	all := v.matching(m)
	state := "runs"
	if v.paused > 0 {
		state = "paused"
	}
	head := ends(join(line{{m.theme.signs.prompt + " ", bold | accent}}, text(plain, cmp.Or(v.query, ""))), keysLine([]key{{"type", "to narrow"}, {"Tab", "unfolds"}, {"Enter", "opens"}, {"Ctrl-S", state}}), columns)
	rows := []line{head, nil}
	if len(all) == 0 {
		return append(rows, text(dim, "Nothing has happened yet that fits."))
	}
	at := max(0, len(all)-1-v.up)
	var detail []line
	if v.opened {
		detail = paragraph(code, pretty(all[at].body), columns-4)
		detail = indent(detail[:min(len(detail), height/2)], line{{"    ", plain}}, line{{"    ", plain}})
	}
	room := max(1, height-len(rows)-len(detail))
	top := max(0, min(at-room/2, len(all)-room))
	for i := top; i < min(len(all), top+room); i++ {
		e := all[i].event
		l := join(line{{e.Time.Local().Format("15:04:05 "), dim}}, text(kindLook(e), string(e.Kind())).fill(20), line{{" ", plain}},
			text(plain, m.titleOfID(e.Session)).cut(20).fill(21), text(dim, gistOf(e))).cut(columns)
		if i == at {
			l = l.over(columns)
		}
		rows = append(rows, l)
		if i == at {
			rows = append(rows, detail...)
		}
	}
	return rows
}

func kindLook(e terret.Event) look {
	switch e.Data.(type) {
	case terret.PermissionRequest, terret.QuestionRequest, terret.PlanRequest:
		return needs
	case terret.TurnError, terret.ToolFailure, terret.PermissionDenied:
		return bad
	case terret.TurnComplete:
		return good
	}
	return works
}

// help lists the keys and the commands.
type help struct{ pager }

func (*help) title() string { return "Help" }

func (h *help) rows(m *model, columns, height int) []line {
	h.body = func(columns int) []line {
		var rows []line
		add := func(name string, keys ...key) {
			rows = append(rows, text(bold, name))
			for _, k := range keys {
				head := join(line{{"  ", plain}}, text(accent, k.key).fill(23))
				rows = append(rows, indent(text(plain, k.does).wrap(columns-head.width()), head, line{{strings.Repeat(" ", head.width()), plain}})...)
			}
			rows = append(rows, nil)
		}
		add("A request, while nothing is written",
			key{"y", "allow once; carry a plan out"}, key{"s  a", "allow for the session, or always"}, key{"n  r  D", "deny; deny and say why; deny and stop"},
			key{"e", "edit in $EDITOR; saving it is the answer"}, key{"1-9", "answer a question; typing is another answer"})
		add("Writing",
			key{"Enter", "send; while the agent works, now"}, key{"Tab", "while the agent works: afterwards"}, key{"Ctrl-J  Alt-Enter", "new line, as is \\ at the end of one"},
			key{"Enter", "while nothing is written: send on what a stop has held"},
			key{"@  /", "files and commands; Tab completes; a pasted path of a picture attaches it"}, key{"Ctrl-X Ctrl-E", "write in $EDITOR"}, key{"Up  Down", "what was said before"},
			key{"Ctrl-A E B F U K W Y", "as in a shell; Ctrl-_ takes typing back"}, key{"Shift-Tab", "Ask, Auto-edit, Plan, Full auto"})
		add("Moving",
			key{"Esc", "stop the turn; close what is open"}, key{"Ctrl-C", "stop the turn; twice leaves"}, key{"Ctrl-O", "find sessions, commands, files"},
			key{"Ctrl-G", "the next session that needs you"}, key{"Alt-Up  Alt-Down", "the session before or after"}, key{"Alt-N", "a new session"},
			key{"PageUp  PageDown", "scroll; Shift-Up and Shift-Down by a row, End to the newest"}, key{"Tab", "to the list, then the conversation: j k move, Enter unfolds"},
			key{"Alt-S", "the pane at the right"}, key{"Ctrl-Z", "suspend"}, key{"mouse", "click opens and unfolds, the wheel scrolls; Shift selects text"})
		var list []key
		for _, c := range commands() {
			list = append(list, key{strings.TrimSpace("/" + c.name + " " + c.hint), c.about})
		}
		add("Commands", list...)
		return rows
	}
	return h.pager.rows(m, columns, height)
}

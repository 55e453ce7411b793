package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
)

// card is how far a person is with answering a request.
type card struct {
	id       string
	question int
	chosen   map[int]bool
	answers  map[string]terret.Choice
}

// key is a key and what it does, for the last row of a card or the hints.
type key struct{ key, does string }

func keysLine(keys []key) line {
	var out line
	for i, k := range keys {
		if i > 0 {
			out = append(out, span{"   ", plain})
		}
		out = append(out, span{k.key, bold | accent}, span{" " + k.does, dim})
	}
	return out
}

// maxCardRows bounds what a card shows of what it asks about; the rest is for the editor.
const maxCardRows = 18

// cardRows draws a request that waits. Active says that keys answer it.
func (m *model) cardRows(it *item, columns int) []line {
	q := it.ask
	inner := columns - 4
	active := len(m.conv.open) > 0 && m.conv.open[0] == it
	var body []line
	switch d := q.data.(type) {
	case terret.PermissionRequest:
		body = m.permissionRows(d, inner, active)
	case terret.QuestionRequest:
		body = m.questionRows(it, d, inner, active)
	case terret.PlanRequest:
		body = markdown(d.Plan, inner, m.theme.signs)
		body = m.clipped(body, max(maxCardRows, m.height/2))
		if active {
			body = append(body, nil)
			body = append(body, m.wrapKeys([]key{{"y", "carry it out"}, {"n", "say what to change"}, {"e", "edit"}}, inner)...)
		}
	default:
		if s, ok := d.(terret.StopRequest); ok {
			body = paragraph(dim, s.LastMessage, inner)
		}
		if active {
			body = append(body, m.wrapKeys([]key{{"y", "let it"}, {"n", "block it"}}, inner)...)
		}
	}
	return m.box(headline(q, m.agentOf()), body, columns, active)
}

func (m *model) clipped(rows []line, most int) []line {
	if len(rows) <= most {
		return rows
	}
	return append(rows[:most:most], text(dim, fmt.Sprintf("%s %d more lines; e shows all", m.theme.signs.ellipsis, len(rows)-most)))
}

func (m *model) permissionRows(d terret.PermissionRequest, inner int, active bool) []line {
	var body []line
	switch command := firstOf(field(d.Input, "command"), field(d.Input, "cmd")); {
	case d.Diff != "":
		body = diffRows(d.Diff, inner, 0, m.theme.signs)
	case command != "":
		for part := range strings.SplitSeq(safe(command), "\n") {
			coloured, _ := highlight(part, "sh", false)
			body = append(body, hardwrap(coloured, inner)...)
		}
	case d.Class == terret.ClassFetch || d.Class == terret.ClassRead || d.Class == terret.ClassSearch:
		body = hardwrap(text(code, argument(d.Input, m.conv.cwd)), inner)
	default:
		body = paragraph(code, pretty(d.Input), inner)
	}
	body = m.clipped(body, min(maxCardRows, max(4, m.height-12)))
	if about := field(d.Input, "description"); about != "" {
		body = append(body, text(dim, about).wrap(inner)...)
	}
	body = append(body, text(dim, why(d.Reason)).wrap(inner)...)
	if !active {
		return body
	}
	keys := []key{{"y", "allow"}}
	if len(d.Suggestions) > 0 {
		keys = append(keys, key{"s", "for session"}, key{"a", "always"})
		body = append(body, text(dim, "s and a save the rule "+strings.Join(d.Suggestions, ", ")).wrap(inner)...)
	}
	keys = append(keys, key{"n", "deny"}, key{"e", "edit"}, key{"r", "deny, say why"}, key{"D", "deny and stop"})
	return append(body, m.wrapKeys(keys, inner)...)
}

// wrapKeys puts keys into as many rows as they take.
func (m *model) wrapKeys(keys []key, columns int) []line {
	var rows []line
	var now []key
	for _, k := range keys {
		if len(now) > 0 && keysLine(append(slices.Clip(now), k)).width() > columns {
			rows = append(rows, keysLine(now))
			now = nil
		}
		now = append(now, k)
	}
	return append(rows, keysLine(now))
}

func (m *model) questionRows(it *item, d terret.QuestionRequest, inner int, active bool) []line {
	var body []line
	at := 0
	if active && m.card.id == it.ask.id {
		at = m.card.question
	}
	if at >= len(d.Questions) {
		return text(dim, "It asks nothing that can be answered here.").wrap(inner)
	}
	q := d.Questions[at]
	if len(d.Questions) > 1 {
		body = append(body, text(dim, fmt.Sprintf("%d of %d  %s", at+1, len(d.Questions), q.Header)).cut(inner))
	}
	body = append(body, text(bold, q.Text).wrap(inner)...)
	for i, o := range q.Options {
		mark := line{{fmt.Sprintf("%d ", i+1), bold | accent}}
		if q.Multi {
			sign := m.theme.signs.idle
			if active && m.card.id == it.ask.id && m.card.chosen[i] {
				sign = m.theme.signs.done
			}
			mark = append(mark, span{sign + " ", good})
		}
		row := join(text(plain, o.Label), text(dim, gap(o.Description)))
		body = append(body, indent(row.wrap(inner-4), mark, line{{strings.Repeat(" ", mark.width()), plain}})...)
	}
	if d.URL != "" {
		body = append(body, text(link, d.URL).wrap(inner)...)
	}
	if !active {
		return body
	}
	keys := []key{{"n", "skip"}}
	if q.Multi {
		keys = append([]key{{"1-9", "choose"}, {"Enter", "answer"}}, keys...)
	} else if len(q.Options) > 0 {
		keys = append([]key{{"1-9", "answer"}}, keys...)
	}
	return append(body, m.wrapKeys(append(keys, key{"type", "another answer"}), inner)...)
}

func gap(s string) string {
	if s == "" {
		return ""
	}
	return "  " + s
}

// box draws rows in a frame with a headline.
func (m *model) box(title string, body []line, columns int, active bool) []line {
	s, k := m.theme.signs, needs
	if !active {
		k = border
	}
	head := join(line{{s.corner[0] + " ", k}}, text(bold|k, title).cut(columns-6), line{{" ", plain}})
	head = append(head, span{strings.Repeat(s.line, max(0, columns-head.width()-1)) + s.corner[1], k})
	rows := []line{head}
	for _, r := range body {
		rows = append(rows, join(line{{s.bar + " ", k}}, r.fill(columns-4), line{{" " + s.bar, k}}))
	}
	return append(rows, line{{s.corner[2] + strings.Repeat(s.line, columns-2) + s.corner[3], k}})
}

// active is the request that keys answer now; nil if there is none.
func (m *model) active() *item {
	if m.conv == nil || len(m.conv.open) == 0 {
		return nil
	}
	it := m.conv.open[0]
	if m.card.id != it.ask.id {
		m.card = card{id: it.ask.id, chosen: map[int]bool{}, answers: map[string]terret.Choice{}}
	}
	return it
}

// answer is the decision that a key stands for; ok says that it stands for one, and then
// says what it needs first: nothing, words, or the editor.
func (m *model) answer(it *item, k string) (d terret.Decision, needsWords, ok bool) {
	d = terret.Decision{RequestID: it.ask.id}
	switch q := it.ask.data.(type) {
	case terret.PermissionRequest:
		d.InputHash, d.Behavior = q.InputHash, terret.BehaviorAllow
		switch k {
		case "y":
			return d, false, true
		case "s", "a":
			d.Scope = terret.ScopeSession
			if k == "a" {
				d.Scope = terret.ScopeAlways
			}
			return d, false, len(q.Suggestions) > 0
		case "n", "D", "r":
			d.Behavior, d.Interrupt = terret.BehaviorDeny, k == "D"
			return d, k == "r", true
		}
	case terret.PlanRequest:
		switch k {
		case "y":
			d.Behavior = terret.BehaviorApprove
			return d, false, true
		case "n":
			d.Behavior = terret.BehaviorRevise
			return d, true, true
		}
	case terret.QuestionRequest:
		return m.answerQuestion(q, k)
	default:
		switch k {
		case "y":
			d.Behavior = terret.BehaviorAllow
			return d, false, true
		case "n":
			d.Behavior = terret.BehaviorBlock
			if it.ask.gate == terret.GateTrust || it.ask.gate == terret.GatePreTool {
				d.Behavior = terret.BehaviorDeny
			}
			return d, false, true
		}
	}
	return d, false, false
}

func (m *model) answerQuestion(q terret.QuestionRequest, k string) (d terret.Decision, needsWords, ok bool) {
	d = terret.Decision{RequestID: q.RequestID}
	if k == "n" {
		d.Behavior = terret.BehaviorReject
		return d, false, true
	}
	if m.card.question >= len(q.Questions) {
		return d, false, false
	}
	now := q.Questions[m.card.question]
	switch {
	case len(k) == 1 && k[0] >= '1' && k[0] <= '9' && int(k[0]-'1') < len(now.Options):
		i := int(k[0] - '1')
		if now.Multi {
			m.card.chosen[i] = !m.card.chosen[i]
			return d, false, false
		}
		return m.chose(q, terret.Choice{now.Options[i].Label})
	case k == "enter" && now.Multi:
		var all terret.Choice
		for i, o := range now.Options {
			if m.card.chosen[i] {
				all = append(all, o.Label)
			}
		}
		if len(all) > 0 {
			return m.chose(q, all)
		}
	}
	return d, false, false
}

// chose answers one question; the decision is complete with the last.
func (m *model) chose(q terret.QuestionRequest, c terret.Choice) (d terret.Decision, needsWords, ok bool) {
	m.card.answers[q.Questions[m.card.question].ID] = c
	m.card.question++
	m.card.chosen = map[int]bool{}
	d = terret.Decision{RequestID: q.RequestID, Behavior: terret.BehaviorAnswer, Answers: m.card.answers}
	return d, false, m.card.question >= len(q.Questions)
}

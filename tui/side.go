package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// sideRows is the pane at the right: what has changed, the plan, the turns, and what was used.
func (m *model) sideRows(columns, height int) []line {
	s := m.theme.signs
	var rows []line
	section := func(name string, right line) {
		if len(rows) > 0 {
			rows = append(rows, nil)
		}
		rows = append(rows, ends(text(dim|bold, name), right, columns-1))
	}
	if plan := m.conv.plan; len(plan) > 0 {
		done := 0
		for _, e := range plan {
			if e.Status == "completed" {
				done++
			}
		}
		section("PLAN", text(dim, fmt.Sprintf("%d of %d", done, len(plan))))
		for _, e := range plan {
			sign, k, words := s.idle, dim, plain
			switch e.Status {
			case "completed":
				sign, k, words = s.done, good, dim
			case "in_progress":
				sign, k = s.works, works
			}
			rows = append(rows, indent(text(words, e.Text).wrap(columns-3), line{{sign + " ", k}}, line{{"  ", plain}})...)
		}
	}
	changes := m.changes
	right := line(nil)
	if len(changes.Items) > 0 {
		right = line{{fmt.Sprintf("+%d ", changes.Insertions), added}, {fmt.Sprintf("−%d", changes.Deletions), removed}}
	}
	section("CHANGES", right)
	if len(changes.Items) == 0 {
		rows = append(rows, text(dim, "No uncommitted changes"))
	}
	for i, c := range changes.Items {
		if i == 12 {
			rows = append(rows, text(dim, fmt.Sprintf("%s %d more; /changes shows all", s.ellipsis, len(changes.Items)-i)))
			break
		}
		rows = append(rows, changeRow(c, columns-1))
	}
	section("USED", nil)
	rows = append(rows, m.usedRows(columns-1)...)
	section("TIMELINE", nil)
	for _, it := range m.timeline(max(0, height-len(rows))) {
		rows = append(rows, m.timelineRow(it, columns-1))
	}
	return rows[:min(len(rows), height)]
}

func changeRow(c client.FileChange, columns int) line {
	sign, k := "M", works
	switch c.Change {
	case "created":
		sign, k = "A", good
	case "deleted":
		sign, k = "D", bad
	}
	right := line{{fmt.Sprintf(" +%d", c.Insertions), added}, {fmt.Sprintf(" −%d", c.Deletions), removed}}
	return ends(join(line{{sign + " ", k}}, line{{cutLeft(oneLine(c.Path), columns-2-right.width()-1), plain}}), right, columns)
}

// usedRows says how full the context is, and what the session has used.
func (m *model) usedRows(columns int) []line {
	u := m.conv.usage
	var rows []line
	if u.ContextMax > 0 {
		share := min(1, float64(u.ContextUsed)/float64(u.ContextMax))
		wide := columns - 8
		full := int(share * float64(wide))
		k := works
		if share > 0.8 {
			k = needs
		}
		rows = append(rows, line{{strings.Repeat("━", full), k}, {strings.Repeat("─", wide-full), border}, {fmt.Sprintf(" %3d %%", int(share*100)), dim}})
		rows = append(rows, text(dim, amount(u.ContextUsed)+" of "+amount(u.ContextMax)+" tokens of context"))
	}
	rows = append(rows, text(dim, fmt.Sprintf("%s in, %s out  %s", amount(u.Input+u.CacheRead+u.CacheWrite), amount(u.Output), dollars(u.CostUSD))))
	return rows
}

// timeline are the newest things that were said and done.
func (m *model) timeline(n int) []*item {
	var out []*item
	for i := len(m.conv.items) - 1; i >= 0 && len(out) < n; i-- {
		switch it := m.conv.items[i]; it.kind {
		case itemUser, itemTool, itemHelper, itemRequest:
			out = append(out, it)
		case itemText, itemThinking, itemNotice, itemEnd:
		}
	}
	return out
}

func (m *model) timelineRow(it *item, columns int) line {
	at := line{{it.time.Local().Format("15:04:05 "), dim}}
	switch it.kind {
	case itemUser:
		return join(at, text(bold, flat(it.text))).cut(columns)
	case itemTool:
		sign, k := m.paint.toolSign(it)
		return ends(join(at, line{{sign + " ", k}}, text(plain, verb(it.class, it.name, it.diff)+" "), text(dim, argument(it.input, m.conv.cwd))), text(dim, lasted(it.spent)), columns)
	case itemRequest:
		return join(at, text(needs, headline(it.ask, m.agentOf()))).cut(columns)
	case itemHelper:
		return join(at, text(plain, firstOf(it.name, "helper")+" "), text(dim, flat(it.note))).cut(columns)
	case itemText, itemThinking, itemNotice, itemEnd:
	}
	return at
}

// pager is a long text in front of the conversation.
type pager struct {
	name string
	body func(columns int) []line
	top  int
	wide int
	laid []line
}

func (p *pager) title() string { return p.name }

func (p *pager) press(m *model, k tea.KeyPressMsg) tea.Cmd {
	page := max(1, m.height-8)
	switch k.String() {
	case "up", "k":
		p.top--
	case "down", "j", "enter":
		p.top++
	case "pgup", "b":
		p.top -= page
	case "pgdown", "space", " ":
		p.top += page
	case "home", "g":
		p.top = 0
	case "end", "G":
		p.top = len(p.laid)
	case "q":
		m.overlay = nil
	}
	return nil
}

func (p *pager) rows(_ *model, columns, height int) []line {
	if p.wide != columns {
		p.laid, p.wide = p.body(columns), columns
	}
	p.top = max(0, min(p.top, len(p.laid)-height))
	return p.laid[p.top:min(len(p.laid), p.top+height)]
}

// showChanges shows the diffs of the folder.
func (m *model) showChanges(string) tea.Cmd {
	id, s := m.session.ID, m.theme.signs
	return m.do(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		is, err := c.Changes(ctx, id, "", true)
		if err != nil {
			return nil, err
		}
		if len(is.Items) == 0 {
			return told{words: "No uncommitted changes."}, nil
		}
		return overlay(&pager{name: "Changes", body: func(columns int) []line {
			var rows []line
			for _, f := range is.Items {
				rows = append(rows, changeRow(f, min(columns, reading)))
				rows = append(rows, diffRows(f.Diff, columns, 0, s)...)
				rows = append(rows, nil)
			}
			return rows
		}}), nil
	})
}

// signOf is the mark of a session in lists.
func (m *model) signOf(e entry) span {
	s := m.theme.signs
	switch {
	case e.ask != nil:
		return span{s.needs + " ", needs}
	case e.session.State.Working():
		return span{s.works + " ", works}
	case e.session.State == terret.SessionFailed:
		return span{s.failed + " ", bad}
	}
	return span{s.idle + " ", dim}
}

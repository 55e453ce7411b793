package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/client"
)

// picker is a list to choose from by typing.
type picker struct {
	name    string
	choices []choice
	query   string
	at      int
	search  func(m *model, query string) tea.Cmd // asks the server for choices, if set
}

type choice struct {
	label line
	about string // at the right
	words string // that letters are looked for in
	pick  func(m *model) tea.Cmd
	score int
}

// found are the choices that the server has for a query.
type found struct {
	query   string
	choices []choice
}

func (p *picker) title() string { return p.name }

// matching are the choices for what is typed, the best first.
func (p *picker) matching() []choice {
	if p.query == "" || p.search != nil {
		return p.choices
	}
	var out []choice
	for _, c := range p.choices {
		if n, ok := fuzzy(p.query, c.words); ok {
			c.score = n
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b choice) int { return cmp.Compare(b.score, a.score) })
	return out
}

// fuzzy reports whether the letters of the query are in the text in that order, and how
// well: letters that follow each other or begin words count more.
func fuzzy(query, in string) (score int, ok bool) {
	text := []rune(strings.ToLower(in))
	at, last := 0, -2
	for _, q := range strings.ToLower(query) {
		if q == ' ' {
			continue
		}
		i := at
		for i < len(text) && text[i] != q {
			i++
		}
		if i == len(text) {
			return 0, false
		}
		switch {
		case i == last+1:
			score += 3
		case i == 0 || !unicode.IsLetter(text[i-1]) && !unicode.IsDigit(text[i-1]):
			score += 2
		}
		last, at = i, i+1
	}
	return score*100 - len(text), true
}

func (p *picker) press(m *model, k tea.KeyPressMsg) tea.Cmd {
	all := p.matching()
	switch k.String() {
	case "up", "ctrl+p":
		p.at = max(0, p.at-1)
	case "down", "ctrl+n", "tab":
		p.at = min(max(0, len(all)-1), p.at+1)
	case "pgup":
		p.at = max(0, p.at-10)
	case "pgdown":
		p.at = min(max(0, len(all)-1), p.at+10)
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(p.query)
		p.query = p.query[:len(p.query)-n]
		return p.typed(m)
	case "ctrl+u":
		p.query = ""
		return p.typed(m)
	case "enter":
		if p.at < len(all) {
			m.overlay = nil
			return all[p.at].pick(m)
		}
	default:
		if k.Text != "" {
			p.query += k.Text
			return p.typed(m)
		}
	}
	return nil
}

func (p *picker) typed(m *model) tea.Cmd {
	p.at = 0
	if p.search != nil {
		return p.search(m, p.query)
	}
	return nil
}

func (p *picker) found(f found) {
	if p.search != nil && f.query == p.query {
		p.choices, p.at = f.choices, 0
	}
}

func (p *picker) rows(m *model, columns, height int) []line {
	all := p.matching()
	rows := []line{join(line{{m.theme.signs.prompt + " ", bold | accent}}, text(plain, p.query), line{{"▏", accent}}), nil}
	switch {
	case len(all) > 0:
	case p.search != nil && p.query == "":
		return append(rows, text(dim, "Type what to look for."))
	default:
		return append(rows, text(dim, "Nothing fits."))
	}
	height -= len(rows)
	top := max(0, min(p.at-height/2, len(all)-height))
	for i := top; i < min(len(all), top+height); i++ {
		l := ends(join(line{{" ", plain}}, all[i].label), text(dim, all[i].about+" "), min(columns, 100))
		if i == p.at {
			l = l.over(min(columns, 100))
		}
		rows = append(rows, l)
	}
	return rows
}

// finder finds sessions, commands and files.
func (m *model) finder(query string) tea.Cmd {
	p := &picker{name: "Find"}
	if query == "session " {
		p.name, query = "Sessions", ""
	}
	p.query = query
	for _, e := range m.entries() {
		if e.head == "" {
			p.choices = append(p.choices, m.sessionChoice(e))
		}
	}
	m.overlay = p
	if p.name == "Sessions" {
		return nil
	}
	for _, s := range m.suggestCommands("") {
		p.choices = append(p.choices, choice{label: text(accent, s.insert), about: s.about, words: s.insert + " " + s.about, pick: func(m *model) tea.Cmd {
			if m.wantsArgument(s.insert[1:]) {
				m.compose.set(s.insert + " ")
				return nil
			}
			return m.command(s.insert[1:], "")
		}})
	}
	if m.conv == nil {
		return nil
	}
	id := m.session.ID
	return m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
		files, err := c.FindFiles(ctx, id, "", 200)
		return moreFiles{p, files}, err
	})
}

type moreFiles struct {
	to    *picker
	files []client.FoundFile
}

// files adds files, which are put into what is written.
func (p *picker) files(all []client.FoundFile) {
	for _, f := range all {
		name := oneLine(f.Path)
		p.choices = append(p.choices, choice{label: text(code, "@"+name), about: f.Type, words: name, pick: func(m *model) tea.Cmd {
			m.compose.insert("@" + f.Path + " ")
			return nil
		}})
	}
}

func (m *model) sessionChoice(e entry) choice {
	s := e.session
	l := join(line{m.signOf(e)}, text(plain, titleOf(s)), text(dim, "  "+folderOf(s.Cwd)))
	return choice{
		label: l, about: agentName(s.Agent, s.Model, m.titles) + "  " + ago(m.now().Sub(s.UpdatedAt.Time)), words: s.Title + " " + folderOf(s.Cwd) + " " + s.ID,
		pick: func(m *model) tea.Cmd { return m.openID(s.ID) },
	}
}

// searchAll finds what was said in all sessions.
func (m *model) searchAll(words string) tea.Cmd {
	p := &picker{name: "Search everywhere", query: words}
	p.search = func(m *model, query string) tea.Cmd {
		if strings.TrimSpace(query) == "" {
			p.choices = nil
			return nil
		}
		return m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
			page, err := c.Search(ctx, terret.SearchQuery{Words: query, Limit: 50})
			if err != nil {
				return nil, err
			}
			out := found{query: query}
			for _, f := range page.Items {
				out.choices = append(out.choices, choice{
					label: join(text(plain, flat(f.Text)), text(dim, "  "+oneLine(f.Title))), about: f.Time.Local().Format("2 Jan 15:04"),
					pick: func(m *model) tea.Cmd {
						m.sought = f
						m.seek()
						return m.openID(f.Session)
					},
				})
			}
			return out, nil
		})
	}
	m.overlay = p
	return p.search(m, words)
}

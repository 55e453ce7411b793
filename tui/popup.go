package tui

import (
	"context"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret/client"
)

// popup offers what a word that is being written may become: a command, or a file.
type popup struct {
	items []suggestion
	at    int
	from  int    // where the word begins
	word  string // for which it was made
}

type suggestion struct{ insert, about string }

type foundFiles struct {
	word  string
	files []client.FoundFile
}

const popupRows = 7

func (p *popup) open() bool { return len(p.items) > 0 }

// update looks at what is being written.
func (p *popup) update(m *model) tea.Cmd {
	word, from := m.compose.word()
	if m.reason != nil || m.editing != nil {
		*p = popup{}
		return nil
	}
	if rest, ok := strings.CutPrefix(word, "/"); ok && from == 0 && !strings.Contains(rest, "/") {
		*p = popup{from: from, word: word}
		p.items = append(p.items, m.suggestCommands(rest)...)
		if len(p.items) == 1 && p.items[0].insert == word {
			p.items = nil
		}
		return nil
	}
	if rest, ok := strings.CutPrefix(word, "@"); ok && m.conv != nil {
		p.from, p.word, p.at = from, word, 0
		id := m.session.ID
		return m.quietly(func(ctx context.Context, c *client.Client) (tea.Msg, error) {
			files, err := c.FindFiles(ctx, id, rest, 50)
			return foundFiles{word, files}, err
		})
	}
	*p = popup{}
	return nil
}

// files takes the files that were found, unless the word is another by now.
func (p *popup) files(f foundFiles) {
	if f.word != p.word {
		return
	}
	p.items, p.at = nil, 0
	for _, x := range f.files {
		name := x.Path
		if x.Type == "dir" {
			name += "/"
		}
		p.items = append(p.items, suggestion{insert: "@" + name})
	}
}

func (p *popup) press(m *model, name string) (tea.Cmd, bool) {
	switch name {
	case "up", "ctrl+p":
		p.at = (p.at + len(p.items) - 1) % len(p.items)
	case "down", "ctrl+n":
		p.at = (p.at + 1) % len(p.items)
	case "esc":
		p.items = nil
	case "tab", "enter":
		s := p.items[p.at].insert
		exact := p.word == s
		m.compose.Change(p.from, m.compose.At, s)
		if !strings.HasSuffix(s, "/") && !exact {
			m.compose.Insert(" ")
		}
		isCommand := strings.HasPrefix(s, "/")
		*p = popup{}
		if name == "enter" && isCommand && !m.wantsArgument(s[1:]) {
			return m.enter(client.WhenSteer), true
		}
		if path := s[1:]; !isCommand && isImage(path) && m.takesImages() {
			return m.attachFile(path), true
		}
		if strings.HasSuffix(s, "/") {
			return p.update(m), true
		}
	default:
		return nil, false
	}
	return nil, true
}

func (p *popup) rows(columns int) []line {
	if len(p.items) == 0 {
		return nil
	}
	top := max(0, min(p.at-popupRows/2, len(p.items)-popupRows))
	var rows []line
	for i := top; i < min(len(p.items), top+popupRows); i++ {
		it := p.items[i]
		l := join(line{{"   ", plain}}, text(plain, it.insert))
		if it.about != "" {
			l = join(l.fill(max(22, l.width()+2)), text(dim, it.about))
		}
		l = l.cut(columns - 1)
		if i == p.at {
			l = l.over(columns)
		}
		rows = append(rows, l)
	}
	return rows
}

package tui

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/terret-dev/terret/tui/draft"
)

// keyNames are the names that a draft has for keys.
func keyNames() map[string]string {
	return map[string]string{
		"left": "left", "right": "right", "ctrl+b": "left", "ctrl+f": "right", "home": "home", "ctrl+a": "home", "end": "end", "ctrl+e": "end",
		"alt+b": "word left", "ctrl+left": "word left", "alt+left": "word left", "alt+f": "word right", "ctrl+right": "word right", "alt+right": "word right",
		"up": "up", "down": "down", "ctrl+p": "up", "ctrl+n": "down",
		"backspace": "backspace", "ctrl+h": "backspace", "shift+backspace": "backspace", "delete": "delete", "ctrl+d": "delete",
		"ctrl+u": "cut left", "ctrl+k": "cut right", "ctrl+w": "cut to space", "alt+backspace": "cut word left", "ctrl+backspace": "cut word left",
		"alt+d": "cut word right", "ctrl+y": "paste", "ctrl+_": "undo", "ctrl+/": "undo", "ctrl+-": "undo", "alt+_": "redo",
		"ctrl+j": "new line", "alt+enter": "new line", "shift+enter": "new line", "ctrl+enter": "new line",
	}
}

// composer is where a person writes. What is pasted is one text, line breaks included.
type composer struct {
	*draft.Draft
	names map[string]string
	past  []string

	images  []image // that go with it
	reading int     // pictures that are being read
}

func newComposer(past []string) *composer {
	return &composer{Draft: draft.New(past), names: keyNames(), past: past}
}

// maxDraft is the longest text that can be written, in bytes.
const maxDraft = 1 << 20

// press does what a key is for, and reports whether it was for the text.
func (c *composer) press(k tea.KeyPressMsg) bool {
	if name, ok := c.names[k.String()]; ok {
		return c.Press(name)
	}
	if k.Text != "" && k.Mod&^tea.ModShift == 0 {
		c.insert(k.Text)
		return true
	}
	return false
}

func (c *composer) insert(s string) {
	s = strings.ToValidUTF8(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), string(utf8.RuneError))
	if len(c.Text)+len(s) <= maxDraft {
		c.Insert(s)
	}
}

// clear empties it; undo brings the text back.
func (c *composer) clear() { c.Change(0, len(c.Text), "") }

// take returns the text, trimmed, and begins anew after it.
func (c *composer) take() string {
	said := strings.TrimSpace(c.Text)
	c.past = draft.Remember(c.past, said)
	c.Draft = draft.New(c.past)
	return said
}

// set replaces the text.
func (c *composer) set(s string) {
	c.clear()
	c.insert(s)
}

// word is the word that ends at the cursor, and where it begins.
func (c *composer) word() (string, int) {
	before := c.Text[:c.At]
	at := strings.LastIndexAny(before, " \n\t") + 1
	return before[at:], at
}

// rows lays the draft out in columns; x and y are where the cursor is.
func (c *composer) rows(columns int) (rows []line, x, y int) {
	columns = max(columns, 8)
	var row strings.Builder
	used := 0
	flush := func() {
		rows = append(rows, line{{row.String(), plain}})
		row.Reset()
		used = 0
	}
	for at := 0; ; {
		if at == c.At {
			x, y = used, len(rows)
		}
		if at >= len(c.Text) {
			break
		}
		n, _ := draft.Cluster(c.Text[at:])
		shown := c.Text[at : at+n]
		if shown == "\n" {
			flush()
			at += n
			continue
		}
		shown = safe(shown)
		w := width(shown)
		if used+w > columns-1 && used > 0 {
			flush()
			if at == c.At {
				x, y = 0, len(rows)
			}
		}
		row.WriteString(shown)
		used += w
		at += n
	}
	flush()
	return rows, x, y
}

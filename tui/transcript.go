package tui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// Transcript is a conversation as the workspace shows it, for a terminal that scrolls or a
// file.
type Transcript struct {
	conv  *conversation
	theme *theme
}

// NewTranscript begins with a session of which nothing is known but its record. Without a
// theme it is plain text.
func NewTranscript(s terret.Session, theme string) *Transcript {
	t := &Transcript{newConversation(s), themeNamed(theme)}
	if theme == "" {
		t.theme.name = ""
	}
	return t
}

// Add adds the session's next event.
func (t *Transcript) Add(e terret.Event) { t.conv.apply(e) }

// Write writes the conversation in rows of that many columns.
func (t *Transcript) Write(w io.Writer, columns int) error {
	p := t.painter(columns)
	for i := range t.conv.items {
		if err := t.write(w, p.rows(t.conv.items, i)); err != nil {
			return err
		}
	}
	return nil
}

// WriteLast writes the end of the conversation, in about that many rows, and reports whether
// there is more before it.
func (t *Transcript) WriteLast(w io.Writer, columns, rows int) (more bool, err error) {
	p := t.painter(columns)
	var last [][]line
	n, i := 0, len(t.conv.items)-1
	for ; i >= 0 && n < rows; i-- {
		r := p.rows(t.conv.items, i)
		if n+len(r) > rows {
			more = true
			r = r[n+len(r)-rows:]
		}
		n += len(r)
		last = append(last, r)
	}
	for _, r := range slices.Backward(last) {
		if err := t.write(w, r); err != nil {
			return false, err
		}
	}
	return more || i >= 0, nil
}

func (t *Transcript) painter(columns int) *painter {
	p := &painter{columns: max(columns, 20), signs: t.theme.signs, cwd: t.conv.cwd, agent: agentName(t.conv.agent, t.conv.model, nil), now: time.Now()}
	p.cards = func(it *item, columns int) []line {
		return []line{join(line{{p.signs.needs + " ", needs}}, text(plain, headline(it.ask, p.agent)), line{{" needs you", needs}}).cut(columns)}
	}
	p.asked = t.conv.told
	return p
}

func (t *Transcript) write(w io.Writer, rows []line) error {
	for _, r := range rows {
		var b strings.Builder
		if t.theme.name == "" {
			b.WriteString(trimRight(r).plain())
		} else {
			t.theme.draw(&b, trimRight(r))
		}
		if _, err := fmt.Fprintln(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/terret-dev/terret/tui/draft"
)

// editor shows a draft behind a prompt on a terminal. The screen that it belongs to
// guards it.
type editor struct {
	*draft.Draft
	out    io.Writer
	size   func() (columns, lines int)
	prompt string                     // its last line
	live   bool                       // a turn runs meanwhile
	head   func(columns int) []string // what is shown above the prompt; may be nil

	row   int   // of the cursor, from the first line that is drawn
	plain bool  // the cursor is at the end of a single line, and nothing is left out
	used  int   // columns before the cursor in its row
	wide  int   // columns of the terminal when it was drawn
	drawn []int // columns of each line down to the cursor, with the prompt, in which it wraps
	heads int   // lines above the prompt that are drawn
}

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

const (
	noWrap = "\x1b[?7l" // what does not fit into a line is cut off
	wrap   = "\x1b[?7h"
)

// layout are the lines of a draft as a terminal shows them.
type layout struct {
	lines       []string
	above       int    // lines of the prompt before the first of them
	row, column int    // of the cursor
	before      string // what is before it in its line
	begins      int    // the column in which its line begins
}

func (e *editor) promptColumns() int { return draft.Columns(colours.ReplaceAllString(e.prompt, "")) }

// promptEnd goes to the next line if the prompt fills its last one: terminals wait with
// that for the next character.
func (e *editor) promptEnd(columns int) string {
	if n := e.promptColumns(); n > 0 && n%columns == 0 {
		return "\r\n"
	}
	return ""
}

// lay lays the draft out. It leaves the last column free, so that no line wraps by
// itself.
func (e *editor) lay(columns int) layout {
	before := e.promptColumns()
	l := layout{above: before / columns}
	var line strings.Builder
	used, begins := before%columns, before%columns
	flush := func() {
		l.lines = append(l.lines, line.String())
		line.Reset()
		used, begins = 0, 0
	}
	cursor := func() { l.row, l.column, l.before, l.begins = len(l.lines), used, line.String(), begins }
	for at := 0; ; {
		if at == e.At {
			cursor()
		}
		if at == len(e.Text) {
			break
		}
		n, w := draft.Cluster(e.Text[at:])
		text := e.Text[at : at+n]
		at += n
		if text == "\n" {
			flush()
			continue
		}
		text, w = visible(text, w)
		if used+w >= columns && used > 0 {
			if flush(); at-n == e.At {
				cursor()
			}
		}
		line.WriteString(text)
		used += w
	}
	flush()
	return l
}

// visible is what is shown of a character.
func visible(text string, columns int) (string, int) {
	if text == "\t" {
		return "    ", 4
	}
	if safe := printable(text); safe != text {
		return safe, draft.Columns(safe)
	}
	return text, columns
}

// draw draws the draft over what was drawn before.
func (e *editor) draw() {
	columns, lines := e.size()
	l := e.lay(columns)
	var head []string
	if e.head != nil {
		head = e.head(columns)
	}
	room := max(1, lines-1-len(head))
	top := 0
	if len(l.lines)+l.above > room {
		top = min(max(0, l.row-room/2), max(0, len(l.lines)-room))
	}
	shown := l.lines[top:min(len(l.lines), top+room)]
	var b strings.Builder
	e.erase(&b)
	e.row, e.heads = l.row-top, len(head)
	if len(head) > 0 {
		b.WriteString(noWrap + strings.Join(head, "\r\n") + "\r\n" + wrap)
		e.row += len(head)
	}
	if top == 0 {
		b.WriteString(e.prompt + e.promptEnd(columns))
		e.row += l.above
	}
	b.WriteString(noWrap + strings.Join(shown, "\r\n"))
	if up := len(shown) - 1 - (l.row - top); up > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", up)
	}
	b.WriteByte('\r')
	if l.begins > 0 {
		fmt.Fprintf(&b, "\x1b[%dC", l.begins)
	}
	b.WriteString(l.before + wrap) // again, since the terminal may take other widths for emoji
	_, _ = io.WriteString(e.out, b.String())
	e.plain, e.used, e.wide = len(l.lines) == 1 && e.At == len(e.Text), l.column, columns
	e.note(l, top, head, shown)
}

// note keeps how wide the lines down to the cursor are: when the terminal gets another
// size, they wrap in other places.
func (e *editor) note(l layout, top int, head, shown []string) {
	e.drawn = e.drawn[:0]
	for _, line := range head {
		e.drawn = append(e.drawn, draft.Columns(colours.ReplaceAllString(line, "")))
	}
	for _, line := range shown[:l.row-top] {
		e.drawn = append(e.drawn, draft.Columns(line))
	}
	e.drawn = append(e.drawn, draft.Columns(l.before))
	if top == 0 {
		e.drawn[len(head)] += e.promptColumns()
	}
}

// erase goes to the first line that was drawn, and removes all of them.
func (e *editor) erase(b *strings.Builder) {
	row := e.row
	if columns, _ := e.size(); columns != e.wide && len(e.drawn) > 0 {
		row = len(e.drawn) - 1
		for _, n := range e.drawn {
			row += max(0, n-1) / columns
		}
	}
	if row > 0 {
		fmt.Fprintf(b, "\x1b[%dA", row)
	}
	b.WriteString("\r\x1b[J")
	e.row, e.used, e.heads, e.drawn = 0, 0, 0, e.drawn[:0]
}

// hide removes the draft and its prompt from the terminal.
func (e *editor) hide() {
	var b strings.Builder
	e.erase(&b)
	_, _ = io.WriteString(e.out, b.String())
}

// typed inserts text. If it fits behind what is there, it is just written.
func (e *editor) typed(text string) {
	simple := e.plain && e.used+len(text) < e.wide && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	e.Insert(text)
	if !simple {
		e.draw()
		return
	}
	_, _ = io.WriteString(e.out, text)
	e.used += len(text)
	e.drawn[len(e.drawn)-1] += len(text)
}

// begin begins with an empty draft behind the prompt, which is there.
func (e *editor) begin() {
	columns, _ := e.size()
	l := e.lay(columns)
	e.row, e.used, e.wide, e.plain = l.above, l.column, columns, true
	e.drawn = []int{e.promptColumns()}
	_, _ = io.WriteString(e.out, e.promptEnd(columns))
}

// resume draws the draft again, after another program has used the terminal.
func (e *editor) resume() {
	_, _ = io.WriteString(e.out, tellPastes)
	e.draw()
}

// stop ends the editing. A draft that is complete stays on the terminal.
func (e *editor) stop(completed bool) {
	_, _ = io.WriteString(e.out, hidePastes)
	if !completed {
		e.hide()
		return
	}
	if e.At < len(e.Text) {
		e.Move(len(e.Text))
		e.draw()
	}
	_, _ = io.WriteString(e.out, "\n")
}

// press does what a key is for. The key "enter" and those that end the input are for
// the caller.
func (e *editor) press(k key) {
	switch {
	case k.text != "":
		e.typed(k.text)
		return
	case k.name == "clear":
		_, _ = io.WriteString(e.out, "\x1b[H\x1b[2J")
		e.row, e.drawn, e.used, e.heads = 0, nil, 0, 0
	default:
		e.Press(k.name)
	}
	e.draw()
}

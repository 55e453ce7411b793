package tui

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// span is safe text that looks the same.
type span struct {
	text string
	look look
}

// line is a row of the screen, or a part of one.
type line []span

// text makes a line of anybody's text, in which line breaks become spaces.
func text(l look, s string) line {
	s = safe(s)
	if strings.IndexByte(s, '\n') >= 0 {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	if s == "" {
		return nil
	}
	return line{{s, l}}
}

// join puts lines one after the other.
func join(parts ...line) line {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := make(line, 0, n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += width(s.text)
	}
	return n
}

func (l line) plain() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.text)
	}
	return b.String()
}

// cut shortens the line to that many columns.
func (l line) cut(columns int) line {
	if l.fits(columns) {
		return l
	}
	if columns <= 0 {
		return nil
	}
	room := columns - 1
	var head line
	for _, s := range l {
		if !(line{s}).fits(room) {
			if first := prefix(s.text, room); first != "" {
				head = append(head, span{first, s.look})
			}
			break
		}
		head = append(head, s)
		room -= width(s.text)
	}
	last := plain
	if len(head) > 0 {
		last = head[len(head)-1].look
	}
	return append(slices.Clip(head), span{"…", last})
}

// fill makes the line exactly that wide.
func (l line) fill(columns int) line {
	l = l.cut(columns)
	if w := l.width(); w < columns {
		l = append(slices.Clip(l), span{strings.Repeat(" ", columns-w), 0})
	}
	return l
}

// over makes the line the selected row, that wide.
func (l line) over(columns int) line {
	out := make(line, 0, len(l)+1)
	for _, s := range l.fill(columns) {
		out = append(out, span{s.text, s.look | selected})
	}
	return out
}

// ends puts one part at the left and the other at the right of that many columns. The
// right one is kept when both do not fit.
func ends(left, right line, columns int) line {
	rw := right.width()
	if rw >= columns {
		return right.cut(columns)
	}
	return join(left.cut(columns-rw-1).fill(columns-rw), right)
}

// wrap breaks the line into rows of that many columns, at spaces where it can.
func (l line) wrap(columns int) []line {
	columns = max(columns, 4)
	if l.fits(columns) {
		return []line{l}
	}
	var rows []line
	var row line
	used := 0
	flush := func() {
		rows = append(rows, trimRight(row))
		row, used = nil, 0
	}
	for _, w := range words(l) {
		if !w.fits(columns-used) && used > 0 {
			flush()
			if strings.TrimSpace(w[0].text[:1]) == "" {
				continue // the space at which the line breaks
			}
		}
		for !w.fits(columns - used) { // longer than a row
			head := take(&w, columns-used)
			if len(head) == 0 {
				break
			}
			row = append(row, head...)
			flush()
		}
		row = append(row, w...)
		used += w.width()
	}
	if used > 0 || len(rows) == 0 {
		rows = append(rows, trimRight(row))
	}
	return rows
}

// words splits a line into words and the spaces between them. A word may have several looks.
func words(l line) []line {
	var out []line
	var word line
	space := false
	add := func(s string, k look, isSpace bool) {
		if len(word) > 0 && (isSpace != space) {
			out = append(out, word)
			word = nil
		}
		space = isSpace
		word = append(word, span{s, k})
	}
	for _, s := range l {
		rest := s.text
		for rest != "" {
			isSpace := rest[0] == ' '
			n := 0
			for n < len(rest) && (rest[n] == ' ') == isSpace {
				n++
			}
			add(rest[:n], s.look, isSpace)
			rest = rest[n:]
		}
	}
	if len(word) > 0 {
		out = append(out, word)
	}
	return out
}

// fits reports whether the line takes at most that many columns. It looks at no more of it
// than it must: a line can be a megabyte long.
func (l line) fits(columns int) bool {
	for _, s := range l {
		if len(s.text) > columns*maxCluster {
			return false
		}
		if columns -= width(s.text); columns < 0 {
			return false
		}
	}
	return true
}

// prefix is the start of safe text that fits into that many columns.
func prefix(s string, columns int) string {
	n := min(len(s), max(0, columns)*maxCluster)
	for n < len(s) && n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	s = s[:n]
	if plainASCII(s) {
		return s[:min(len(s), max(0, columns))]
	}
	return ansi.Truncate(s, columns, "")
}

// take takes what fits into that many columns from the start of a line that is the
// caller's own. It takes nothing if not even one character fits, unless the room is a row.
func take(l *line, columns int) (head line) {
	for len(*l) > 0 {
		s := (*l)[0]
		if (line{s}).fits(columns) {
			head = append(head, s)
			columns -= width(s.text)
			*l = (*l)[1:]
			continue
		}
		first := prefix(s.text, columns)
		if first != "" {
			head = append(head, span{first, s.look})
			(*l)[0].text = s.text[len(first):]
		}
		return head
	}
	return head
}

func trimRight(l line) line {
	for len(l) > 0 {
		last := l[len(l)-1]
		t := strings.TrimRight(last.text, " ")
		if t == last.text && t != "" {
			return l
		}
		l = l[:len(l)-1]
		if t != "" {
			return append(slices.Clip(l), span{t, last.look})
		}
	}
	return l
}

// paragraph wraps text of several lines.
func paragraph(k look, s string, columns int) []line {
	var rows []line
	for part := range strings.SplitSeq(strings.TrimRight(safe(s), "\n"), "\n") {
		rows = append(rows, text(k, part).wrap(columns)...)
	}
	return rows
}

// indent puts something before each row, and something else before the first.
func indent(rows []line, first, rest line) []line {
	out := make([]line, len(rows))
	for i, r := range rows {
		if i == 0 {
			out[i] = join(first, r)
		} else {
			out[i] = join(rest, r)
		}
	}
	return out
}

package tui

import (
	"slices"
	"strconv"
	"strings"
)

// markdown lays out an agent's text, which may stop anywhere, in rows of that many columns.
// It reads what agents write: headings, lists, quotes, fenced code, tables, rules, and marks
// within a line. What it does not know is shown as it is. Its time is linear in the text.
func markdown(source string, columns int, s *signs) []line {
	m := &reader{columns: columns, signs: s}
	for row := range strings.SplitSeq(strings.ReplaceAll(source, "\r\n", "\n"), "\n") {
		m.read(strings.ReplaceAll(row, "\t", tab))
	}
	m.endParagraph()
	m.endTable()
	for len(m.rows) > 0 && len(m.rows[len(m.rows)-1]) == 0 {
		m.rows = m.rows[:len(m.rows)-1]
	}
	return m.rows
}

// reader is the state of reading Markdown row by row.
type reader struct {
	columns int
	signs   *signs
	rows    []line

	paragraph []string // rows of text that belong together
	first     line     // what stands before it, as the bullet of an item
	table     [][]string
	fence     string // what ends the code that is being read
	lang      string
	inset     int  // columns before the code
	note      bool // code: inside a comment of several rows
}

func (m *reader) read(row string) {
	trimmed := strings.TrimSpace(row)
	if m.fence != "" {
		m.code(row, trimmed)
		return
	}
	if strings.HasPrefix(trimmed, "|") && strings.Count(trimmed, "|") > 1 {
		m.endParagraph()
		m.table = append(m.table, cells(trimmed))
		return
	}
	m.endTable()
	lead := len(row) - len(strings.TrimLeft(row, " "))
	switch {
	case trimmed == "":
		m.endParagraph()
		m.blank()
	case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
		m.endParagraph()
		m.fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
		m.lang, _, _ = strings.Cut(strings.TrimSpace(trimmed[len(m.fence):]), " ")
		m.inset, m.note = min(lead, 8), false
	case isHeading(trimmed):
		m.endParagraph()
		m.heading(trimmed)
	case isRule(trimmed):
		m.endParagraph()
		m.rows = append(m.rows, line{{strings.Repeat(m.signs.line, max(1, min(m.columns, 40))), border}})
	case strings.HasPrefix(trimmed, ">"):
		m.endParagraph()
		quote := strings.TrimSpace(strings.TrimLeft(trimmed, "> "))
		bar := line{{m.signs.bar + " ", border}}
		m.rows = append(m.rows, indent(inline(quote, dim).wrap(m.columns-2), bar, bar)...)
	default:
		if bullet, rest, ok := bulletOf(trimmed, m.signs); ok {
			m.endParagraph()
			m.first = join(line{{strings.Repeat(" ", min(lead, 12)), plain}}, bullet)
			m.paragraph = append(m.paragraph, rest)
			return
		}
		m.paragraph = append(m.paragraph, trimmed)
	}
}

func (m *reader) blank() {
	if len(m.rows) > 0 && len(m.rows[len(m.rows)-1]) > 0 {
		m.rows = append(m.rows, nil)
	}
}

func (m *reader) endParagraph() {
	if len(m.paragraph) == 0 {
		return
	}
	var b strings.Builder
	for i, row := range m.paragraph {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(row)
	}
	w := m.first.width()
	rest := line{{strings.Repeat(" ", w), plain}}
	if w == 0 {
		rest = nil
	}
	m.rows = append(m.rows, indent(inline(b.String(), plain).wrap(m.columns-w), m.first, rest)...)
	m.paragraph, m.first = nil, nil
}

func isHeading(row string) bool {
	n := len(row) - len(strings.TrimLeft(row, "#"))
	return n >= 1 && n <= 6 && len(row) > n && row[n] == ' '
}

func (m *reader) heading(row string) {
	m.blank()
	text := strings.TrimSpace(strings.Trim(row, "#"))
	m.rows = append(m.rows, inline(text, heading|bold).wrap(m.columns)...)
}

func isRule(row string) bool {
	if len(row) < 3 {
		return false
	}
	c := row[0]
	return (c == '-' || c == '*' || c == '_') && strings.Trim(row, string(c)+" ") == ""
}

// bulletOf splits an item of a list into its bullet and its text.
func bulletOf(row string, s *signs) (bullet line, rest string, ok bool) {
	if len(row) > 1 && strings.ContainsRune("-*+", rune(row[0])) && row[1] == ' ' {
		rest = strings.TrimSpace(row[2:])
		if box, after, is := strings.Cut(rest, "] "); is && len(box) == 2 && box[0] == '[' {
			sign, k := s.idle, dim
			if box[1] != ' ' {
				sign, k = s.done, good
			}
			return line{{sign + " ", k}}, after, true
		}
		return line{{s.bullet + " ", dim}}, rest, true
	}
	n := 0
	for n < len(row) && n < 9 && row[n] >= '0' && row[n] <= '9' {
		n++
	}
	if n > 0 && n+1 < len(row) && (row[n] == '.' || row[n] == ')') && row[n+1] == ' ' {
		return line{{row[:n+1] + " ", dim}}, strings.TrimSpace(row[n+2:]), true
	}
	return nil, "", false
}

// code reads a row of fenced code.
func (m *reader) code(row, trimmed string) {
	if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]) == "" {
		m.fence = ""
		return
	}
	lead := len(row) - len(strings.TrimLeft(row, " "))
	row = row[min(lead, m.inset):]
	coloured, note := highlight(safe(row), m.lang, m.note)
	m.note = note
	bar := line{{m.signs.bar + " ", border}}
	for _, part := range hardwrap(coloured, m.columns-2) {
		m.rows = append(m.rows, join(bar, part))
	}
}

// hardwrap breaks code wherever a row is full.
func hardwrap(l line, columns int) []line {
	columns = max(columns, 4)
	l = slices.Clone(l)
	var rows []line
	for !l.fits(columns) {
		head := take(&l, columns)
		if len(head) == 0 {
			break
		}
		rows = append(rows, head)
	}
	return append(rows, l)
}

const maxCells = 32

// cells splits a row of a table.
func cells(row string) []string {
	parts := strings.SplitN(strings.Trim(row, "|"), "|", maxCells)
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return parts
}

func isDivider(row []string) bool {
	for _, c := range row {
		if c == "" || strings.Trim(c, ":-") != "" {
			return false
		}
	}
	return len(row) > 0
}

func (m *reader) endTable() {
	table := m.table
	m.table = nil
	if len(table) == 0 {
		return
	}
	var rows [][]line
	head := -1
	wide := make([]int, 0, maxCells)
	for i, r := range table {
		if isDivider(r) {
			if i == 1 {
				head = 0
			}
			continue
		}
		var drawn []line
		for c, cell := range r {
			k := plain
			if i == 0 && len(table) > 1 && isDivider(table[1]) {
				k = bold
			}
			l := inline(cell, k)
			drawn = append(drawn, l)
			if c == len(wide) {
				wide = append(wide, 0)
			}
			wide[c] = max(wide[c], l.width())
		}
		rows = append(rows, drawn)
	}
	squeeze(wide, m.columns-3*(len(wide)-1))
	for i, r := range rows {
		m.tableRow(r, wide)
		if i == head {
			var rule strings.Builder
			for c, w := range wide {
				if c > 0 {
					rule.WriteString(strings.Repeat(m.signs.line, 3))
				}
				rule.WriteString(strings.Repeat(m.signs.line, w))
			}
			m.rows = append(m.rows, line{{rule.String(), border}})
		}
	}
}

// tableRow draws a row of a table; its cells wrap.
func (m *reader) tableRow(r []line, wide []int) {
	var wrapped [][]line
	height := 1
	for c := range wide {
		var rows []line
		if c < len(r) {
			rows = r[c].wrap(wide[c])
		}
		wrapped = append(wrapped, rows)
		height = max(height, len(rows))
	}
	for y := range height {
		var row line
		for c, w := range wide {
			if c > 0 {
				row = append(row, span{" " + m.signs.bar + " ", border})
			}
			var part line
			if y < len(wrapped[c]) {
				part = wrapped[c][y]
			}
			row = append(row, part.fill(w)...)
		}
		m.rows = append(m.rows, row.cut(m.columns))
	}
}

// squeeze makes the widest columns of a table narrower until all fit.
func squeeze(wide []int, room int) {
	for {
		sum, most := 0, 0
		for i, w := range wide {
			sum += w
			if w > wide[most] {
				most = i
			}
		}
		if sum <= room || len(wide) == 0 || wide[most] <= 4 {
			return
		}
		wide[most] = max(4, wide[most]-(sum-room+len(wide)-1)/len(wide))
	}
}

// inline reads the marks within a paragraph: code, strong, emphasis, struck, links.
func inline(source string, base look) line {
	var out line
	var run strings.Builder
	now := base
	flush := func() {
		out = append(out, text(now, run.String())...)
		run.Reset()
	}
	for i := 0; i < len(source); {
		c := source[i]
		switch {
		case c == '\\' && i+1 < len(source) && strings.IndexByte("\\`*_~[]#>|-", source[i+1]) >= 0:
			run.WriteByte(source[i+1])
			i += 2
			continue
		case c == '`':
			if inner, n := fenced(source[i:]); n > 0 {
				flush()
				out = append(out, text(code|bold|base&^colourMask, inner)...)
				i += n
				continue
			}
		case c == '[':
			if label, target, n := linked(source[i:]); n > 0 {
				flush()
				out = append(out, text(link|base&^colourMask, label)...)
				if target != label && !strings.HasPrefix(target, "#") {
					out = append(out, text(dim, " ("+target+")")...)
				}
				i += n
				continue
			}
		case c == '*' || c == '_' || c == '~':
			if mark, n := emphasis(source, i, now); n > 0 {
				flush()
				now ^= mark
				i += n
				continue
			}
		}
		run.WriteByte(c)
		i++
	}
	flush()
	return out
}

// fenced returns the code at the start of s, between as many back ticks at both ends.
func fenced(s string) (inner string, n int) {
	ticks := 1
	for ticks <= 4 && ticks < len(s) && s[ticks] == '`' { // no further: a run may be long
		ticks++
	}
	if ticks > 4 {
		return "", 0
	}
	end := strings.Index(s[ticks:min(len(s), ticks+maxLink)], s[:ticks])
	if end <= 0 {
		return "", 0
	}
	return strings.TrimSpace(s[ticks : ticks+end]), end + 2*ticks
}

const maxLink = 2000

// linked returns the link at the start of s.
func linked(s string) (label, target string, n int) {
	s = s[:min(len(s), maxLink)]
	mid := strings.Index(s, "](")
	if mid < 0 || strings.IndexByte(s[1:mid], '[') >= 0 {
		return "", "", 0
	}
	end := strings.IndexByte(s[mid:], ')')
	if end < 0 {
		return "", "", 0
	}
	return s[1:mid], s[mid+2 : mid+end], mid + end + 1
}

// emphasis says which look a mark at i begins or ends, and how long it is; 0 if it is no mark.
func emphasis(s string, i int, now look) (mark look, n int) {
	c := s[i]
	for n = 1; n <= 3 && i+n < len(s) && s[i+n] == c; n++ { // no further: a run may be long
	}
	switch {
	case c == '~' && n == 2:
		mark = struck
	case c == '~' || n > 3:
		return 0, 0
	case n == 1:
		mark = italic
	case n == 2:
		mark = bold
	default:
		mark = bold | italic
	}
	before, after := byte(' '), byte(' ')
	if i > 0 {
		before = s[i-1]
	}
	if i+n < len(s) {
		after = s[i+n]
	}
	if now&mark == mark && before != ' ' { // it ends
		if c == '_' && isWordByte(after) {
			return 0, 0
		}
		return mark, n
	}
	if now&mark != 0 || after == ' ' || c == '_' && isWordByte(before) || c != '~' && isWordByte(before) && n == 1 {
		return 0, 0
	}
	if !strings.Contains(s[i+n:min(len(s), i+n+maxLink)], s[i:i+n]) { // it never ends
		return 0, 0
	}
	return mark, n
}

func isWordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// number is n with a point after each third digit.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

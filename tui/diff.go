package tui

import (
	"fmt"
	"strconv"
	"strings"
)

// A hunk is the walker's place in a unified diff: the numbers of the next lines of both
// sides, and how many the hunk still has. Counting tells a removed line that looks like
// the head of a file from the head of a file.
type hunk struct {
	body             bool
	old, now         int
	oldLeft, nowLeft int
}

// enter looks at the next row, and reports whether it begins a hunk.
func (h *hunk) enter(row string) bool {
	switch {
	case strings.HasPrefix(row, "@@"):
		h.head(row)
		return true
	case h.body && h.oldLeft > 0 && strings.HasPrefix(row, "-"):
	case isFileHead(row):
		h.body = false
	}
	return false
}

// pass goes over lines of either side.
func (h *hunk) pass(old, now int) {
	h.old, h.now = h.old+old, h.now+now
	h.oldLeft, h.nowLeft = max(h.oldLeft-old, 0), max(h.nowLeft-now, 0)
}

// head reads "@@ -9,3 +9,4 @@".
func (h *hunk) head(row string) {
	fields := strings.Fields(row)
	at := func(i int) (start, count int) {
		if i >= len(fields) {
			return 1, 0
		}
		first, rest, some := strings.Cut(fields[i][1:], ",")
		start, err := strconv.Atoi(first)
		if err != nil {
			return 1, 0
		}
		if !some {
			return start, 1
		}
		count, _ = strconv.Atoi(rest)
		return start, count
	}
	h.body = true
	h.old, h.oldLeft = at(1)
	h.now, h.nowLeft = at(2)
}

// isFileHead reports whether a row outside of hunks begins the diff of another file.
func isFileHead(row string) bool {
	return strings.HasPrefix(row, "diff ") || strings.HasPrefix(row, "--- a/") || strings.HasPrefix(row, "--- /dev/null")
}

// diffSize counts the lines that a unified diff adds and takes away.
func diffSize(diff string) (more, less int) {
	var h hunk
	for row := range strings.SplitSeq(strings.TrimRight(diff, "\n"), "\n") {
		switch begins := h.enter(row); {
		case begins || !h.body:
		case row == "":
			h.pass(1, 1)
		case row[0] == '+':
			more++
			h.pass(0, 1)
		case row[0] == '-':
			less++
			h.pass(1, 0)
		case row[0] != '\\':
			h.pass(1, 1)
		}
	}
	return more, less
}

// diffRows lays out a unified diff with line numbers; within pairs of changed lines the
// words that differ are marked. At most that many rows are shown, 0 means all.
func diffRows(diff string, columns, most int, s *signs) []line {
	var rows []line
	all := strings.Split(strings.TrimRight(diff, "\n"), "\n")
	var h hunk
	hunks := 0
	for i := 0; i < len(all); i++ {
		row := all[i]
		if most > 0 && len(rows) >= most {
			return append(rows, text(dim, fmt.Sprintf("%s %d more lines", s.ellipsis, len(all)-i)))
		}
		switch begins := h.enter(row); {
		case begins:
			if hunks > 0 {
				rows = append(rows, line{{"   " + s.ellipsis, dim}})
			}
			hunks++
		case !h.body, strings.HasPrefix(row, "\\"):
		case strings.HasPrefix(row, "-"):
			less := run(all[i:], '-', h.oldLeft)
			more := run(all[i+less:], '+', h.nowLeft)
			for k := range less {
				rows = append(rows, changedRow(all, i+k, i+less, k, more, h.old+k, removed, removedWord, "-", columns))
			}
			for k := range more {
				rows = append(rows, changedRow(all, i+less+k, i, k, less, h.now+k, added, addedWord, "+", columns))
			}
			h.pass(less, more)
			i += less + more - 1
		case strings.HasPrefix(row, "+"):
			rows = append(rows, numbered(h.now, "+", line{{safe(row[1:]), added}}, added, columns))
			h.pass(0, 1)
		default:
			rows = append(rows, numbered(h.now, " ", line{{safe(strings.TrimPrefix(row, " ")), code}}, dim, columns))
			h.pass(1, 1)
		}
	}
	if most > 0 && len(rows) > most+4 {
		rest := len(rows) - most
		rows = append(rows[:most], text(dim, fmt.Sprintf("%s %d more lines", s.ellipsis, rest)))
	}
	return rows
}

// run counts the rows at the start that begin with c: at least the first if it does, and
// no more than the hunk has left.
func run(rows []string, c byte, left int) int {
	n := 0
	for n < len(rows) && n < max(left, 1) && rows[n] != "" && rows[n][0] == c {
		n++
	}
	return n
}

// changedRow draws a changed line, with marks on what differs from its partner: the line
// of the other side in the same place, if there are as many of both.
func changedRow(all []string, at, others, k, count, number int, base, mark look, sign string, columns int) line {
	body := safe(all[at][1:])
	content := line{{body, base}}
	if k < count {
		content = differing(body, safe(all[others+k][1:]), base, mark)
	}
	return numbered(number, sign, content, base, columns)
}

func numbered(n int, sign string, content line, k look, columns int) line {
	if strings.HasPrefix(sign, "-") {
		sign = "−"
	}
	return join(line{{fmt.Sprintf("%5d ", n), dim}, {sign + " ", k}}, content).cut(columns)
}

// differing marks the words of one line that are not at the start or the end of the other.
// If hardly anything is the same, nothing is marked.
func differing(body, other string, base, mark look) line {
	head := 0
	for head < len(body) && head < len(other) && body[head] == other[head] {
		head++
	}
	for head > 0 && (isPart(body, head) || isPart(other, head)) {
		head--
	}
	tail := 0
	for tail < len(body)-head && tail < len(other)-head && body[len(body)-1-tail] == other[len(other)-1-tail] {
		tail++
	}
	for tail > 0 && (isPart(body, len(body)-tail) || isPart(other, len(other)-tail)) {
		tail--
	}
	same := len(strings.TrimSpace(body[:head])) + len(strings.TrimSpace(body[len(body)-tail:]))
	if same*3 < len(strings.TrimSpace(body)) || head+tail >= len(body) {
		return line{{body, base}}
	}
	var out line
	for _, s := range []span{{body[:head], base}, {body[head : len(body)-tail], mark}, {body[len(body)-tail:], base}} {
		if s.text != "" {
			out = append(out, s)
		}
	}
	return out
}

// isPart reports whether a cut at i would be within a word or a character.
func isPart(s string, i int) bool {
	return i > 0 && i < len(s) && (isWordByte(s[i-1]) || s[i-1] == '_') && (isWordByte(s[i]) || s[i] == '_')
}

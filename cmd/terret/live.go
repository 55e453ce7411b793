package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/terret-dev/terret/tui/draft"
)

// What is below the words while a turn runs: what the agent does, what waits behind the turn,
// and the draft. Functions that do not lock s.mu need it.

// live reports whether a person can type while words are shown.
func (s *screen) live() bool { return s.editor != nil && s.editor.live }

// follow keeps what the last row of the words shows, so that they can go on there.
func (s *screen) follow(text string) {
	if !s.types || s.apart {
		return
	}
	columns, _ := size(s.talk)
	if columns != s.rowFor { // nobody knows how the terminal has wrapped what was there
		s.row, s.rowFor = "", columns
	}
	row := s.row
	if n := strings.LastIndexByte(text, '\n'); n >= 0 {
		row, text = "", text[n+1:]
	}
	used := draft.Columns(row)
	var b strings.Builder
	b.WriteString(row)
	for text != "" {
		n, w := draft.Cluster(text)
		one := text[:n]
		if text = text[n:]; one == "\t" {
			w = min(8-used%8, columns-used)
			one = strings.Repeat(" ", w)
		}
		if used+w > columns {
			b.Reset()
			used = 0
		}
		b.WriteString(one)
		used += w
	}
	s.row = b.String()
}

// needsBreak reports whether the row of the words must be ended: below a draft, and where the
// terminal has begun another one, it has been.
func (s *screen) needsBreak() bool {
	return s.apart || !s.types || !s.live() && s.row != ""
}

// goBelow leaves the last row of the words, for what is drawn below them.
func (s *screen) goBelow() {
	if s.midLine && s.row != "" && !s.apart {
		fmt.Fprint(s.talk, "\n")
	}
}

// goOn goes back to where the words end, from the row below them.
func (s *screen) goOn() {
	if !s.midLine || s.row == "" || s.apart {
		return
	}
	columns, _ := size(s.talk)
	if columns != s.rowFor || draft.Columns(s.row) >= columns { // they go on in this row
		s.row = ""
		return
	}
	// The row again: terminals may take other widths for emoji.
	fmt.Fprint(s.talk, "\x1b[A\r\x1b[K"+s.row)
}

const queueRows = 4

// head are the rows above a draft.
func (s *screen) head(columns int) []string {
	rows := []string{s.statusRow(columns)}
	for i, text := range s.queue {
		if i == queueRows {
			rows = append(rows, s.paint(dim, fmt.Sprintf("  and %d more", len(s.queue)-i)))
			break
		}
		rows = append(rows, s.paint(dim, "  "+fit("queued: "+oneLine(text), columns-3)))
	}
	return rows
}

// statusRow is who does what, since when, and how to stop it.
func (s *screen) statusRow(columns int) string {
	what, since := s.status, s.since
	if what == "" {
		what, since = "working", s.began
	}
	sign, tail := "·", "  Esc stops"
	if s.colour {
		sign = frames[s.frame%len(frames)]
		tail = "  " + elapsed(time.Since(since)) + " · Esc stops"
	}
	return s.paint(dim, sign+" "+fit(oneLine(what), max(8, min(60, columns-len(tail)-4)))+tail)
}

// drawHead draws the first row above the draft again.
func (s *screen) drawHead() {
	e := s.editor
	if columns, _ := e.size(); e.heads > 0 && columns == e.wide {
		fmt.Fprintf(s.talk, "\x1b7\x1b[%dA\r%s\x1b[K\x1b8", e.row, noWrap+s.statusRow(columns)+wrap)
	}
}

// started ends the status of an agent that has been started.
func (s *screen) started() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live() && strings.HasPrefix(s.status, "starting") {
		s.status = ""
	}
}

// enqueue shows what waits behind the turn.
func (s *screen) enqueue(texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = texts
	if s.live() {
		s.editor.draw()
	}
}

// beginTurn notes that a turn begins, below which a person may type.
func (s *screen) beginTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Now()
}

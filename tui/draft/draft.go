// Package draft is a text that a person is writing in a terminal: the cursor, what readline
// users expect of keys, undo, what was cut, and the texts before it. It draws nothing.
package draft

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Draft is a text that a person is writing. It is not safe for concurrent use.
type Draft struct {
	Wording
	undone, done []Wording // to redo and to undo; the last one last
	typing       bool      // the last change was typing, which is undone as one
	killed       string    // what was cut last

	past  []string // earlier texts, the last one last
	place int      // which of them is shown; len(past) is the new one
	own   Wording  // the new one, while an earlier one is shown
}

// Wording is a text and the place of the cursor in it, in bytes.
type Wording struct {
	Text string
	At   int
}

// New is an empty draft after those texts, the last one last.
func New(past []string) *Draft { return &Draft{past: past, place: len(past)} }

// maxUndo is how many changes can be undone.
const maxUndo = 100

// Change replaces the text from one byte to another. The cursor ends up behind it.
func (d *Draft) Change(from, to int, text string) {
	if from == to && text == "" {
		return
	}
	typing := from == to && from == d.At && utf8.RuneCountInString(text) == 1 && text != " " && text != "\n"
	if !typing || !d.typing {
		d.done = append(d.done, d.Wording)
		d.done = d.done[max(0, len(d.done)-maxUndo):]
	}
	d.typing, d.undone = typing, nil
	d.Wording = Wording{d.Text[:from] + text + d.Text[to:], from + len(text)}
}

// Insert puts text before the cursor.
func (d *Draft) Insert(text string) { d.Change(d.At, d.At, text) }

// CutOut removes the text between two bytes, for paste.
func (d *Draft) CutOut(from, to int) {
	if from < to {
		d.killed = d.Text[from:to]
		d.Change(from, to, "")
	}
}

// Move moves the cursor.
func (d *Draft) Move(at int) { d.At, d.typing = at, false }

// Undo takes the last change back.
func (d *Draft) Undo() { d.travel(&d.done, &d.undone) }

// Redo makes it again.
func (d *Draft) Redo() { d.travel(&d.undone, &d.done) }

func (d *Draft) travel(from, to *[]Wording) {
	if n := len(*from) - 1; n >= 0 {
		*to = append(*to, d.Wording)
		d.Wording, *from = (*from)[n], (*from)[:n]
		d.typing = false
	}
}

// Next is the byte behind the character at the cursor.
func (d *Draft) Next() int {
	if d.At == len(d.Text) {
		return d.At
	}
	n, _ := Cluster(d.Text[d.At:])
	return d.At + n
}

// Previous is the first byte of the character before the cursor.
func (d *Draft) Previous() int {
	at := d.LineStart()
	if at == d.At {
		return max(0, d.At-1) // a line break
	}
	for {
		n, _ := Cluster(d.Text[at:])
		if at+n >= d.At {
			return at
		}
		at += n
	}
}

// LineStart is where the line of the cursor begins.
func (d *Draft) LineStart() int { return strings.LastIndexByte(d.Text[:d.At], '\n') + 1 }

// LineEnd is where it ends.
func (d *Draft) LineEnd() int {
	if n := strings.IndexByte(d.Text[d.At:], '\n'); n >= 0 {
		return d.At + n
	}
	return len(d.Text)
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// WordStart is where the word before the cursor begins.
func (d *Draft) WordStart() int {
	before := strings.TrimRightFunc(d.Text[:d.At], func(r rune) bool { return !inWord(r) })
	return len(strings.TrimRightFunc(before, inWord))
}

// WordEnd is where the word behind the cursor ends.
func (d *Draft) WordEnd() int {
	after := strings.TrimLeftFunc(d.Text[d.At:], func(r rune) bool { return !inWord(r) })
	return len(d.Text) - len(strings.TrimLeftFunc(after, inWord))
}

// SpaceStart is where what is before the cursor begins, up to a space.
func (d *Draft) SpaceStart() int {
	before := strings.TrimRightFunc(d.Text[:d.At], unicode.IsSpace)
	return len(strings.TrimRightFunc(before, func(r rune) bool { return !unicode.IsSpace(r) }))
}

// Up goes to the line above, or to the text before this one.
func (d *Draft) Up() {
	start := d.LineStart()
	if start == 0 {
		d.recall(d.place - 1)
		return
	}
	column := Columns(d.Text[start:d.At])
	d.Move(start - 1)
	d.moveTo(column)
}

// Down goes to the line below, or to the text after this one.
func (d *Draft) Down() {
	end := d.LineEnd()
	if end == len(d.Text) {
		d.recall(d.place + 1)
		return
	}
	column := Columns(d.Text[d.LineStart():d.At])
	d.Move(end + 1)
	d.moveTo(column)
}

// moveTo goes to a column of the line that the cursor is in.
func (d *Draft) moveTo(column int) {
	end := d.LineEnd()
	d.Move(d.LineStart())
	for used := 0; d.At < end; {
		n, w := Cluster(d.Text[d.At:])
		if used += w; used > column {
			return
		}
		d.At += n
	}
}

// recall shows an earlier text, or the new one again.
func (d *Draft) recall(place int) {
	if place < 0 || place > len(d.past) {
		return
	}
	if d.place == len(d.past) {
		d.own = d.Wording
	}
	d.place, d.typing, d.done, d.undone = place, false, nil, nil
	if place == len(d.past) {
		d.Wording = d.own
		return
	}
	d.Wording = Wording{d.past[place], len(d.past[place])}
}

// Remember adds a text to those that up shows.
func Remember(past []string, text string) []string {
	if text == "" || len(past) > 0 && past[len(past)-1] == text {
		return past
	}
	return append(past, text)
}

// Press does what a key is for, by its name, and reports whether it is for anything. The key
// "enter" and those that end the input are for the caller.
func (d *Draft) Press(name string) bool {
	switch name {
	case "left":
		d.Move(d.Previous())
	case "right":
		d.Move(d.Next())
	case "home":
		d.Move(d.LineStart())
	case "end":
		d.Move(d.LineEnd())
	case "word left":
		d.Move(d.WordStart())
	case "word right":
		d.Move(d.WordEnd())
	case "up":
		d.Up()
	case "down":
		d.Down()
	default:
		return d.correct(name)
	}
	return true
}

// correct does what a key is for that changes the text.
func (d *Draft) correct(name string) bool {
	switch name {
	case "new line":
		d.Insert("\n")
	case "backspace":
		d.Change(d.Previous(), d.At, "")
	case "leave": // there is something to clear; an empty line is left
		d.Change(0, len(d.Text), "")
	case "delete", "end of input":
		d.Change(d.At, d.Next(), "")
	case "cut left":
		d.CutOut(d.LineStart(), d.At)
	case "cut right":
		d.CutOut(d.At, d.LineEnd())
	case "cut to space":
		d.CutOut(d.SpaceStart(), d.At)
	case "cut word left":
		d.CutOut(d.WordStart(), d.At)
	case "cut word right":
		d.CutOut(d.At, d.WordEnd())
	case "paste":
		d.Insert(d.killed)
	case "undo":
		d.Undo()
	case "redo":
		d.Redo()
	default:
		return false
	}
	return true
}

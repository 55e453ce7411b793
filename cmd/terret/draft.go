package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// draft is a text that a person is writing.
type draft struct {
	wording
	undone, done []wording // to redo and to undo; the last one last
	typing       bool      // the last change was typing, which is undone as one
	killed       string    // what was cut last

	past  []string // earlier texts, the last one last
	place int      // which of them is shown; len(past) is the new one
	own   wording  // the new one, while an earlier one is shown
}

// wording is a text and the place of the cursor in it, in bytes.
type wording struct {
	text string
	at   int
}

func newDraft(past []string) *draft { return &draft{past: past, place: len(past)} }

// maxUndo is how many changes can be undone.
const maxUndo = 100

// change replaces the text from one byte to another. The cursor ends up behind it.
func (d *draft) change(from, to int, text string) {
	if from == to && text == "" {
		return
	}
	typing := from == to && from == d.at && utf8.RuneCountInString(text) == 1 && text != " " && text != "\n"
	if !typing || !d.typing {
		d.done = append(d.done, d.wording)
		d.done = d.done[max(0, len(d.done)-maxUndo):]
	}
	d.typing, d.undone = typing, nil
	d.wording = wording{d.text[:from] + text + d.text[to:], from + len(text)}
}

func (d *draft) insert(text string) { d.change(d.at, d.at, text) }

// cutOut removes the text between two bytes, for paste.
func (d *draft) cutOut(from, to int) {
	if from < to {
		d.killed = d.text[from:to]
		d.change(from, to, "")
	}
}

// move moves the cursor.
func (d *draft) move(at int) { d.at, d.typing = at, false }

func (d *draft) undo() { d.travel(&d.done, &d.undone) }
func (d *draft) redo() { d.travel(&d.undone, &d.done) }

func (d *draft) travel(from, to *[]wording) {
	if n := len(*from) - 1; n >= 0 {
		*to = append(*to, d.wording)
		d.wording, *from = (*from)[n], (*from)[:n]
		d.typing = false
	}
}

// next is the byte behind the character at the cursor.
func (d *draft) next() int {
	if d.at == len(d.text) {
		return d.at
	}
	n, _ := cluster(d.text[d.at:])
	return d.at + n
}

// previous is the first byte of the character before the cursor.
func (d *draft) previous() int {
	at := d.lineStart()
	if at == d.at {
		return max(0, d.at-1) // a line break
	}
	for {
		n, _ := cluster(d.text[at:])
		if at+n >= d.at {
			return at
		}
		at += n
	}
}

func (d *draft) lineStart() int { return strings.LastIndexByte(d.text[:d.at], '\n') + 1 }

func (d *draft) lineEnd() int {
	if n := strings.IndexByte(d.text[d.at:], '\n'); n >= 0 {
		return d.at + n
	}
	return len(d.text)
}

func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
}

// wordStart is where the word before the cursor begins.
func (d *draft) wordStart() int {
	before := strings.TrimRightFunc(d.text[:d.at], func(r rune) bool { return !inWord(r) })
	return len(strings.TrimRightFunc(before, inWord))
}

// wordEnd is where the word behind the cursor ends.
func (d *draft) wordEnd() int {
	after := strings.TrimLeftFunc(d.text[d.at:], func(r rune) bool { return !inWord(r) })
	return len(d.text) - len(strings.TrimLeftFunc(after, inWord))
}

// spaceStart is where what is before the cursor begins, up to a space.
func (d *draft) spaceStart() int {
	before := strings.TrimRightFunc(d.text[:d.at], unicode.IsSpace)
	return len(strings.TrimRightFunc(before, func(r rune) bool { return !unicode.IsSpace(r) }))
}

// up goes to the line above, or to the text before this one.
func (d *draft) up() {
	start := d.lineStart()
	if start == 0 {
		d.recall(d.place - 1)
		return
	}
	column := columnsOf(d.text[start:d.at])
	d.move(start - 1)
	d.moveTo(column)
}

// down goes to the line below, or to the text after this one.
func (d *draft) down() {
	end := d.lineEnd()
	if end == len(d.text) {
		d.recall(d.place + 1)
		return
	}
	column := columnsOf(d.text[d.lineStart():d.at])
	d.move(end + 1)
	d.moveTo(column)
}

// moveTo goes to a column of the line that the cursor is in.
func (d *draft) moveTo(column int) {
	end := d.lineEnd()
	d.move(d.lineStart())
	for used := 0; d.at < end; {
		n, w := cluster(d.text[d.at:])
		if used += w; used > column {
			return
		}
		d.at += n
	}
}

// recall shows an earlier text, or the new one again.
func (d *draft) recall(place int) {
	if place < 0 || place > len(d.past) {
		return
	}
	if d.place == len(d.past) {
		d.own = d.wording
	}
	d.place, d.typing, d.done, d.undone = place, false, nil, nil
	if place == len(d.past) {
		d.wording = d.own
		return
	}
	d.wording = wording{d.past[place], len(d.past[place])}
}

// remember adds a text to those that up shows.
func remember(past []string, text string) []string {
	if text == "" || len(past) > 0 && past[len(past)-1] == text {
		return past
	}
	return append(past, text)
}

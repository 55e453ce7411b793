package main

import (
	"strings"
	"testing"
)

// What happens while a person types comes above the line, and what the agent says comes
// after it.
func TestScreenWhileTyping(t *testing.T) {
	t.Parallel()
	var words, talk strings.Builder
	s := &screen{words: &words, talk: &talk, colour: true}
	s.edit(wanted{prompt: "\n> "})
	s.press(key{text: "ab"})
	s.say("some ")
	s.say("words")
	s.endWords()
	s.status = "working"
	s.draw()
	s.idle()
	if got := talk.String(); got != tellPastes+"\n> ab" || words.Len() > 0 {
		t.Errorf("the terminal has %q and %q", got, words.String())
	}
	talk.Reset()
	s.line("news")
	if got := talk.String(); got != "\r\x1b[Jnews\n\r\x1b[J> "+noWrap+"ab\r\x1b[2Cab"+wrap {
		t.Errorf("news come as %q", got)
	}
	talk.Reset()
	s.edited(true)
	if got := talk.String(); got != hidePastes+"\n" || words.String() != "some words\n" {
		t.Errorf("at the end: %q and %q", got, words.String())
	}
}

// However long a question waits, the agent's words cost no more than they are long.
func TestScreenHolds(t *testing.T) {
	var words strings.Builder
	s := &screen{words: &words, talk: &strings.Builder{}}
	s.edit(wanted{prompt: "> "})
	if n := testing.AllocsPerRun(1, func() {
		for range 1000 {
			s.say("word ")
		}
	}); n > 100 {
		t.Errorf("to hold 1000 words takes %v allocations", n)
	}
	s.edited(false)
	if got := words.String(); got != strings.Repeat("word ", 2000) { // the function runs twice
		t.Errorf("%d bytes are shown", len(got))
	}
}

// While a turn runs, words go on where they ended, above the draft, and lines of activity are
// no part of them.
func TestScreenLive(t *testing.T) {
	t.Parallel()
	var words, talk strings.Builder
	s := &screen{words: &words, talk: &talk, types: true}
	e := s.edit(wanted{prompt: "+ ", live: true})
	s.enqueue([]string{"one", "two"})
	s.press(key{text: "ab"})
	say := func(text, row string) {
		t.Helper()
		talk.Reset()
		s.say(text)
		if s.row != row {
			t.Errorf("after %q the row is %q", text, s.row)
		}
	}
	say("first ", "first ")
	if got := talk.String(); !strings.HasSuffix(got, "\n\r\x1b[J"+noWrap+"· working  Esc stops\r\n  queued: one\r\n  queued: two\r\n"+wrap+"+ "+noWrap+"ab\r\x1b[2Cab"+wrap) {
		t.Errorf("the draft is drawn as %q", got)
	}
	say("second", "first second")
	if got := talk.String(); !strings.HasPrefix(got, "\x1b[3A\r\x1b[J\x1b[A\r\x1b[K"+"first ") {
		t.Errorf("words go on with %q", got)
	}
	say(" "+strings.Repeat("日", 40), strings.Repeat("日", 7)) // which needs 93 of 80 columns
	say("\t.", strings.Repeat("日", 7)+"  .")
	say(strings.Repeat("x", 63), strings.Repeat("日", 7)+"  ."+strings.Repeat("x", 63)) // full
	say("y", "y")
	talk.Reset()
	s.line("news")
	if got := talk.String(); !strings.HasPrefix(got, "\x1b[3A\r\x1b[Jnews\n\r\x1b[J"+noWrap+"·") || strings.Contains(words.String(), "news") {
		t.Errorf("news come as %q", got)
	}
	say("z\n", "")
	s.edited(false)
	if want := "first second " + strings.Repeat("日", 40) + "\t." + strings.Repeat("x", 63) + "yz\n"; words.String() != want {
		t.Errorf("the words are %q, want %q", words.String(), want)
	}
	if e.Text != "ab" {
		t.Errorf("the draft is %q", e.Text)
	}
}

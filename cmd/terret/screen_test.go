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

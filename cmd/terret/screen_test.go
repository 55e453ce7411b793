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

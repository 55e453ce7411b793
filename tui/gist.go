package tui

import "github.com/terret-dev/terret"

// Gist is an event in a few words, as the feed shows it: one line, fit for a terminal.
func Gist(e terret.Event) string { return gistOf(e) }

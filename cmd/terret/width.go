package main

import (
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/terret-dev/terret/tui/draft"
)

// size is the number of columns and lines of a terminal; 80 and 24 if it does not say.
func size(stream any) (columns, lines int) {
	if f, ok := stream.(*os.File); ok {
		columns, lines, _ = term.GetSize(int(f.Fd()))
	}
	if columns <= 0 || lines <= 0 {
		return 80, 24
	}
	return columns, lines
}

// fit shortens text to that many columns.
func fit(text string, columns int) string {
	if draft.Columns(text) <= columns {
		return text
	}
	end := 0
	for used := 1; end < len(text); { // the ellipsis takes one
		n, w := draft.Cluster(text[end:])
		if used+w > columns {
			break
		}
		end, used = end+n, used+w
	}
	return strings.TrimSpace(text[:end]) + "…"
}

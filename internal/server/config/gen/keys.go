package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/terret-dev/terret/internal/server/config"
)

const (
	keysBegin = "<!-- keys: written by go generate ./internal/server/config -->\n"
	keysEnd   = "<!-- end of keys -->\n"
)

// withKeys is the page about the configuration with the table of today's keys.
func withKeys(page []byte) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte(keysBegin))
	_, after, end := bytes.Cut(rest, []byte(keysEnd))
	if !ok || !end {
		return nil, errors.New("the page has no place for the keys")
	}
	var table strings.Builder
	table.WriteString("| key | variable | |\n|---|---|---|\n")
	for _, k := range config.Keys() {
		variable, about := "", strings.ReplaceAll(k.About, "|", `\|`)
		if k.Variable != "" {
			variable = "`" + k.Variable + "`"
		}
		if k.Words != nil {
			about += " One of `" + strings.Join(k.Words, "`, `") + "`."
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", k.Path, variable, about)
	}
	return bytes.Join([][]byte{before, []byte(keysBegin), []byte(table.String()), []byte(keysEnd), after}, nil), nil
}

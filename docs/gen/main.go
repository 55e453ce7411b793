// Command gen writes what is made of the documentation: `gen api OPENAPI FILE` a page of the
// HTTP API, `gen site FOLDER VERSION` the whole as a static site.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/terret-dev/terret/docs"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "api":
		spec, err := os.ReadFile(args[1])
		if err != nil {
			return err
		}
		text, err := apiPage(spec)
		if err != nil {
			return err
		}
		return os.WriteFile(args[2], text, 0o644)
	case len(args) == 3 && args[0] == "site":
		return writeSite(args[1], args[2])
	default:
		return errors.New("usage: gen api OPENAPI FILE, or gen site FOLDER VERSION")
	}
}

func writeSite(dir, version string) error {
	site, err := docs.Site(version)
	if err != nil {
		return err
	}
	for name, body := range site {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, body, 0o644); err != nil {
			return err
		}
	}
	return nil
}

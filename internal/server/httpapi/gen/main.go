// Command gen writes the OpenAPI description of the HTTP API to the named file.
package main

import (
	"fmt"
	"os"

	"github.com/terret-dev/terret/internal/server/httpapi"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	spec, err := httpapi.Describe()
	if err == nil {
		err = os.WriteFile(os.Args[1], spec, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

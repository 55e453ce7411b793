// Command notices says what a release holds of others: `notices licenses ROOT FILE` writes
// the licences of all Go modules and npm packages in the program, `notices sbom OUT PROGRAM`
// the modules of a program, in CycloneDX.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	err := errors.New("usage: notices licenses ROOT FILE, or notices sbom OUT PROGRAM")
	switch args := os.Args[1:]; {
	case len(args) == 3 && args[0] == "licenses":
		err = writeLicenses(args[1], args[2])
	case len(args) == 3 && args[0] == "sbom":
		err = writeSBOM(args[1], args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

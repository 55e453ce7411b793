//go:build !linux

package sandbox

import (
	"fmt"
	"os"
)

// Main is the helper's main function. It never returns.
func Main([]string) {
	fmt.Fprintln(os.Stderr, "terret: there is no sandbox on this system")
	os.Exit(126)
}

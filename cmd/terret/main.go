// Command terret is one harness for every coding agent.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A broken pipe is an error of the write, so that a turn still ends in order.
	// Caught, not ignored: what we start would inherit the ignoring.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(context.Background(), newApp(os.Stdin, os.Stdout, os.Stderr, os.Environ()), os.Args[1:]))
}

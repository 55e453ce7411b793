// Command terret is one harness for every coding agent.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A broken pipe fails the write instead of killing us, so that a turn still ends
	// properly. The signal is caught, not ignored: child processes would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(context.Background(), newApp(os.Stdin, os.Stdout, os.Stderr, os.Environ()), os.Args[1:]))
}

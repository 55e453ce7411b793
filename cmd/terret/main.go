// Command terret is one harness for every coding agent.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/terret-dev/terret/driver/native"
)

// sandboxCommand is the command that starts the commands of agents in a sandbox. It is not
// for people.
const sandboxCommand = "sandbox-exec"

// sandboxHelper is how to start this program for that; nil if its path is unknown.
func sandboxHelper() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, sandboxCommand}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == sandboxCommand {
		native.SandboxMain(os.Args[2:])
	}
	// A broken pipe fails the write instead of killing us, so that a turn still ends
	// properly. The signal is caught, not ignored: child processes would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(context.Background(), newApp(os.Stdin, os.Stdout, os.Stderr, os.Environ()), os.Args[1:]))
}

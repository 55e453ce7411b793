package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"

	"github.com/terret-dev/terret/engine"
)

const (
	// childEnv holds what a child process is to do.
	childEnv = "TERRET_DRIVERTEST_CHILD"
	// mcpArg makes the program an MCP server.
	mcpArg = "drivertest-mcp-server"
)

// job is what a child process is to do: to be a harness with one turn, until it is
// killed.
type job struct {
	Target, Store, Data, Session, Prompt string
	Place                                Place
}

// Main is the work of a child process, if this is one: a harness that is killed, or
// an MCP server. Then it exits. Call it first in TestMain.
func Main(targets ...Target) {
	if len(os.Args) == 2 && os.Args[1] == mcpArg {
		exit(serveMCP(os.Stdin, os.Stdout))
	}
	if text := os.Getenv(childEnv); text != "" {
		exit(serveJob(text, targets))
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveJob(text string, targets []Target) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	if err := os.Unsetenv(childEnv); err != nil { // nobody below is a child of this kind
		return err
	}
	ctx := context.Background()
	for _, t := range targets {
		if t.title() != j.Target {
			continue
		}
		s, _, err := openSeat(ctx, t, j.Place, j.Store, j.Data, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			return err
		}
		if _, err := s.engine.Prompt(ctx, engine.PromptRequest{Session: j.Session, Prompt: words(j.Prompt), By: tester}); err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, os.Stdin) // until the parent is gone
		return err
	}
	return fmt.Errorf("there is no target %q", j.Target)
}

// harness is a child process that runs a turn.
type harness struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
}

// startHarness lets another process run a turn of the session.
func (f *fixture) startHarness(session, prompt string) *harness {
	f.Helper()
	text, err := json.Marshal(job{Target: f.target.title(), Store: f.path, Data: f.data, Session: session, Prompt: prompt, Place: f.place})
	if err != nil {
		f.Fatalf("%v", err)
	}
	h := &harness{cmd: exec.CommandContext(f.Context(), os.Args[0])}
	h.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	h.cmd.Stderr = &h.stderr
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		f.Fatalf("%v", err)
	}
	if err := h.cmd.Start(); err != nil {
		f.Fatalf("%v", err)
	}
	return h
}

// kill is kill -9. It waits for the end.
func (h *harness) kill() {
	h.cmd.Process.Kill() //nolint:errcheck // it may be gone already
	h.cmd.Wait()         //nolint:errcheck // it was killed
	h.stdin.Close()
}

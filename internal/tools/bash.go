package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/terret-dev/terret/internal/guard"
)

const (
	bashTimeout = 120_000 // milliseconds
	bashLongest = 600_000
	forever     = 365 * 24 * time.Hour // of commands in the background
	// commandLimit is what is sure to fit into one argument (128 KB on Linux).
	commandLimit = 100_000

	progressEvery = 200 * time.Millisecond
	// linger is how long what the command left running has to end by itself, like the
	// consumer of a process substitution.
	linger    = 500 * time.Millisecond
	killGrace = 2 * time.Second        // from TERM to KILL
	killLimit = 10 * time.Second       // for the kernel to carry out a KILL
	drain     = 500 * time.Millisecond // for the end of a pipe that somebody else still holds
)

func bashTool() Tool {
	return Tool{
		Name: "Bash", Class: Execute,
		Description: "Runs a shell command in the session's folder and returns what it prints (standard output and error together). " +
			"There is no terminal and no input. Output over 30,000 characters loses its middle. " +
			"Nothing outlives the command: processes that it leaves in the background are ended. " +
			"With run_in_background you need not wait for it: you get an id for BashOutput and KillBash, and are told when it ends.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","description":"The command, as typed in a shell"},` +
			`"timeout_ms":{"type":"integer","minimum":1,"maximum":600000,"description":"Time limit in milliseconds; 120000 if not given"},` +
			`"description":{"type":"string","description":"What the command does, in a few words"},` +
			`"run_in_background":{"type":"boolean","description":"Go on while it runs; then there is no time limit unless you give one"}},` +
			`"required":["command"],"additionalProperties":false}`),
		Prepare: prepareBash,
	}
}

// command is a prepared Bash use.
type command struct {
	env     Env
	shell   string // absolute
	text    string
	timeout time.Duration
}

func prepareBash(_ context.Context, env Env, input json.RawMessage) (*Use, error) {
	a := parse("Bash", input, "command", "timeout_ms", "description", "run_in_background")
	c := command{env: env, text: a.text("command")}
	c.timeout = time.Duration(a.number("timeout_ms", 1, bashLongest, bashTimeout)) * time.Millisecond
	background := a.flag("run_in_background")
	if background && !a.has("timeout_ms") {
		c.timeout = forever
	}
	_ = a.optionalText("description")
	switch {
	case a.has("command") && strings.TrimSpace(c.text) == "":
		a.fail("the command is empty")
	case strings.ContainsRune(c.text, 0):
		a.fail("the command contains a NUL character")
	case len(c.text) > commandLimit:
		a.fail("the command is longer than %d bytes; write it to a file and run that", commandLimit)
	}
	if err := a.done(); err != nil {
		return nil, err
	}
	info, err := os.Stat(env.Dir)
	if err != nil || !info.IsDir() || !filepath.IsAbs(env.Dir) {
		return nil, fmt.Errorf("Bash: the session's folder %s is not there", plain(env.Dir)) //nolint:staticcheck // names a tool
	}
	if c.shell, err = findShell(env.Shell); err != nil {
		return nil, err
	}
	return &Use{
		Tool: "Bash", Class: Execute,
		Title:   "Run `" + brief(strings.TrimSpace(c.text)) + "`",
		Command: c.text, Background: background,
		run: c.run,
	}, nil
}

// findShell returns the absolute path of the shell to use.
func findShell(name string) (string, error) {
	names := []string{name}
	if name == "" {
		names = []string{"bash", "sh"}
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("Bash: no shell (%s) is installed", strings.Join(names, ", ")) //nolint:staticcheck // names a tool
}

// outcome is why the wait for a command ended.
type outcome int

const (
	ended outcome = iota
	timedOut
	cancelled
)

// run runs the command under a guard of its own. Standard output and error are
// one pipe, which is the only way to keep their order; package proc has two.
func (c *command) run(ctx context.Context, progress func(string)) (Result, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, fmt.Errorf("the command was not run: %w", err)
	}
	text := c.text
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		text = " " + text // or the shell takes it for an option
	}
	g, err := guard.Start(ctx, guard.Config{
		Path: c.shell, Argv: []string{c.shell, "-c", text},
		Dir: filepath.Clean(c.env.Dir), Env: c.env.Environ, Owner: c.env.Owner,
		Stdout: w, Stderr: w,
		Grace: killGrace, KeepDescendants: true,
	})
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return Result{}, fmt.Errorf("the command was not run: %w", err)
	}
	var out output
	read := make(chan struct{})
	go func() {
		defer close(read)
		out.readFrom(r)
	}()
	defer func() { // also when progress panics
		_ = g.Close()
		_ = r.Close()
		<-read
	}()
	why := c.await(ctx, g.Exited(), &out, progress)
	left, stuck := endTree(g, why)
	_ = r.SetReadDeadline(time.Now().Add(drain))
	<-read
	res := c.result(g, &out, why, left, stuck)
	if why == cancelled {
		return res, ctx.Err()
	}
	return res, nil
}

// await waits until the command itself has ended, its time is up or ctx ends. From time
// to time it tells what is new in the output.
func (c *command) await(ctx context.Context, exited <-chan struct{}, out *output, progress func(string)) outcome {
	timer := time.NewTimer(c.timeout)
	defer timer.Stop()
	ticker := time.NewTicker(progressEvery)
	defer ticker.Stop()
	for {
		select {
		case <-exited:
			return ended
		case <-ctx.Done():
			return cancelled
		case <-timer.C:
			return timedOut
		case <-ticker.C:
			if text := out.news(); text != "" {
				progress(text)
			}
		}
	}
}

// endTree ends what is left of the command. left says that the command had ended
// and processes of it had not, stuck that some are still there.
func endTree(g *guard.Guard, why outcome) (left, stuck bool) {
	if why == ended {
		if gone(g, linger) {
			return false, false
		}
		left = true
	}
	_ = g.End(killGrace)
	return left, !gone(g, killGrace+killLimit)
}

func gone(g *guard.Guard, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-g.Gone():
		return true
	case <-timer.C:
		return false
	}
}

// bashFacts is the structured part of a Bash result.
type bashFacts struct {
	ExitCode        int    `json:"exit_code"` // -1 when it has none
	Signal          string `json:"signal,omitempty"`
	TimedOut        bool   `json:"timed_out,omitempty"`
	BackgroundEnded bool   `json:"background_ended,omitempty"`
	OutputBytes     int64  `json:"output_bytes"`
}

func (c *command) result(g *guard.Guard, out *output, why outcome, left, stuck bool) Result {
	text, cut := out.text()
	facts := bashFacts{ExitCode: -1, TimedOut: why == timedOut, BackgroundEnded: left, OutputBytes: out.total}
	var notes []string
	note := func(format string, v ...any) { notes = append(notes, fmt.Sprintf("["+format+"]", v...)) }
	switch why {
	case timedOut:
		note("timed out after %v: the command and everything it started were ended", c.timeout)
	case cancelled:
		note("cancelled: the command and everything it started were ended")
	case ended:
		exit := g.Status()
		facts.ExitCode, facts.Signal = exit.Code, exit.Signal
		if exit.Signal != "" {
			note("ended by %s", exit.Signal)
		} else if exit.Code != 0 {
			note("exit code %d", exit.Code)
		}
	}
	if left {
		note("processes that the command left running in the background were ended")
	}
	var err error
	if !stuck {
		err = g.Err()
	}
	switch {
	case stuck:
		note("processes of the command are still there after KILL")
	case errors.Is(err, guard.ErrLeft):
		note("processes of the command that belong to another user are still there")
	case err != nil:
		note("%v", err)
	}
	if text == "" && len(notes) == 0 {
		note("no output")
	}
	if text != "" && len(notes) > 0 && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return Result{
		Text:       text + strings.Join(notes, "\n"),
		IsError:    facts.ExitCode != 0,
		Truncated:  cut,
		Structured: structured(facts),
	}
}

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
		Description: "Runs a shell command and returns what it prints (standard output and error together). " +
			"It begins in the folder in which the last one ended, at first the session's, and has the variables that earlier ones exported. " +
			"There is no terminal and no input. Of output over 30,000 characters the middle is left out; you are told which file has all of it. " +
			"Nothing outlives the command: processes that it leaves in the background are ended. " +
			"With run_in_background you need not wait for it: you get an id for BashOutput and KillBash, and are told when it ends.",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"command":{"type":"string","description":"The command, as typed in a shell"},` +
			`"timeout_ms":{"type":"integer","minimum":1,"maximum":600000,"description":"Time limit in milliseconds; 120000 if not given"},` +
			`"description":{"type":"string","description":"What the command does, in a few words"},` +
			`"cwd":{"type":"string","description":"The folder to run it in, inside the session's folders"},` +
			`"env":{"type":"array","items":{"type":"string"},"description":"Which of the variables that earlier commands exported it has; all if not given"},` +
			`"run_in_background":{"type":"boolean","description":"Go on while it runs; then there is no time limit unless you give one"}},` +
			`"required":["command"],"additionalProperties":false}`),
		Prepare: prepareBash,
	}
}

// command is a prepared Bash use.
type command struct {
	env     Env
	shell   string // absolute
	dir     string // in which it begins
	environ []string
	text    string
	timeout time.Duration

	background bool
}

func prepareBash(_ context.Context, env Env, input json.RawMessage) (*Use, error) {
	fields := []string{"command", "timeout_ms", "description", "cwd", "env", "run_in_background"}
	if env.Wrap != nil {
		fields = append(fields, outsideField, reasonField)
	}
	a := parse("Bash", input, fields...)
	c := command{env: env, text: a.text("command")}
	outside, reason := a.flag(outsideField), a.optionalText(reasonField)
	if outside {
		c.env.Wrap = nil
	}
	c.timeout = time.Duration(a.number("timeout_ms", 1, bashLongest, bashTimeout)) * time.Millisecond
	background := a.flag("run_in_background")
	c.background = background
	if background && !a.has("timeout_ms") {
		c.timeout = forever
	}
	_ = a.optionalText("description")
	cwd, names := a.optionalText("cwd"), a.list("env")
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
	if err := c.begin(cwd, names); err != nil {
		return nil, err
	}
	return &Use{
		Tool: "Bash", Class: Execute,
		Title:   "Run `" + brief(strings.TrimSpace(c.text)) + "`",
		Command: c.text, Background: background, Outside: outside, Reason: brief(reason),
		run: c.run,
	}, nil
}

// begin says where the command begins, and with which variables.
func (c *command) begin(cwd string, names []string) (err error) {
	c.dir, c.environ = filepath.Clean(c.env.Dir), c.env.Environ
	if cwd != "" {
		p, err := c.env.locate("cwd", cwd)
		if err == nil && !p.inside {
			err = fmt.Errorf("cwd %s is outside the session's folders; name files outside by their absolute paths", p.shown)
		}
		if err == nil {
			err = isFolder(p)
		}
		if err != nil {
			return fmt.Errorf("Bash: %w", err) //nolint:staticcheck // names a tool
		}
		c.dir = p.real
	}
	switch {
	case c.env.State != nil:
		c.environ, err = c.env.State.environ(c.environ, names)
	case len(names) > 0:
		err = errors.New("no earlier command has exported anything")
	}
	if err != nil {
		return fmt.Errorf("Bash: %w", err) //nolint:staticcheck // names a tool
	}
	return nil
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
	report, err := newReporting()
	if err != nil {
		return Result{}, fmt.Errorf("the command was not run: %w", errors.Join(err, r.Close(), w.Close()))
	}
	argv := []string{c.shell, "-c", report.script(c.shell), c.shell, c.text}
	if c.env.Wrap != nil {
		if argv, err = c.env.Wrap(argv); err != nil {
			report.drop()
			return Result{}, fmt.Errorf("the command was not run: %w", errors.Join(err, r.Close(), w.Close()))
		}
	}
	g, err := guard.Start(ctx, guard.Config{
		Path: argv[0], Argv: argv,
		Dir: c.dir, Env: c.environ, Owner: c.env.Owner,
		Stdin: report.w, Stdout: w, Stderr: w,
		Grace: killGrace, KeepDescendants: true,
	})
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		report.drop()
		return Result{}, fmt.Errorf("the command was not run: %w", err)
	}
	report.begin()
	out := output{spill: c.spill()}
	read := make(chan struct{})
	go func() {
		defer close(read)
		out.readFrom(r)
	}()
	defer func() { // also when progress panics
		_ = g.Close()
		_ = r.Close()
		<-read
		report.finish()
	}()
	why := c.await(ctx, g.Exited(), &out, progress)
	left, stuck := endTree(g, why)
	_ = r.SetReadDeadline(time.Now().Add(drain))
	<-read
	if c.background { // nobody may have asked for the rest
		if text := out.news(c.newsLimit(), true); text != "" {
			progress(text)
		}
	}
	res := c.result(g, &out, why, left, stuck)
	if c.env.State != nil && why == ended && !c.background {
		if note := c.env.State.learn(c.env, report.finish()); note != "" {
			res.Text = strings.TrimSuffix(res.Text, "\n") + "\n" + note
		}
	}
	if why == cancelled {
		return res, ctx.Err()
	}
	return res, nil
}

// spill is where output goes that is too long.
func (c *command) spill() spill {
	if c.env.State == nil {
		return spill{}
	}
	return spill{create: c.env.State.temp.create}
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
			if text := out.news(c.newsLimit(), false); text != "" {
				progress(text)
			}
		}
	}
}

// newsLimit bounds the new output of one progress. That of a command in the background is
// all that anybody reads of it: if some is left out, there is more than whoever reads it
// shows, so that he knows.
func (c *command) newsLimit() int {
	if c.background {
		return 2 * outputLimit
	}
	return progressLimit
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
	file := out.whole(cut)
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
	if file != "" {
		note("all of the output, %d bytes, is in %s", min(out.total, maxSpill), file)
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
		Remarks:    strings.Join(notes, "\n"),
		IsError:    facts.ExitCode != 0,
		Truncated:  cut,
		Structured: structured(facts),
	}
}

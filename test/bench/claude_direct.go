package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"strings"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/claude"
)

// direct is the program, driven by hand.
type direct struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

// startDirect starts the program and greets it. Without more arguments that is the
// leanest start in which it asks before it uses tools.
func (b claudeBench) startDirect(ctx context.Context, more ...string) (*direct, error) {
	args := append(more, "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--setting-sources=user")
	cmd := apart(exec.CommandContext(ctx, b.program, args...))
	cmd.Dir, cmd.Env = b.work, b.env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	d := &direct{cmd: cmd, in: in, lines: bufio.NewReaderSize(out, 1<<20)}
	_, err = d.say(`{"type":"control_request","request_id":"hello","request":{"subtype":"initialize"}}`, `"type":"control_response"`)
	return d, err
}

// turn says hello and returns when the turn is over.
func (d *direct) turn() (took, error) {
	return d.say(`{"type":"user","message":{"role":"user","content":"hello"}}`, `"type":"result"`)
}

// say writes a line and reads until one holds those words.
func (d *direct) say(line, until string) (t took, err error) {
	began := time.Now()
	if _, err := io.WriteString(d.in, line+"\n"); err != nil {
		return took{}, err
	}
	for {
		line, err := d.lines.ReadSlice('\n')
		if err != nil {
			return took{}, err
		}
		if t.text == 0 && bytes.Contains(line, []byte(`"text_delta"`)) {
			t.text = time.Since(began)
		}
		if bytes.Contains(line, []byte(until)) {
			t.end = time.Since(began)
			return t, nil
		}
	}
}

func (d *direct) close() {
	_ = d.in.Close()
	_ = d.cmd.Wait()
}

// firstGreeted is the first turn of a process that is up.
func (b claudeBench) firstGreeted(ctx context.Context) (took, error) {
	d, err := b.startDirect(ctx)
	if err != nil {
		return took{}, err
	}
	defer d.close()
	time.Sleep(settled)
	return d.turn()
}

// coldText is the time from the start of a new process to its first text.
func (b claudeBench) coldText(ctx context.Context) (time.Duration, error) {
	cmd := apart(exec.CommandContext(ctx, b.program, "-p", "hello", "--output-format", "stream-json", "--verbose", "--include-partial-messages"))
	cmd.Dir, cmd.Env = b.work, b.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	var text time.Duration
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if text == 0 && strings.Contains(line, `"text_delta"`) {
			text = time.Since(began)
		}
		if err != nil {
			break
		}
	}
	return text, cmd.Wait()
}

// bareDriver is the driver's agent with a host that keeps nothing.
type bareDriver struct {
	agent terret.Agent
	heard chan terret.Data // pieces of text, and ends of turns
}

func (b claudeBench) openDriver(ctx context.Context) (*bareDriver, error) {
	d := &bareDriver{heard: make(chan terret.Data, 100)}
	var err error
	d.agent, err = claude.New(claude.Config{Path: b.program}).Open(ctx, terret.OpenRequest{
		Session: terret.Session{ID: terret.NewSessionID(), Agent: claude.Name, Cwd: b.work}, Host: d, Env: b.env, Log: slog.New(slog.DiscardHandler),
	})
	return d, err
}

func (d *bareDriver) turn(ctx context.Context) (t took, err error) {
	began := time.Now()
	if err := d.agent.Prompt(ctx, "turn", hello(), terret.Settings{}); err != nil {
		return took{}, err
	}
	for data := range d.heard {
		switch data := data.(type) {
		case terret.MessageDelta:
			if t.text == 0 {
				t.text = time.Since(began)
			}
		case terret.TurnComplete:
			t.end = time.Since(began)
			return t, nil
		case terret.TurnError:
			return took{}, &data.Error
		}
	}
	return took{}, errors.New("the turn did not end")
}

func (d *bareDriver) close(ctx context.Context) error { return d.agent.Close(ctx) }

// Emit implements terret.Host.
func (d *bareDriver) Emit(_ context.Context, events []terret.Event, _ []byte) error {
	for _, ev := range events {
		if k := ev.Kind(); k == terret.KindMessageDelta || k.EndsTurn() {
			d.heard <- ev.Data
		}
	}
	return nil
}

// Ask implements terret.Host.
func (d *bareDriver) Ask(_ context.Context, q terret.Ask) (terret.Decision, error) {
	return terret.Decision{RequestID: q.Key, Gate: q.Gate, Behavior: q.Gate.Refusal()}, nil
}

// Delivered implements terret.Host.
func (d *bareDriver) Delivered(context.Context, string) error { return nil }

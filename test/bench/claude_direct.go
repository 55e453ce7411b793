package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os/exec"
	"time"
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

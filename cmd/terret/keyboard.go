package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/terret-dev/terret"
)

// keyboard delivers the lines that a person types. It reads only when somebody wants a
// line, so that an editor in between has the terminal to itself.
type keyboard struct {
	in    io.Reader
	want  chan struct{}
	lines chan typed
	due   bool // a requested line has not been delivered yet
}

type typed struct {
	text string
	at   time.Time
	err  error
}

// newKeyboard reads from in. Its goroutine ends with the program: a read from a
// terminal cannot be cancelled.
func newKeyboard(in io.Reader) *keyboard {
	k := &keyboard{in: in, want: make(chan struct{}, 1), lines: make(chan typed, 1)}
	go func() {
		r := bufio.NewReader(in)
		for range k.want {
			text, err := r.ReadString('\n')
			if text != "" {
				err = nil // the error comes with the next read
			}
			k.lines <- typed{strings.TrimRight(text, "\r\n"), time.Now(), err}
		}
	}()
	return k
}

var errNoInput = terret.Errorf(terret.CodeInterrupted, "the input has ended")

// fresh starts a question: at a terminal, input typed earlier does not count as its
// answer.
func (k *keyboard) fresh() time.Time {
	if !isTerminal(k.in) {
		return time.Time{}
	}
	flushInput(k.in.(*os.File))
	return time.Now()
}

// read returns the next line typed after that time. It fails when the input or the
// context ends. Only one goroutine at a time may call it.
func (k *keyboard) read(ctx context.Context, after time.Time) (string, error) {
	for {
		if !k.due {
			k.due = true
			k.want <- struct{}{}
		}
		select {
		case line := <-k.lines:
			k.due = false
			if line.err != nil {
				return "", errNoInput
			}
			if !line.at.Before(after) {
				return line.text, nil
			}
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

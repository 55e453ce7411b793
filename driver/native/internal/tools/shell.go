package tools

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// maxReport bounds what a shell tells of itself, in bytes.
const maxReport = 1 << 20

// reporting is what a shell is given to tell where it ended, and with which variables.
// The shell has the pipe as its standard input, moves it out of the way of commands, and
// writes to it when it exits. One that is replaced or killed tells nothing.
type reporting struct {
	r, w *os.File
	done chan struct{}
	got  []byte
}

// script is run with the command as its only argument.
func (reporting) script(shell string) string {
	fd := "7" // most shells know only single digits
	if filepath.Base(shell) == "bash" {
		fd = "173"
	}
	return fmt.Sprintf(`exec %[1]s>&0 </dev/null; trap '{ command pwd -P; printf "\0"; command -p env -0; } >&%[1]s 2>/dev/null' EXIT; eval "shift; $1"`, fd)
}

func newReporting() (*reporting, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &reporting{r: r, w: w, done: make(chan struct{})}, nil
}

// begin reads until everybody has closed the other end, or finish. It takes all, so that
// nobody waits for us.
func (p *reporting) begin() {
	_ = p.w.Close() // the shell has its own
	go func() {
		defer close(p.done)
		p.got, _ = io.ReadAll(io.LimitReader(p.r, maxReport)) // a part says nothing: see learn
		_, _ = io.Copy(io.Discard, p.r)
	}()
}

// finish ends the reading, and returns what was told. It may be called again.
func (p *reporting) finish() []byte {
	_ = p.r.SetReadDeadline(time.Now().Add(drain))
	<-p.done
	_ = p.r.Close()
	if len(p.got) == maxReport {
		return nil
	}
	return p.got
}

// drop closes the pipe if the shell never ran.
func (p *reporting) drop() {
	_ = p.w.Close()
	_ = p.r.Close()
}

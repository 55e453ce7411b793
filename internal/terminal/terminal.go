package terminal

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// chunk is how much a terminal reads, and gives, at once.
const chunk = 32 << 10

// The size of a terminal.
const (
	defaultColumns, defaultRows = 80, 24
	maxSide                     = 1000
)

// State is what there is to know of a terminal, besides its output.
type State struct {
	ID       string
	Session  string
	Shell    string // the name of its program
	By       string // who opened it
	OpenedAt time.Time
	Columns  int
	Rows     int
	Shared   bool   // who may only look may look at it
	Written  int64  // bytes of output, from the start
	Busy     bool   // something else than the shell runs in the foreground
	Program  string // its name, if it is known
	Ended    bool
	ExitCode int // once it has ended; -1 if a signal ended it
	EndedBy  string
}

// Chunk is a piece of output, or a change of state.
type Chunk struct {
	Data   []byte
	Next   int64 // where the next one begins
	Missed bool  // what came before is no longer known
	State  State
	// Changed says that State is news to the reader.
	Changed bool
}

// Terminal is a shell on a pty. It is safe for concurrent use.
type Terminal struct {
	id, session string
	shell       string
	by          string
	opened      time.Time
	limits      Limits
	pty         device

	mu       sync.Mutex
	out      ring
	input    []byte // waits to be written
	columns  int
	rows     int
	shared   bool
	changes  int64 // of the state, from 1 on
	ended    bool
	exitCode int
	endedBy  string
	news     chan struct{} // closed and replaced when there is something new

	typed  chan struct{} // there is input
	closed chan struct{} // somebody wants it to end
	once   sync.Once
	done   chan struct{} // nothing is left
}

// device is a pty with a shell in it.
type device interface {
	// Read and Write are those of the pty. They end when the shell has ended.
	Read(p []byte) (int, error)
	Write(p []byte) (int, error)
	Resize(columns, rows int) error
	// Foreground tells what runs in the foreground, if it is not the shell.
	Foreground() (name string, busy bool)
	// End ends everything that runs on it. It does not wait.
	End(grace time.Duration)
	// Gone is closed when nothing is left.
	Gone() <-chan struct{}
	// Exit is how the shell ended. It waits for Gone.
	Exit() (code int, signal string)
	// Release closes the pty.
	Release()
}

func newID() string { return rand.Text()[:10] }

func open(ctx context.Context, id string, s Spec, l Limits) (*Terminal, error) {
	columns, rows := size(s.Columns, defaultColumns), size(s.Rows, defaultRows)
	shell := shellOf(s.Env)
	dev, err := start(ctx, s, shell, columns, rows)
	if err != nil {
		return nil, err
	}
	t := &Terminal{
		id: id, session: s.Session, shell: filepath.Base(shell), by: s.By, opened: time.Now(), limits: l, pty: dev,
		out: ring{max: l.Kept}, columns: columns, rows: rows, changes: 1, news: make(chan struct{}),
		typed: make(chan struct{}, 1), closed: make(chan struct{}), done: make(chan struct{}),
	}
	go t.run()
	return t, nil
}

// lastWords is how long the last output may take to come once nothing is left that writes.
const lastWords = time.Second

// run waits for the end.
func (t *Terminal) run() {
	defer close(t.done)
	collected, fed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(collected)
		t.collect()
	}()
	go func() {
		defer close(fed)
		t.feed()
	}()
	select {
	case <-t.closed:
		t.pty.End(t.limits.Grace)
		<-t.pty.Gone()
	case <-t.pty.Gone():
	}
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-collected:
	case <-timer.C: // a process that escaped holds it
	}
	t.pty.Release()
	<-collected
	<-fed
	t.end()
}

func size(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return min(n, maxSide)
}

// collect keeps the output.
func (t *Terminal) collect() {
	buf := make([]byte, chunk)
	p := pace{rate: t.limits.Rate}
	for {
		n, err := t.pty.Read(buf)
		if n > 0 {
			t.change(func() { t.out.write(buf[:n]) })
		}
		if err != nil {
			return
		}
		if !p.wait(n, t.pty.Gone(), t.closed) {
			p.rate = 0 // what is left is little
		}
	}
}

// feed writes what is typed.
func (t *Terminal) feed() {
	p := pace{rate: t.limits.Rate / 4}
	for {
		select {
		case <-t.typed:
		case <-t.pty.Gone():
			return
		}
		for {
			next := t.nextInput()
			if len(next) == 0 {
				break
			}
			if _, err := t.pty.Write(next); err != nil {
				return
			}
			p.wait(len(next), t.pty.Gone(), t.closed)
		}
	}
}

// nextInput takes out what is typed next.
func (t *Terminal) nextInput() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := bytes.Clone(t.input[:min(len(t.input), 1024)])
	t.input = append(t.input[:0], t.input[len(next):]...)
	return next
}

// pace slows a stream down to so many bytes in a second; zero means not at all.
type pace struct {
	rate  int
	since time.Time
	n     int
}

// wait takes note of n more bytes, and waits if they came too fast. It reports whether
// neither channel was closed.
func (p *pace) wait(n int, gone, closed <-chan struct{}) bool {
	if p.rate == 0 {
		return true
	}
	now := time.Now()
	if due := p.since.Add(time.Duration(float64(p.n) / float64(p.rate) * float64(time.Second))); now.After(due) {
		p.since, p.n = now, 0
	}
	p.n += n
	ahead := p.since.Add(time.Duration(float64(p.n) / float64(p.rate) * float64(time.Second))).Sub(now)
	if ahead < 20*time.Millisecond {
		return true
	}
	timer := time.NewTimer(ahead)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-gone:
	case <-closed:
	}
	return false
}

// change changes something, and tells who waits.
func (t *Terminal) change(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn()
	close(t.news)
	t.news = make(chan struct{})
}

// end takes note that nothing is left.
func (t *Terminal) end() {
	code, signal := t.pty.Exit()
	t.change(func() {
		t.ended, t.exitCode, t.endedBy = true, code, signal
		t.input = nil
		t.changes++
	})
}

// ID names the terminal.
func (t *Terminal) ID() string { return t.id }

// Session names the session that it belongs to.
func (t *Terminal) Session() string { return t.session }

// Shared reports whether those may look at it who may only look.
func (t *Terminal) Shared() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shared
}

func (t *Terminal) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// State tells what there is to know now.
func (t *Terminal) State() State {
	name, busy := t.pty.Foreground()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state(name, busy)
}

// state is State for those who hold the lock.
func (t *Terminal) state(program string, busy bool) State {
	return State{
		ID: t.id, Session: t.session, Shell: t.shell, By: t.by, OpenedAt: t.opened, Columns: t.columns, Rows: t.rows, Shared: t.shared,
		Written: t.out.end, Busy: busy && !t.ended, Program: program, Ended: t.ended, ExitCode: t.exitCode, EndedBy: t.endedBy,
	}
}

// Write types something. It does not wait until it is read.
func (t *Terminal) Write(p []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return ErrEnded
	case len(t.input)+len(p) > t.limits.Input:
		return ErrFull
	}
	t.input = append(t.input, p...)
	select {
	case t.typed <- struct{}{}:
	default:
	}
	return nil
}

// Resize changes the size of the terminal, of which the programs in it are told.
func (t *Terminal) Resize(columns, rows int) error {
	columns, rows = size(columns, defaultColumns), size(rows, defaultRows)
	t.mu.Lock()
	same, ended := t.columns == columns && t.rows == rows, t.ended
	t.mu.Unlock()
	if same || ended {
		return nil
	}
	if err := t.pty.Resize(columns, rows); err != nil {
		return err
	}
	t.change(func() {
		t.columns, t.rows = columns, rows
		t.changes++
	})
	return nil
}

// Share sets whether those may look at it who may only look.
func (t *Terminal) Share(shared bool) {
	t.change(func() {
		t.shared = shared
		t.changes++
	})
}

// Reader follows a terminal. It belongs to one goroutine.
type Reader struct {
	t     *Terminal
	after int64
	seen  int64
}

// Follow returns a reader that begins after so many bytes of output. Its first chunk tells
// the state.
func (t *Terminal) Follow(after int64) *Reader { return &Reader{t: t, after: after, seen: -1} }

// ErrOver says that a terminal will have no more output.
var ErrOver = errors.New("the terminal has ended")

// Next waits for what the reader does not know yet. After the last of a terminal that has
// ended it returns ErrOver.
func (r *Reader) Next(ctx context.Context) (Chunk, error) {
	for {
		c, news, over := r.look()
		switch {
		case c.Changed || len(c.Data) > 0 || c.Missed:
			return c, nil
		case over:
			return c, ErrOver
		}
		select {
		case <-news:
		case <-ctx.Done():
			return Chunk{}, context.Cause(ctx)
		}
	}
}

func (r *Reader) look() (c Chunk, news <-chan struct{}, over bool) {
	t := r.t
	t.mu.Lock()
	defer t.mu.Unlock()
	c.State = t.state("", false)
	if r.seen < 0 { // so that it knows what it is about to read
		c.Changed, c.Next, r.seen = true, min(r.after, t.out.end), t.changes
		if t.ended { // that is told after its last output
			c.State.Ended, r.seen = false, 0
		}
		return c, t.news, false
	}
	c.Data, c.Next, c.Missed = t.out.read(r.after, chunk)
	r.after = c.Next
	if t.ended && c.Next < t.out.end {
		c.State.Ended = false
		return c, t.news, false
	}
	if c.Changed = r.seen != t.changes; c.Changed {
		r.seen = t.changes
	}
	return c, t.news, t.ended
}

// Close ends the terminal and everything that runs in it, and waits until nothing is left.
// It may be called many times.
func (t *Terminal) Close() {
	t.once.Do(func() { close(t.closed) })
	<-t.done
}

// shellOf is the person's shell, or one that every system has.
func shellOf(env []string) string {
	for _, e := range env {
		path, ok := strings.CutPrefix(e, "SHELL=")
		if info, err := os.Stat(path); ok && filepath.IsAbs(path) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	if _, err := os.Stat("/bin/bash"); err == nil {
		return "/bin/bash"
	}
	return "/bin/sh"
}

// environ is the environment of a shell on the terminal.
func environ(env []string, shell, dir string) []string {
	about := []string{"TERM=xterm-256color", "COLORTERM=truecolor", "TERM_PROGRAM=terret", "SHELL=" + shell, "PWD=" + dir}
	var out []string
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		switch name {
		case "TERM", "COLORTERM", "SHELL", "PWD", "OLDPWD", "COLUMNS", "LINES", "NO_COLOR", "TERMINFO", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "CI", "DEBIAN_FRONTEND":
			continue
		}
		out = append(out, e)
	}
	return append(out, about...)
}

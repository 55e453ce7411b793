package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/tui/draft"
)

// keyboard delivers what a person types. It reads only when a caller wants a line, so
// that an editor in between has the terminal to itself.
type keyboard struct {
	in     io.Reader
	edits  bool // lines are edited here, not by the terminal
	want   chan struct{}
	pieces chan typed
	due    bool         // a requested piece has not been delivered yet
	rest   []byte       // typed, and not used yet
	held   func()       // releases the terminal; nil if it is not held
	early  []byte       // typed before a question was there, and meant for the draft
	last   atomic.Int64 // when something was typed last, in nanoseconds
}

type typed struct {
	text []byte
	at   time.Time
	err  error
}

// newKeyboard reads from in. Its goroutine ends with the program: a read from a
// terminal cannot be cancelled.
func newKeyboard(in io.Reader) *keyboard {
	k := &keyboard{in: in, want: make(chan struct{}, 1), pieces: make(chan typed, 1)}
	go func() {
		for range k.want {
			buf := make([]byte, 64<<10)
			n, err := in.Read(buf)
			now := time.Now()
			k.last.Store(now.UnixNano())
			k.pieces <- typed{buf[:n], now, err}
		}
	}()
	return k
}

var (
	errNoInput = terret.Errorf(terret.CodeInterrupted, "the input has ended")
	errLeft    = terret.Errorf(terret.CodeInterrupted, "left by Ctrl-C")
	errAlone   = errors.New("the key Esc was pressed, and begins no other")
)

// escapes is how long the rest of a key that begins with an escape may take.
const escapes = 50 * time.Millisecond

// settles is how long nothing must come before a question takes answers. Of a long text
// that is pasted, most waits outside of the terminal until what came before it is read.
const settles = 100 * time.Millisecond

// rests is how long a person who writes a draft must have paused before a question takes the
// keys: the next letters of a sentence are no answer.
const rests = 700 * time.Millisecond

// fresh starts a question: at a terminal, input typed earlier does not count as its
// answer. It drops what comes until nothing comes any more, or keeps it for the draft, and
// returns that time.
func (k *keyboard) fresh(ctx context.Context, drafts bool) time.Time {
	if !isTerminal(k.in) {
		return time.Time{}
	}
	drop := func() {
		if !drafts {
			flushInput(k.in.(*os.File))
		}
	}
	if drafts {
		k.early = append(k.early, k.rest...)
	}
	for quiet := false; !quiet; {
		drop()
		k.request()
		select {
		case piece := <-k.pieces:
			k.due = false
			quiet = piece.err != nil // the next read says so again
			if drafts {
				k.early = append(k.early, piece.text...)
			}
		case <-time.After(settles):
			quiet = true
		case <-ctx.Done():
			quiet = true
		}
	}
	drop() // part of a line, if the terminal edits lines
	k.rest = nil
	return time.Now()
}

// hold makes the terminal deliver keys as they are pressed, also while nobody waits for them:
// they are not shown by the terminal itself, and are there when somebody does. Ctrl-C
// interrupts. It reports whether the terminal can do that. The caller releases it.
func (k *keyboard) hold() bool {
	if !k.edits {
		return false
	}
	restore, err := keysAtOnce(k.in.(*os.File), false)
	k.held = restore
	return err == nil
}

// release makes the terminal as it was before hold.
func (k *keyboard) release() {
	if k.held != nil {
		k.held()
		k.held = nil
	}
}

// lend runs something that uses the terminal as it was.
func (k *keyboard) lend(use func()) {
	if k.held != nil {
		k.release()
		defer k.hold()
	}
	use()
}

// quiet waits until nobody has typed for a while, as nobody does who reads a question.
func (k *keyboard) quiet(ctx context.Context) {
	for {
		left := rests - time.Since(time.Unix(0, k.last.Load()))
		if left <= 0 {
			return
		}
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
}

// again makes what was typed too early for a question count now.
func (k *keyboard) again() {
	k.rest = append(k.early, k.rest...)
	k.early = nil
}

// request has the next piece read, unless that was requested before.
func (k *keyboard) request() {
	if !k.due {
		k.due = true
		k.want <- struct{}{}
	}
}

// wanted is a line to read.
type wanted struct {
	prompt string
	fresh  bool      // what was typed before the prompt does not count
	single string    // letters that are the whole line at once, if the terminal delivers keys
	after  time.Time // when that was
	past   []string  // earlier lines, which the person can take again
	leaves bool      // Ctrl-C clears the line, and twice leaves if it is empty, instead of interrupting

	draft  *draft.Draft         // to go on with; nil begins with an empty line
	live   bool                 // a turn runs meanwhile: what happens is shown above the line
	drafts bool                 // what was typed before the prompt is for the draft, not lost
	escape func()               // what Esc does, if anything
	tab    func(e *editor) bool // what Tab does, if anything; true completes the line
}

// ask prompts for a line and returns it. It fails when the input or the context ends.
// Only one goroutine at a time may call it.
func (k *keyboard) ask(ctx context.Context, s *screen, l wanted) (string, error) {
	if k.edits {
		restore, err := keysAtOnce(k.in.(*os.File), l.leaves)
		if err == nil {
			defer restore()
			if l.fresh {
				l.after = k.fresh(ctx, l.drafts)
			}
			return k.edit(ctx, s, l)
		}
	}
	if l.fresh {
		l.after = k.fresh(ctx, l.drafts)
	}
	s.prompt(l.prompt)
	for {
		end := bytes.IndexByte(k.rest, '\n')
		if end < 0 {
			err := k.more(ctx, l.after)
			if errors.Is(err, errNoInput) && len(k.rest) > 0 {
				end = len(k.rest)
				k.rest = append(k.rest, '\n') // the last line has none
			} else if err != nil {
				return "", err
			} else {
				continue
			}
		}
		text := bytes.TrimRight(k.rest[:end], "\r")
		k.rest = k.rest[end+1:]
		if isTerminal(k.in) && len(text) >= maxCanonical {
			s.line("the terminal cut this line after %d bytes, so it was not used; type a shorter one, or use `terret run < FILE`", len(text))
			s.prompt(l.prompt)
			continue
		}
		return string(text), nil
	}
}

// maxCanonical is how much of a line terminals keep that edit it themselves.
const maxCanonical = 4095

// more waits for more input.
func (k *keyboard) more(ctx context.Context, after time.Time) error {
	_, err := k.wait(ctx, after, nil, nil)
	return err
}

// wait waits for more input, or for a signal, which it returns. It fails with errAlone when
// alone comes before.
func (k *keyboard) wait(ctx context.Context, after time.Time, signals <-chan os.Signal, alone <-chan time.Time) (os.Signal, error) {
	for {
		k.request()
		select {
		case piece := <-k.pieces:
			k.due = false
			if len(piece.text) == 0 && piece.err != nil {
				return nil, errNoInput
			}
			if !piece.at.Before(after) {
				k.rest = append(k.rest, piece.text...)
				return nil, nil
			}
		case got := <-signals:
			return got, nil
		case <-alone:
			return nil, errAlone
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

const (
	tellPastes = "\x1b[?2004h" // the terminal is to say what is pasted
	hidePastes = "\x1b[?2004l"
)

// edit lets a person edit a line.
func (k *keyboard) edit(ctx context.Context, s *screen, l wanted) (string, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, redraws()...)
	defer signal.Stop(signals)
	e := s.edit(l)
	text, err := k.keys(ctx, s, e, l, signals)
	s.edited(err == nil && !l.live)
	return text, err
}

// keys reads keys until a line is complete.
func (k *keyboard) keys(ctx context.Context, s *screen, e *editor, l wanted, signals <-chan os.Signal) (string, error) {
	warned := false
	for {
		for len(k.rest) > 0 {
			pressed, n := nextKey(k.rest)
			if n == 0 {
				break
			}
			k.rest = k.rest[n:]
			if again := warned; l.leaves && pressed.name == "leave" && e.Text == "" {
				if warned = true; !again {
					s.line("%s", s.paint(dim, "Ctrl-C again leaves"))
					continue
				}
			} else {
				warned = false
			}
			done, err := k.special(s, e, l, pressed)
			if done || err != nil {
				return e.Text, err
			}
		}
		var alone <-chan time.Time
		if l.escape != nil && len(k.rest) == 1 {
			alone = time.After(escapes)
		}
		got, err := k.wait(ctx, l.after, signals, alone)
		if errors.Is(err, errAlone) {
			k.rest = nil
			l.escape()
			continue
		}
		if err != nil {
			return "", err
		}
		if got == nil {
			continue
		}
		if _, err := keysAtOnce(k.in.(*os.File), l.leaves); err != nil { // after Ctrl-Z the shell has set its own
			return "", err
		}
		s.redraw()
	}
}

// special does what a key is for, and reports whether it ends the line or the input.
func (k *keyboard) special(s *screen, e *editor, l wanted, pressed key) (done bool, err error) {
	switch {
	case pressed.name == "tab" && l.tab != nil:
		return l.tab(e), nil
	case e.Text == "" && len(pressed.text) == 1 && strings.Contains(l.single, strings.ToLower(pressed.text)):
		s.press(pressed)
		return true, nil
	case l.live && pressed.name == "enter" && strings.HasSuffix(e.Text, `\`):
		s.change(e, func() { e.Change(len(e.Text)-1, len(e.Text), "\n") })
		return false, nil
	case l.live && pressed.name == "enter" && strings.TrimSpace(e.Text) == "", l.live && pressed.name == "end of input" && e.Text == "":
		return false, nil
	}
	if done, err := e.end(pressed, l.leaves); done || err != nil {
		return done, err
	}
	s.press(pressed)
	return false, nil
}

// end reports whether a key ends the line or the input.
func (e *editor) end(k key, leaves bool) (done bool, err error) {
	switch {
	case k.name == "enter":
		return true, nil
	case k.name == "end of input" && e.Text == "":
		return false, errNoInput
	case k.name == "leave" && leaves && e.Text == "":
		return false, errLeft
	}
	return false, nil
}

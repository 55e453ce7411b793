package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hinshun/vt10x"
	"golang.org/x/sys/unix"
)

// screen is what a terminal of 100 columns and 24 rows shows now.
func (x *terminal) screen() string {
	v := vt10x.New(vt10x.WithSize(100, 24))
	_, _ = v.Write([]byte(x.all()))
	return v.String()
}

// shows waits until the screen shows the words. Until then it presses the key again and
// again, if there is one: a request takes no answer before a person can have read it.
func (x *terminal) shows(words, key string) {
	x.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for !strings.Contains(x.screen(), words) {
		select {
		case <-x.more:
		case <-again.C:
			if key != "" {
				x.send(key)
			}
		case <-timeout.C:
			x.t.Fatalf("the screen does not show %q:\n%s", words, x.screen())
		}
	}
}

// TestWorkspace is the story of the full-screen workspace by keys, in a terminal: it begins
// a session, answers a request, and leaves the terminal as it was.
func TestWorkspace(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "LANG=C.UTF-8")
	p.columns = 100
	if out := p.terret(); !strings.Contains(out, "Usage:") {
		t.Errorf("without a terminal: %s", out)
	}
	ours, theirs, err := openTerminal() // another one, which no program has changed
	if err != nil {
		t.Fatal(err)
	}
	before, err := unix.IoctlGetTermios(int(ours.Fd()), unix.TCGETS)
	if err := errors.Join(err, theirs.Close(), ours.Close()); err != nil {
		t.Fatal(err)
	}
	x := p.start(nil)
	x.shows("What should the agent do?", "")
	x.send("create a.txt containing one\r")
	x.shows("y allow", "")
	x.shows("Created a.txt", "y")
	x.shows("NEEDS YOU 1", "run: echo two\r") // what was said before asks again
	x.send("\x03")
	x.shows("Ctrl-C again leaves", "")
	x.send("\x03")
	out := x.end(0)
	if !strings.Contains(out, "\x1b[?1049l") || !strings.Contains(out, "\x1b[?25h") || strings.LastIndex(out, "\x1b[?1049h") > strings.LastIndex(out, "\x1b[?1049l") {
		t.Errorf("the screen is not as it was: %q", out[max(0, len(out)-300):])
	}
	after, err := unix.IoctlGetTermios(int(x.ours.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	if before.Lflag&unix.ECHO == 0 || *after != *before {
		t.Errorf("the terminal's mode was %v and is %v", before, after)
	}
}

// TestWorkspaceAttach opens a session in two windows; what is said in one is seen in the
// other, and a window that is told to end leaves the terminal as it was.
func TestWorkspaceAttach(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "LANG=C.UTF-8")
	p.columns = 100
	p.terret("run", "say hello")
	_, rest, found := strings.Cut(p.terret("sessions", "ls", "--json"), `"id": "`)
	id, _, _ := strings.Cut(rest, `"`)
	if !found {
		t.Fatal("there is no session")
	}
	one, two := p.start(nil, "attach", id[:13]), p.start(nil, "attach", id)
	for _, x := range []*terminal{one, two} {
		x.shows("I am the built-in demo model", "") // it takes keys once the conversation is there
	}
	one.send("from the first window\r")
	two.shows("from the first window", "")
	for _, x := range []*terminal{two, one} {
		if err := x.cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if out := x.end(0); !strings.Contains(out, "\x1b[?1049l") {
			t.Errorf("the screen is not as it was: %q", out[max(0, len(out)-300):])
		}
	}
}

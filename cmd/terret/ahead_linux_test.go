package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// until is a prompt whose turn runs until there is a file with the name go.
const until = "run: until test -e go; do sleep 0.01; done"

// A text that is sent while a turn runs steers it, one that Tab sends waits behind it, and a
// draft stays.
func TestTerminalTypesAhead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.chatting()
	x.send(until + "\n")
	x.expect("Run `until")
	x.send("be quick\n")
	x.expect("+ " + reset + "be quick\r\n")
	x.send("create a.txt containing 1\t")
	x.expect("queued: create a.txt containing 1")
	x.send("create b.txt\x04 \\\n")
	x.send("containing 2\r") // behind what waits
	x.expect("queued: create b.txt containing 2")
	x.send("create c.txt containing 3")
	x.expect("containing 3")
	p.file("go", "")
	x.expect("› " + reset + "create a.txt containing 1")
	x.expect("Created a.txt")
	x.expect("› " + reset + "create b.txt \r\ncontaining 2")
	x.expect("› ")
	x.expect("create c.txt containing 3")
	x.send("\n")
	x.expect("Created c.txt")
	x.expect("› ")
	x.send("\x04")
	shown := x.end(0)
	p.holds("a.txt", "1\n")
	p.holds("c.txt", "3\n")
	if strings.Contains(shown, "not sent") {
		t.Error("something was left")
	}
	if got := p.terret("events"); strings.Count(got, "be quick") != 1 || !strings.Contains(got, "user.prompt") {
		t.Errorf("the agent was not told: %d of %d events", strings.Count(got, "be quick"), strings.Count(got, "\n"))
	}
}

// Esc stops the turn. What waited behind it is in the draft again, before what was there.
func TestTerminalEscape(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.chatting()
	x.send("run: sleep 1000\n")
	x.expect("Esc stops")
	x.send("create a.txt containing 1\t")
	x.expect("queued: create a.txt containing 1")
	x.send("and 2")
	x.expect("and 2")
	x.send("\x1b")
	x.expect("stopping the turn; Ctrl-C again kills it")
	x.expect("Stopped.")
	x.expect("and 2")
	x.send("\n")
	x.expect("Created a.txt")
	p.holds("a.txt", "1\nand 2\n")
	x.expect("› ")

	// What is held is not forgotten.
	x.send("run: sleep 1000\n")
	x.expect("Esc stops")
	x.send("create b.txt containing 1\t")
	x.expect("queued: create b.txt containing 1")
	x.send("a draft")
	x.expect("a draft")
	x.send("\x03")
	x.expect("stopping the turn")
	x.expect("a draft")
	if err := x.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	x.expect("not sent: a draft")
	x.end(130)
	p.nothingLeft()
}

// Leaving with Ctrl-C twice leaves what waits behind it held, and says so at the next time.
func TestTerminalHeld(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.environ = append(p.environ, "TERRET_MOCK_SCRIPT="+p.file("script.json", `{"without": ["steer"], "turns": [[{"text": "working"}, {"deaf": true}], [{"text": "went on"}]]}`))
	x := p.start(nil, "chat", "--agent", "mock")
	x.expect("› ")
	x.send("go\n")
	x.expect("working")
	x.send("go on\n")
	x.expect("queued: go on")
	x.send("\x1b")
	x.expect("stopping the turn")
	x.send("\x03")
	x.expect("the turn was stopped at once")
	x.end(130)
	p.file("script.json", `{"turns": [[{"text": "went on"}]]}`) // the agent may not have noted the turn that was killed
	x = p.start(nil, "chat", "--continue")
	x.expect("held: go on")
	x.expect("› ")
	x.send("/se\t\n")
	x.expect("› " + reset + "go on")
	x.expect("went on")
	x.expect("› ")
	x.send("/drop\n")
	x.expect("no prompt is held")
	x.send("\x04")
	x.end(0)
}

// What is written is no answer to a question that comes meanwhile, and it is there again
// afterwards.
func TestTerminalDraftIsNoAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "chat", "--auto-approve-tools", "Bash")
	x.expect("› ")
	x.send(until + ", then create a.txt containing 1, then " + strings.Replace(until, "go", "on", 1) + "\n")
	x.expect("Esc stops")
	x.send("y draft")
	x.expect("y draft")
	p.file("go", "")
	x.expect(askPermission)
	x.send("y\x7fn\n") // a letter of the draft would be no answer either
	x.expect("y draft")
	x.send(" goes on")
	p.file("on", "")
	x.expect("tokens")
	x.expect("y draft goes on")
	x.send("\x15\x04")
	x.end(0)
	if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); err == nil {
		t.Error("the draft was taken as the answer")
	}
}

// A letter answers at once, but no, which takes a reason.
func TestTerminalOneKey(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "chat")
	x.expect("› ")
	x.send("create a.txt containing 1, then create b.txt containing 2\n")
	x.expect(askPermission)
	x.send("y")
	x.expect("Created a.txt")
	x.expect(askPermission)
	x.send("n")
	x.expect("n")
	x.send(" not here\n")
	x.expect("denied: not here")
	x.expect("› ")
	x.send("\x04")
	x.end(0)
	p.holds("a.txt", "1\n")
	if _, err := os.Stat(filepath.Join(p.dir, "b.txt")); err == nil {
		t.Error("the reason began with an answer")
	}
}

// A program that edits what is asked about has the terminal as it was.
func TestTerminalLent(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	editor := p.file("editor", "#!/bin/sh\nstty -a | grep -q ' echo ' && printf '%s' '{\"command\": \"echo edited\"}' >\"$1\"\n")
	p.environ = append(p.environ, "EDITOR="+editor)
	x := p.start(nil, "chat")
	x.expect("› ")
	x.send("run: echo ran\n")
	x.expect(askPermission)
	x.send("e\n")
	x.expect("edited")
	x.expect("› ")
	x.send("\x04")
	x.end(0)
}

// Tab completes commands and files, and lists them if several fit.
func TestTerminalCompletes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.file("alpha.txt", "1")
	p.file("alphabet.txt", "2")
	x := p.chatting()
	x.send("/st\t\n")
	x.expect("0 tokens in")
	x.send("/s\t")
	x.expect("  /status  /send")
	x.send("\x15read @al\t")
	x.expect("@alpha")
	x.send("\t")
	x.expect("@alpha.txt")
	x.send("b\t")
	x.expect("@alphabet.txt ")
	x.send("\x15@nothing\t")
	x.expect("nothing fits @nothing")
	x.send("\x15create a.txt containing 1\t2\n") // there is nothing to complete
	x.expect("Created a.txt")
	p.holds("a.txt", "1\t2\n")
	x.expect("› ")
	x.send("\x04")
	x.end(0)
}

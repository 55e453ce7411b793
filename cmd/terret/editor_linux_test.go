package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// chatting starts a chat that may write files.
func (p *place) chatting() *terminal {
	p.t.Helper()
	x := p.start(nil, "chat", "--policy", "auto-approve")
	x.expect("› ")
	return x
}

func (p *place) holds(name, want string) {
	p.t.Helper()
	got, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil || string(got) != want {
		p.t.Errorf("%s has %d bytes (%v), want %d: %.200q", name, len(got), err, len(want), got)
	}
}

// What is pasted is one message, however many lines it has, and however long they are: the
// terminal's own editing would keep 4095 bytes of each.
func TestTerminalPaste(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.chatting()
	pasted := strings.Repeat("a line that is pasted\n", 20000) + strings.Repeat("x", 100000)
	x.send("create a.txt containing " + pasteBegins + strings.ReplaceAll(pasted, "\n", "\r") + pasteEnds + " END\r")
	x.expect("Created a.txt")
	p.holds("a.txt", pasted+" END\n")
	x.expect("› ")
	x.send("\x04")
	x.end(0)
	if shown := p.terret("sessions", "show"); strings.Contains(shown, "turn 2") {
		t.Errorf("sessions show:\n%s", shown)
	}
}

// A terminal that cannot be drawn on edits lines itself, and cuts long ones. That is said,
// and nothing is sent.
func TestTerminalCutsLine(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "TERM=dumb")
	x := p.chatting()
	x.send("create a.txt containing " + strings.Repeat("x", 5000) + "\n")
	x.expect("the terminal cut this line after 4095 bytes")
	x.send("create a.txt containing 1\n")
	x.expect("Created a.txt")
	p.holds("a.txt", "1\n")
	x.send("\x04")
	x.end(0)
}

func TestTerminalEdits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.chatting()
	x.send("create a.txt containing 1👩‍👩‍👧‍👦\x7f\x1b[D2\n") // the whole family goes, and 2 comes before 1
	x.expect("Created a.txt")
	p.holds("a.txt", "21\n")
	x.expect("tokens")
	x.expect("› ")
	x.send("\x1b[A\x17333\n") // the same again, with another last word
	x.expect("tokens")
	x.expect("› ")
	p.holds("a.txt", "333\n")

	// Ctrl-C drops a draft; without one it leaves at the second time, unless something was
	// typed in between.
	x.send("create a.txt containing 4\x03create a.txt containing 5\n")
	x.expect("tokens")
	x.expect("› ")
	p.holds("a.txt", "5\n")
	x.send("\x03")
	x.expect("Ctrl-C again leaves")
	x.send("create a.txt containing 6\x03\x03")
	x.expect("Ctrl-C again leaves")
	x.send("\x03")
	x.expect("left by Ctrl-C")
	x.end(130)

	// A session that is resumed shows what was said in it last, and knows it.
	x = p.start(nil, "chat", "--continue")
	x.expect("` shows what was before")
	x.expect("create a.txt containing 5")
	x.expect("Replaced the content of a.txt")
	x.expect("› ")
	x.send("\x1b[A")
	x.expect("create a.txt containing 5")
	x.send("\x03\x03\x03")
	x.end(130)
}

// What happens while a person types does not get into the line.
func TestTerminalTypesOn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.environ = append(p.environ, "TERRET_MOCK_SCRIPT="+p.file("script.json", `{"turns": [[
		{"tool": {"name": "Write", "class": "edit", "input": {"file_path": "a"}, "ask": true, "result": "ok"}}
	]]}`))
	x := p.start(nil, "run", "--agent", "mock", "go")
	x.expect(askPermission)
	x.send("n too early")
	x.expect("n too early")
	id := strings.Fields(p.terret("pending"))[0]
	p.terret("decide", id, "allow")
	x.expect("\r\x1b[J") // the question is gone
	x.expect("decided elsewhere: allow")
	x.end(0)
}

// However a question ends, the terminal is afterwards as it was before.
func TestTerminalRestored(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args   []string
		prompt string
		keys   string
		signal syscall.Signal
		code   int
	}{
		"prune":             {[]string{"sessions", "prune", "--older-than", "1ns"}, "[y/N] > ", "\x03", 0, 130},
		"prune, terminated": {[]string{"sessions", "prune", "--older-than", "1ns"}, "[y/N] > ", "", syscall.SIGTERM, 130},
		"trust":             {[]string{"run", "hello"}, askTrust, "\x03", 0, 130},
		"trust, hung up":    {[]string{"run", "hello"}, askTrust, "", syscall.SIGHUP, 130},
		"chat, quit":        {[]string{"chat"}, "› ", "\x1c\x03\x03", 0, 130},
		"chat, terminated":  {[]string{"chat"}, "› ", "", syscall.SIGTERM, 130},
		"turn":              {[]string{"run", "run: echo ran"}, askPermission, "\x03", 0, 130},
		"turn, quit":        {[]string{"run", "run: echo ran"}, askPermission, "\x1cn\n", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.terret("run", "hello")
			if c.prompt == askTrust {
				p.file(".mcp.json", "{}")
			}
			x := p.start(nil, c.args...)
			x.expect(c.prompt)
			x.send(c.keys)
			if c.signal != 0 {
				if err := x.cmd.Process.Signal(c.signal); err != nil {
					t.Fatal(err)
				}
			}
			shown := x.end(c.code)
			mode, err := unix.IoctlGetTermios(int(x.ours.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			if mode.Lflag&unix.ICANON == 0 || mode.Lflag&unix.ECHO == 0 || mode.Cc[unix.VINTR] != 3 || mode.Cc[unix.VQUIT] != 0x1c {
				t.Errorf("the terminal's mode is %+v", mode)
			}
			if strings.LastIndex(shown, hidePastes) < strings.LastIndex(shown, tellPastes) {
				t.Errorf("the terminal still marks what is pasted: %q", shown)
			}
		})
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/terret-dev/terret/tui/draft"
)

// The ends of the lines in which a person is asked.
const (
	askPermission = "[q] deny and stop > "
	askQuestion   = "empty for no answer > "
	askPlan       = "say what to change > "
)

func TestTerminalPermission(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt  string
		answers []string
		code    int
		shows   []string
		rules   string // that holds afterwards
	}{
		"yes":        {"run: echo ran, then run: echo again", []string{"y", "yes"}, 0, []string{"\nran\n", "\nagain\n"}, ""},
		"no":         {"run: echo ran", []string{"n not here"}, 0, []string{"denied: not here"}, ""},
		"session":    {"run: git --version, then run: git --version", []string{"s"}, 0, []string{"git version"}, ""},
		"always":     {"run: git --version, then run: git --version", []string{"a"}, 0, []string{"git version"}, "Bash(git"},
		"edit":       {"run: echo ran", []string{"e"}, 0, []string{"\nedited\n"}, ""},
		"quit":       {"run: echo ran, then run: echo again", []string{"q"}, 130, []string{"interrupted"}, ""},
		"ALWAYS":     {"run: git --version, then run: git --version", []string{"A"}, 0, []string{"git version"}, "Bash(git"},
		"QUIT":       {"run: echo ran, then run: echo again", []string{"Q not now"}, 130, []string{"interrupted"}, ""},
		"a diff":     {"create a.txt containing one", []string{"y"}, 0, []string{"+one", "Created a.txt"}, ""},
		"no letter":  {"run: echo ran", []string{"what", "", "y"}, 0, []string{"type one of the letters", "\nran\n"}, ""},
		"no more":    {"run: echo ran", []string{"\x04"}, 0, []string{"the input has ended"}, ""},
		"not valid":  {"run: echo ran", []string{"e", "y"}, 0, []string{"this is not JSON; nothing was changed", "\nran\n"}, ""},
		"unchanged":  {"run: echo ran", []string{"e", "n"}, 0, []string{"nothing was changed, so nothing was decided", "denied"}, ""},
		"failed":     {"run: echo ran", []string{"e", "n"}, 0, []string{"failed", "denied"}, ""},
		"denied yet": {"run: echo ran", []string{"e", "n"}, 0, []string{"the edited input is denied: Rule Bash(echo forbidden) denies"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := map[string]string{"edit": `{"command": "echo edited"}`, "not valid": `{`, "denied yet": `{"command": "echo forbidden"}`, "failed": `{"command": "echo edited"}`}[name]
			p := newPlace(t)
			script := "printf '%s' '" + input + "' >\"$2\"\n"
			switch name {
			case "unchanged": // as after :q! in vi
				script = ":\n"
			case "failed": // as after :cq in vi
				script += "exit 1\n"
			}
			editor := p.file("editor", "#!/bin/sh\n"+script)
			p.environ = append(p.environ, "EDITOR="+editor+" --wait")
			x := p.start(nil, "run", "--deny", "Bash(echo forbidden)", c.prompt)
			for _, answer := range c.answers {
				x.expect(askPermission)
				x.send(answer)
				if answer != "\x04" {
					x.send("\n")
				}
			}
			shown := x.end(c.code)
			for _, want := range c.shows {
				if !strings.Contains(shown, want) {
					t.Errorf("the terminal does not show %q:\n%s", want, shown)
				}
			}
			if n := strings.Count(shown, askPermission); n != len(c.answers) {
				t.Errorf("asked %d times, want %d:\n%s", n, len(c.answers), shown)
			}
			if rules := p.terret("rules", "ls"); !strings.Contains(rules, c.rules) || (c.rules == "") != (rules == "") {
				t.Errorf("rules:\n%s", rules)
			}
		})
	}
}

func TestTerminalQuestionAndPlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "run", "ask me, then ask me, then make a plan, then make a plan")
	x.expect("Which colour do you like best?")
	x.expect("2  blue")
	x.expect(askQuestion)
	x.send("2\n")
	x.expect("You chose blue.")
	x.expect(askQuestion)
	x.send("as dark as possible\n")
	x.expect("You chose as dark as possible.")
	x.expect("2. Change what must change")
	x.expect(askPlan)
	x.send("n tests first\n")
	x.expect("tests first")
	x.expect(askPlan)
	x.send("what?\n")
	x.expect("type y or n")
	x.expect(askPlan)
	x.send("y\n")
	x.expect("The plan is approved")
	x.end(0)

	x = p.start(nil, "run", "ask me")
	x.expect(askQuestion)
	x.send("\n")
	if shown := x.end(0); strings.Contains(shown, "You chose") {
		t.Errorf("no answer is an answer:\n%s", shown)
	}
}

// What is typed before a question is there is no answer to it: nobody has read it.
func TestTerminalTypeAhead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "run", "--auto-approve-tools", "Bash", "run: until test -e go; do sleep 0.01; done, then create a.txt containing 1")
	x.expect("Run `until")
	x.send("y\n")
	x.expect("y\r\n") // the terminal has it
	p.file("go", "")
	x.expect(askPermission)
	x.send("n\n")
	x.end(0)
	if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); err == nil {
		t.Error("an answer was taken that was given before the question")
	}
}

// Nor is the rest of a long text that somebody pastes before the question is there.
func TestTerminalPasteAhead(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "run", "--auto-approve-tools", "Bash", "run: until test -e go; do sleep 0.01; done, then create a.txt containing 1")
	x.expect("Run `until")
	pasted := make(chan struct{})
	go func() {
		defer close(pasted)
		_, _ = x.ours.WriteString(strings.Repeat("y\n", 20000)) // more than the terminal holds; fails if the program ends
	}()
	x.expect("y\r\n")
	p.file("go", "")
	x.expect(askPermission)
	select {
	case <-pasted: // and dropped
	case <-time.After(patience / 10):
		t.Fatal("the question was there before the end of what was pasted")
	}
	x.send("n\n")
	x.end(0)
	if _, err := os.Stat(filepath.Join(p.dir, "a.txt")); err == nil {
		t.Error("an answer was taken that was pasted before the question")
	}
}

// Whoever is first decides; the question is withdrawn where it is asked.
func TestTerminalDecidedElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "run", "run: echo ran, then run: echo again")
	x.expect(askPermission)
	id := strings.Fields(p.terret("pending"))[0]
	p.environ = append(p.environ, "USER=ben")
	p.terret("decide", id, "allow")
	x.expect("decided elsewhere: allow, by ben")
	x.expect("ran")
	x.expect(askPermission)
	x.send("y\n")
	x.expect("again")
	x.end(0)
}

// The spinner moves on standard error only.
func TestTerminalSpinner(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	x := p.start(out, "run", "--policy", "auto-approve", "run: until test -e go; do sleep 0.01; done; echo ran")
	x.expect(frames[3])
	x.expect(frames[4])
	p.file("go", "")
	shown := x.end(0)
	if strings.Contains(shown, "I will run a command.") || !strings.Contains(shown, "\x1b[K") {
		t.Errorf("the terminal shows words, or no spinner:\n%q", shown)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	if want := "I will run a command.\n```\nran\n```\n"; string(text) != want {
		t.Errorf("standard output is %q, want %q", text, want)
	}
}

// The spinner stays on its line, however narrow the terminal is: a line that wraps would
// be left behind with each step.
func TestTerminalSpinnerFits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.columns = 30
	x := p.start(nil, "run", "--policy", "auto-approve", "run: until test -e go; do sleep 0.01; done; echo 日本語日本語日本語日本語日本語日本語")
	x.expect(frames[3])
	x.expect(frames[4])
	p.file("go", "")
	spins := 0
	for part := range strings.SplitSeq(x.end(0), "\r\x1b[K"+dim) {
		status, _, found := strings.Cut(part, reset)
		if n := draft.Columns(status); found && spins > 0 && n >= 30 {
			t.Errorf("%q takes %d columns", status, n)
		}
		spins++
	}
	if spins < 3 {
		t.Errorf("%d parts; the spinner was not found", spins)
	}
}

func TestTerminalPlain(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]string{"NO_COLOR": "NO_COLOR=1", "dumb": "TERM=dumb", "CI": "CI=true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, env)
			x := p.start(nil, "run", "run: echo ran")
			if name == "CI" { // nobody sits there
				x.expect("the policy deny-unless-allowed denies it")
			} else {
				x.expect(askPermission)
				x.send("y\n")
			}
			shown := x.end(0)
			if name == "NO_COLOR" { // is about colours only: lines can still be edited
				shown = strings.NewReplacer(tellPastes, "", hidePastes, "").Replace(shown)
			}
			if strings.ContainsAny(shown, "\x1b⠋⠙⠹⠸") {
				t.Errorf("colours or movements:\n%q", shown)
			}
		})
	}
}

// A server that is stopped says what it waits for, and how to stop that.
func TestTerminalServeStops(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "serve", "--addr", "127.0.0.1:0", "--drain", "30s")
	x.expect("listening on")
	x.send("\x03")
	x.expect("stopping; running turns have 30s to end, and Ctrl-C again interrupts them")
	x.end(0)
}

// Once stops the turn, twice kills it.
func TestTerminalInterrupt(t *testing.T) {
	t.Parallel()
	t.Run("once", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		x := p.start(nil, "run", "--policy", "auto-approve", "run: sleep 1000")
		x.expect("Run `sleep 1000`")
		x.send("\x03")
		x.expect("stopping the turn; Ctrl-C again kills it")
		x.expect("the turn was interrupted by ann")
		x.end(130)
		p.nothingLeft()
		if shown := p.terret("sessions", "show"); !strings.Contains(shown, "turn 1  interrupted") {
			t.Errorf("sessions show:\n%s", shown)
		}
	})
	t.Run("while asked", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		x := p.start(nil, "run", "run: echo ran")
		x.expect(askPermission)
		x.send("\x03")
		x.expect("the turn was interrupted by ann")
		x.end(130)
		if pending := p.terret("pending"); pending != "" {
			t.Errorf("still pending: %s", pending)
		}
	})
	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		p.environ = append(p.environ, "TERRET_MOCK_SCRIPT="+p.file("script.json", `{"turns": [[{"text": "working"}, {"deaf": true}]]}`))
		x := p.start(nil, "run", "--agent", "mock", "go")
		x.expect("working")
		x.send("\x03")
		x.expect("stopping the turn")
		x.send("\x03")
		x.expect("the turn was stopped at once")
		x.end(130)
		if shown := p.terret("sessions", "show"); !strings.Contains(shown, "turn 1  killed") {
			t.Errorf("sessions show:\n%s", shown)
		}
	})
}

// When the terminal is closed, or somebody asks the program to end, the turn ends properly
// first, and is not found broken later.
func TestTerminalEnds(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			x := p.start(nil, "chat", "--policy", "auto-approve")
			x.expect("› ")
			x.send("run: sleep 1000\n")
			x.expect("Run `sleep 1000`")
			if err := x.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			x.end(130)
			p.nothingLeft()
			if shown := p.terret("sessions", "show"); !strings.Contains(shown, "turn 1  interrupted") {
				t.Errorf("sessions show:\n%s", shown)
			}
		})
	}
}

// nothingLeft waits until no process works in the folder.
func (p *place) nothingLeft() {
	p.t.Helper()
	for deadline := time.Now().Add(patience); len(processesIn(p.dir)) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("still running: %q", processesIn(p.dir))
		}
	}
}

func TestTerminalChat(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	x := p.start(nil, "chat")
	x.expect("/help lists the commands")
	x.expect("› ")
	x.send("create a.txt containing 1\n")
	x.expect(askPermission)
	x.send("y\n")
	x.expect("Created a.txt")
	x.expect("› ")
	x.send("/undo\n")
	x.expect("undone: a.txt")
	x.expect("› ")

	// A turn that is stopped does not end the conversation.
	x.send("/policy auto-approve\n")
	x.expect("› ")
	x.send("run: sleep 1000\n")
	x.expect("Run `sleep 1000`")
	x.send("\x03")
	x.expect("Stopped.")
	x.expect("› ")
	x.send("list files\\\n")
	x.expect("… ")
	x.send("\n")
	x.expect("I will list the files.")
	x.expect("› ")
	x.send("\x04")
	x.expect("continue with `terret chat")
	shown := x.end(0)
	p.nothingLeft()

	_, rest, _ := strings.Cut(shown, "terret chat ")
	id, _, _ := strings.Cut(rest, "`")
	x = p.start(nil, "chat", id)
	x.expect("Full auto")
	x.expect("› ")
	x.send("\x03\x03")
	x.expect("left by Ctrl-C")
	x.end(130)
}

// A person is asked before old sessions go, and only a yes deletes them.
func TestTerminalPrune(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.terret("run", "hello")
	for _, answer := range []string{"\n", "no\n", "\x04", "y\n"} {
		if !strings.Contains(p.terret("sessions"), "hello") {
			t.Fatal("the session is gone")
		}
		x := p.start(nil, "sessions", "prune", "--older-than", "1ns")
		x.expect("1 session with")
		x.expect("Delete them? [y/N] > ")
		x.send(answer)
		code := 0
		if answer == "\x04" {
			code = 130
		}
		x.end(code)
	}
	if got := p.terret("sessions"); strings.Contains(got, "hello") {
		t.Errorf("the session is still there:\n%s", got)
	}
}

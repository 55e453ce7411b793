package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// place is where a terminal test happens: a folder to work in, and a home.
type place struct {
	t       *testing.T
	dir     string
	environ []string
	columns uint16 // of terminals; 0 leaves it open
}

func newPlace(t *testing.T, extra ...string) *place {
	t.Helper()
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &place{t: t, dir: dir, environ: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERRET_HOME=" + filepath.Join(home, "terret"), "USER=ann",
		"TERRET_MODEL=demo", "TERM=xterm-256color", "PWD=" + dir, "GORACE=" + noRaceSleep,
	}, extra...)}
}

// file writes a file in the folder and returns its path.
func (p *place) file(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// terret runs the program without a terminal, which must succeed, and returns its
// standard output.
func (p *place) terret(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.t.Context(), "terret", args...)
	cmd.Dir, cmd.Env = p.dir, p.environ
	out, err := cmd.Output()
	if err != nil {
		p.t.Fatalf("terret %q: %v", args, err)
	}
	return string(out)
}

// terminal is the program at work in a terminal.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	ours *os.File

	ended chan struct{} // closed when the program has ended
	err   error         // of that

	mu     sync.Mutex
	seen   []byte
	read   int // how much of it expect has passed
	more   chan struct{}
	output sync.WaitGroup
}

// minded makes the programs that we start end with their terminals, also if nohup has told
// us to ignore that: what a process ignores, its children ignore, too.
var minded = sync.OnceFunc(func() {
	if signal.Ignored(unix.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), unix.SIGHUP)
	}
})

// start runs the program in a terminal. Standard output goes to the file if there is
// one.
func (p *place) start(stdout *os.File, args ...string) *terminal {
	p.t.Helper()
	return p.startProgram(stdout, "terret", args...)
}

// startProgram is start for any program.
func (p *place) startProgram(stdout *os.File, program string, args ...string) *terminal {
	t := p.t
	t.Helper()
	ours, theirs, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	minded()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = p.dir, p.environ
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	if stdout != nil {
		cmd.Stdout = stdout
	}
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	resize(t, ours, p.columns)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, cmd: cmd, ours: ours, ended: make(chan struct{}), more: make(chan struct{}, 1)}
	x.output.Go(x.watch)
	go func() {
		defer close(x.ended)
		x.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended, as it should
		<-x.ended
		_ = ours.Close()
		x.output.Wait()
	})
	return x
}

func openTerminal() (ours, theirs *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err == nil {
		err = keepOutput(theirs)
	}
	return ours, theirs, err
}

// resize makes a terminal that wide, and 24 lines high.
func resize(t *testing.T, terminal *os.File, columns uint16) {
	t.Helper()
	if columns == 0 {
		return
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

// keepOutput makes Ctrl-C leave the terminal's output alone. By itself the kernel drops
// what was written and not read yet, also what a quick program says after the signal.
func keepOutput(terminal *os.File) error {
	mode, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		return err
	}
	mode.Lflag |= unix.NOFLSH
	return unix.IoctlSetTermios(int(terminal.Fd()), unix.TCSETS, mode)
}

func (x *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := x.ours.Read(buf)
		x.mu.Lock()
		x.seen = append(x.seen, buf[:n]...)
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// all is everything that the terminal has shown.
func (x *terminal) all() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.seen)
}

// expect waits until the terminal shows the text, after what was expected before.
func (x *terminal) expect(text string) {
	x.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		x.mu.Lock()
		i := bytes.Index(x.seen[x.read:], []byte(text))
		if i >= 0 {
			x.read += i + len(text)
		}
		x.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-x.more:
		case <-timeout.C:
			x.t.Fatalf("the terminal does not show %q:\n%s", text, x.all())
		}
	}
}

// send types text.
func (x *terminal) send(text string) {
	x.t.Helper()
	if _, err := x.ours.WriteString(text); err != nil {
		x.t.Fatal(err)
	}
}

// end waits for the program, which must end with that code, and returns all that the
// terminal has shown.
func (x *terminal) end(code int) string {
	x.t.Helper()
	select {
	case <-x.ended:
	case <-time.After(patience):
		_ = x.cmd.Process.Signal(unix.SIGQUIT) // so that it says where it is
		<-x.ended
		x.output.Wait()
		x.t.Fatalf("it does not end:\n%s", x.all())
	}
	if _, ok := errors.AsType[*exec.ExitError](x.err); x.err != nil && !ok {
		x.t.Fatal(x.err)
	}
	x.output.Wait() // the other side is closed now
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.t.Errorf("exit code %d, want %d:\n%s", got, code, x.all())
	}
	return strings.ReplaceAll(x.all(), "\r\n", "\n")
}

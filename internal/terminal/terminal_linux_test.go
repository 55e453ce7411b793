package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/terret-dev/terret/internal/test/guardtest"
)

const actAs = "TERMINAL_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(actAs); dir != "" {
		owner(dir)
	}
	goleak.VerifyTestMain(m)
}

// owner is a server that is about to be killed: it types what it reads, and shows the
// output.
func owner(dir string) {
	m := NewManager(Limits{})
	t, err := m.Open(context.Background(), Spec{Session: "s", Dir: dir, Env: plain(dir)})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		line := make([]byte, 1000)
		for {
			n, err := os.Stdin.Read(line)
			if err != nil {
				return
			}
			_ = t.Write(line[:n])
		}
	}()
	r := t.Follow(0)
	for {
		c, err := r.Next(context.Background())
		if err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.Write(c.Data)
	}
}

func plain(home string, more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "SHELL=/bin/sh", "PS1=$ ", "ENV="}, more...)
}

// seat is a terminal, and somebody who looks at it.
type seat struct {
	t      *testing.T
	term   *Terminal
	reader *Reader
	seen   bytes.Buffer
	last   State
	missed bool
}

func manager(t *testing.T, l Limits) *Manager {
	t.Helper()
	m := NewManager(l)
	t.Cleanup(m.Close)
	return m
}

func sit(t *testing.T, m *Manager, s Spec) *seat {
	t.Helper()
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.Session == "" {
		s.Session = "ses_1"
	}
	if s.Env == nil {
		s.Env = plain(s.Dir)
	}
	term, err := m.Open(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return &seat{t: t, term: term, reader: term.Follow(0)}
}

func (s *seat) typed(text string) {
	s.t.Helper()
	if err := s.term.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// next reads one chunk.
func (s *seat) next() error {
	ctx, cancel := context.WithTimeout(s.t.Context(), guardtest.Patience)
	defer cancel()
	c, err := s.reader.Next(ctx)
	if err != nil {
		return err
	}
	if c.Missed {
		s.missed = true
		s.seen.Reset()
	}
	s.seen.Write(c.Data)
	if c.Changed {
		s.last = c.State
	}
	return nil
}

// sees reads until the output has the text, and forgets it up to there.
func (s *seat) sees(text string) string {
	s.t.Helper()
	for {
		if before, after, ok := strings.Cut(s.seen.String(), text); ok {
			s.seen.Reset()
			s.seen.WriteString(after)
			return before
		}
		if err := s.next(); err != nil {
			s.t.Fatalf("%v; it shows %q, not %q", err, s.seen.String(), text)
		}
	}
}

// idle waits until nothing but the shell runs.
func (s *seat) idle() {
	s.t.Helper()
	guardtest.Eventually(s.t, "an idle shell", func() bool { return !s.term.State().Busy })
}

// toEnd reads until the shell has ended.
func (s *seat) toEnd() {
	s.t.Helper()
	for {
		if err := s.next(); errors.Is(err, ErrOver) {
			return
		} else if err != nil {
			s.t.Fatal(err)
		}
	}
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := sit(t, manager(t, Limits{}), Spec{Dir: dir, Columns: 91, Rows: 33, By: "ann", Env: plain(dir, "NO_COLOR=1", "COLUMNS=7")})
	s.typed("tty; pwd; stty size; echo \"<$TERM $NO_COLOR$COLUMNS>\"\n")
	s.sees("/dev/pts/")
	s.sees(dir)
	s.sees("33 91")
	s.sees("<xterm-256color >")
	if err := s.term.Resize(120, 40); err != nil {
		t.Fatal(err)
	}
	s.typed("stty size\n")
	s.sees("40 120")
	if s.last.Columns != 120 || s.last.Rows != 40 || s.last.By != "ann" || s.last.Shell != "sh" || s.last.Ended {
		t.Errorf("%+v", s.last)
	}

	// Somebody else sees the same, from the start.
	other := &seat{t: t, term: s.term, reader: s.term.Follow(0)}
	other.sees("33 91")
	other.sees("40 120")

	s.typed("echo 'ü'; exit 3\n")
	s.sees("ü\r\n")
	s.toEnd()
	if !s.last.Ended || s.last.ExitCode != 3 {
		t.Errorf("%+v", s.last)
	}
	other.toEnd()
	if got := other.seen.String(); !strings.HasSuffix(got, "ü\r\n") || !other.last.Ended {
		t.Errorf("the other one saw %q and %+v at the end", got, other.last)
	}
	late := &seat{t: t, term: s.term, reader: s.term.Follow(0)}
	late.toEnd()
	if !late.last.Ended || !strings.Contains(late.seen.String(), "33 91") {
		t.Errorf("who comes late sees %q and %+v", late.seen.String(), late.last)
	}
	if err := s.term.Write([]byte("x")); !errors.Is(err, ErrEnded) {
		t.Errorf("write: %v", err)
	}
}

// TestJobs shows that the shell has the terminal: it interrupts and suspends jobs, and one
// that runs in the foreground is known.
func TestJobs(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir := t.TempDir()
	s := sit(t, manager(t, Limits{}), Spec{Dir: dir, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "SHELL=" + bash}})
	s.typed("echo rea''dy\n")
	s.sees("ready")
	s.idle()
	s.typed("sleep 1000\n")
	guardtest.Eventually(t, "sleep in the foreground", func() bool {
		st := s.term.State()
		return st.Busy && st.Program == "sleep"
	})
	s.typed("\x1a")
	s.sees("Stopped")
	s.typed("kill %1; wait; cat\n")
	guardtest.Eventually(t, "cat in the foreground", func() bool { return s.term.State().Program == "cat" })
	s.typed("\x03")
	s.idle() // what is typed earlier may go with the interrupt, as on any terminal
	s.typed("echo $((6*7))\n")
	s.sees("42")
}

// TestNothingOutlivesATerminal holds that all that was started in it ends with it, also
// what ignores that its terminal is gone: when it is closed, when the shell ends, when its
// session or the manager ends.
func TestNothingOutlivesATerminal(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(m *Manager, s *seat){
		"closed":  func(m *Manager, s *seat) { _ = m.Remove("ses_1", s.term.ID()) },
		"session": func(m *Manager, _ *seat) { m.RemoveAll("ses_1") },
		"manager": func(m *Manager, _ *seat) { m.Close() },
		"exit": func(_ *Manager, s *seat) {
			s.typed("exit\n")
			s.toEnd()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := manager(t, Limits{})
			s := sit(t, m, Spec{})
			marker := guardtest.Marker()
			plant(t, s, marker)
			end(m, s)
			guardtest.NoneAlive(t, marker)
		})
	}
}

// plant starts processes that try to escape.
func plant(t *testing.T, s *seat, marker string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "tree.sh")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(guardtest.MarkedTree, "while read line; do :; done\n", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	s.typed(fmt.Sprintf("trap '' HUP; sh %s %s\n", script, marker))
	guardtest.AwaitSleeps(t, marker, guardtest.MarkedTreeSize-1)
}

// TestNothingOutlivesItsOwner kills the process that has the terminals.
func TestNothingOutlivesItsOwner(t *testing.T) {
	t.Parallel()
	dir, marker := t.TempDir(), guardtest.Marker()
	cmd := exec.Command(os.Args[0]) //nolint:gosec // it is this test
	cmd.Env = append(os.Environ(), actAs+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, out)
	}()
	_, _ = fmt.Fprintf(in, "trap '' HUP TERM; sleep %s & (setsid sleep %s &) ; sh -c 'trap \"\" HUP TERM; sleep %s'\n", marker, marker, marker)
	guardtest.AwaitSleeps(t, marker, 3)
	_ = cmd.Process.Kill()
	<-read
	_ = cmd.Wait()
	guardtest.AwaitNone(t, marker)
}

// TestFlood holds that a program that writes without end takes no memory and holds nobody
// up: neither who reads nothing, nor the shell that is to end it.
func TestFlood(t *testing.T) {
	t.Parallel()
	const kept = 64 << 10
	s := sit(t, manager(t, Limits{Kept: kept, Rate: 64 << 20}), Spec{})
	slow := s.term.Follow(0)
	if _, err := slow.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.typed("yes flood\n")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	guardtest.Eventually(t, "many times what is kept", func() bool { return s.term.State().Written > 200*kept })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 20*kept {
		t.Errorf("%d bytes more are in use", grown)
	}
	s.typed("\x03") // the first reader read nothing until now
	for {
		c, err := slow.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if c.Missed {
			if !strings.HasPrefix(string(c.Data), "flood\r\n") {
				t.Errorf("who has missed something begins with %.20q", c.Data)
			}
			break
		}
	}
	s.idle()
	s.typed("echo do''ne\n")
	s.sees("\ndone")
	if !s.missed {
		t.Error("nothing was missed")
	}
}

// TestInputThatNobodyReads holds that typing never waits, and is bounded.
func TestInputThatNobodyReads(t *testing.T) {
	t.Parallel()
	s := sit(t, manager(t, Limits{Input: 10_000}), Spec{})
	s.typed("stty raw -echo; echo rea''dy; sleep 1000\n")
	s.sees("ready")
	full := false
	for range 1000 {
		if err := s.term.Write(make([]byte, 1000)); errors.Is(err, ErrFull) {
			full = true
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !full {
		t.Error("it takes a megabyte that nobody reads")
	}
}

func TestNumberOfTerminals(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{Session: 2, Total: 3})
	one, two, other := sit(t, m, Spec{}), sit(t, m, Spec{}), sit(t, m, Spec{Session: "ses_2"})
	for _, session := range []string{"ses_1", "ses_2"} {
		if _, err := m.Open(t.Context(), Spec{Session: session, Dir: t.TempDir()}); !errors.Is(err, ErrTooMany) {
			t.Errorf("one more in %s: %v", session, err)
		}
	}
	if _, err := m.Get("ses_2", one.term.ID()); !errors.Is(err, ErrNotFound) {
		t.Errorf("the terminal of another session: %v", err)
	}
	one.typed("exit\n") // one that has ended makes room
	one.toEnd()
	three := sit(t, m, Spec{})
	if list := m.List("ses_1"); len(list) != 2 || list[0] != two.term || list[1] != three.term {
		t.Errorf("%v", list)
	}
	two.typed("exit\n") // also for another session, but not for one that has too many itself
	two.toEnd()
	four := sit(t, m, Spec{Session: "ses_2"})
	if list := m.List(""); len(list) != 3 || list[0] != other.term || list[1] != three.term || list[2] != four.term {
		t.Errorf("%v", list)
	}
	three.typed("exit\n")
	three.toEnd()
	if _, err := m.Open(t.Context(), Spec{Session: "ses_2", Dir: t.TempDir()}); !errors.Is(err, ErrTooMany) {
		t.Errorf("a third one of ses_2: %v", err)
	}
	if err := m.Remove("ses_2", four.term.ID()); err != nil {
		t.Error(err)
	}
	m.RemoveAll("ses_1")
	if list := m.List(""); len(list) != 1 || list[0] != other.term || other.term.State().Ended {
		t.Errorf("%v", list)
	}
	m.Close()
	if _, err := m.Open(t.Context(), Spec{Session: "ses_3", Dir: t.TempDir()}); err == nil {
		t.Error("a closed manager opens terminals")
	}
}

func TestFolderThatIsGone(t *testing.T) {
	t.Parallel()
	m := manager(t, Limits{})
	if _, err := m.Open(t.Context(), Spec{Session: "s", Dir: filepath.Join(t.TempDir(), "gone")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if len(m.List("")) != 0 {
		t.Error("it is in the list")
	}
}

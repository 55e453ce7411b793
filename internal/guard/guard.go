//go:build linux || darwin

package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Guard is a running guard and the agent below it.
type Guard struct {
	process *os.Process // the guard
	tree    string      // id in the tree's mark
	cgroup  cgroup      // the guard makes it and removes it, if it can
	grace   time.Duration
	pid     int // the agent; set before started is closed

	mu      sync.Mutex // guards control
	control *os.File   // nil once closed

	started chan error    // one result: the agent runs, or why not
	exited  chan struct{} // closed by watch once exit is set
	gone    chan struct{} // closed by watch last of all
	exit    Exit          // set before exited
	err     error         // set before gone
}

// Start runs the agent of c under a new guard and returns once the agent has
// been started. ctx bounds the start only: when it ends first, whatever was
// started is ended before Start returns. The caller waits for Gone.
func Start(ctx context.Context, c Config) (*Guard, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("start agent %s: %w", c.Path, err)
	}
	self, err := selfMark(c.Owner)
	if err != nil {
		return nil, fmt.Errorf("start agent %s: read own start time: %w", c.Path, err)
	}
	g := &Guard{
		tree:    rand.Text(),
		grace:   c.grace(),
		started: make(chan error, 1),
		exited:  make(chan struct{}),
		gone:    make(chan struct{}),
	}
	g.cgroup = cgroupFor(self, g.tree)
	treeMark := g.tree + "." + pidSpace()
	status, err := g.launch(c, []string{OwnerEnv + "=" + self.String(), guardEnv + "=" + treeMark, "GOMAXPROCS=1"})
	if err != nil {
		return nil, fmt.Errorf("start guard for agent %s: %w", c.Path, err)
	}
	control := g.control // watch may close it at any time
	go g.watch(status)

	s := spec{path: c.Path, dir: c.Dir, cgroup: string(g.cgroup), argv: c.Argv, grace: int64(g.grace), keep: c.KeepDescendants, terminal: c.Terminal}
	s.env = setEnv(setEnv(c.Env, TreeEnv, treeMark), OwnerEnv, self.String())
	if err := g.handOver(ctx, control, &s); err != nil {
		_ = g.Close()
		<-g.gone
		return nil, fmt.Errorf("start agent %s: %w", c.Path, err)
	}
	return g, nil
}

// launch starts the guard process with the agent's files and two new pipes, and
// returns the harness's end of the status pipe.
func (g *Guard) launch(c Config, env []string) (status *os.File, err error) {
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			_ = f.Close()
		}
	}()
	files := []*os.File{c.Stdin, c.Stdout, c.Stderr}
	for i, f := range files {
		if f != nil {
			continue
		}
		if files[i], err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
			return nil, err
		}
		opened = append(opened, files[i])
	}
	controlR, controlW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	opened = append(opened, controlR)
	statusR, statusW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, controlW.Close())
	}
	opened = append(opened, statusW)
	path, err := executable()
	if err == nil {
		// The second argument only tells a reader of ps what is guarded.
		g.process, err = os.StartProcess(path, []string{argv0, filepath.Base(c.Path)}, &os.ProcAttr{
			Dir:   "/",
			Env:   env,
			Files: append(files, controlR, statusW),
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	}
	if err != nil {
		return nil, errors.Join(err, controlW.Close(), statusR.Close())
	}
	g.control = controlW
	return statusR, nil
}

// handOver sends the spec and waits for the guard's word on it, or for ctx.
func (g *Guard) handOver(ctx context.Context, control *os.File, s *spec) error {
	stop := context.AfterFunc(ctx, func() { _ = control.SetWriteDeadline(time.Unix(1, 0)) })
	err := writeFrame(control, frameSpec, s.encode())
	if !stop() {
		return context.Cause(ctx)
	}
	if errors.Is(err, unix.EPIPE) || errors.Is(err, os.ErrClosed) {
		err = nil // the guard is gone; watch says why
	}
	if err != nil {
		return err
	}
	select {
	case err := <-g.started:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watch reads what the guard reports until its end, reaps it, and ends the tree
// itself when the guard could not. It owns status, exit and err.
func (g *Guard) watch(status *os.File) {
	defer close(g.gone)
	complete := g.readStatus(status)
	_ = status.Close()
	_, _ = g.process.Wait()
	g.closeControl()
	if !complete {
		g.err = ErrLost
		if err := endTree(g.tree, g.grace); err != nil {
			g.err = errors.Join(ErrLost, err)
		}
		g.cgroup.end()
	}
	g.start(errors.New("the guard process ended before it could start the agent"))
	select {
	case <-g.exited:
	default:
		g.exit = Exit{Code: -1}
		close(g.exited)
	}
}

// start reports the result of the start; only the first report counts.
func (g *Guard) start(err error) {
	select {
	case g.started <- err:
	default:
	}
}

// readStatus reports whether the guard said that nothing is left.
func (g *Guard) readStatus(status *os.File) (complete bool) {
	for {
		f, err := readFrame(status)
		if err != nil {
			return false
		}
		switch f.kind {
		case frameStarted:
			g.pid = int(f.number(0))
			g.start(nil)
		case frameFailed:
			g.start(startError(syscall.Errno(f.number(0)))) // an errno, sent by our own guard
		case frameExited:
			g.exit = exitOf(syscall.WaitStatus(f.number(0)), time.Duration(f.number(1))) // a wait status, sent by our own guard
			close(g.exited)
		case frameGone:
			if left := f.number(0); left > 0 {
				g.err = fmt.Errorf("%d left of the agent's process tree: %w", left, ErrLeft)
			}
			return true
		}
	}
}

func startError(errno syscall.Errno) error {
	switch errno {
	case syscall.E2BIG:
		return fmt.Errorf("%w: shorten the arguments or send the long one by stdin", errno)
	case syscall.ENOENT:
		return fmt.Errorf("%w: the program, the interpreter it names or the folder is gone", errno)
	default:
		return errno
	}
}

func exitOf(status syscall.WaitStatus, age time.Duration) Exit {
	e := Exit{Code: status.ExitStatus(), Duration: age}
	if status.Signaled() {
		e.Code = -1
		if e.Signal = unix.SignalName(status.Signal()); e.Signal == "" {
			e.Signal = fmt.Sprintf("SIG%d", int(status.Signal()))
		}
	}
	return e
}

// PID is the agent's process id.
func (g *Guard) PID() int { return g.pid }

// GuardPID is the process id of the guard itself.
func (g *Guard) GuardPID() int { return g.process.Pid }

// Exited is closed when the agent has ended; its descendants may not have.
func (g *Guard) Exited() <-chan struct{} { return g.exited }

// Gone is closed when no descendant is left and the guard has been reaped.
func (g *Guard) Gone() <-chan struct{} { return g.gone }

// Status is how the agent ended. It waits for Exited.
func (g *Guard) Status() Exit {
	<-g.exited
	return g.exit
}

// Err waits for Gone and says what went wrong: nil, ErrLost or ErrLeft.
func (g *Guard) Err() error {
	<-g.gone
	return g.err
}

// Signal asks the guard to signal the agent alone. It does not wait for the
// effect. Once the agent has ended it returns os.ErrProcessDone.
func (g *Guard) Signal(sig syscall.Signal) error {
	select {
	case <-g.exited:
		return os.ErrProcessDone
	default:
		return g.say(frameSignal, numbers(int64(sig)))
	}
}

// SignalTree asks the guard to signal the agent and every descendant.
func (g *Guard) SignalTree(sig syscall.Signal) error {
	return g.say(frameSignalTree, numbers(int64(sig)))
}

// End asks the guard to end the tree: TERM, KILL after grace, until none is
// left. It does not wait; Gone tells. A second call can only make it sooner.
func (g *Guard) End(grace time.Duration) error {
	_ = g.process.Signal(unix.SIGCONT) // in case something stopped the guard
	return g.say(frameEnd, numbers(int64(max(grace, 0))))
}

// Close closes the control pipe, upon which the guard ends the tree with
// Config.Grace. It does not wait; Gone tells. It may be called many times.
func (g *Guard) Close() error {
	g.closeControl()
	_ = g.process.Signal(unix.SIGCONT)
	return nil
}

func (g *Guard) say(kind byte, body []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.control == nil {
		return os.ErrProcessDone
	}
	err := writeFrame(g.control, kind, body)
	if errors.Is(err, unix.EPIPE) {
		return os.ErrProcessDone
	}
	return err
}

func (g *Guard) closeControl() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.control != nil {
		_ = g.control.Close()
		g.control = nil
	}
}

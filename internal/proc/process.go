package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/terret-dev/terret/internal/guard"
)

// Defaults of a Spec.
const (
	defaultStopGrace = 2 * time.Second
	defaultKillGrace = 5 * time.Second
)

// settle is how long Stop and Kill wait for the kernel to carry out a KILL.
const settle = 10 * time.Second

// Exit is how an agent ended.
type Exit = guard.Exit

// Process is a running agent, or one that has ended.
type Process struct {
	guard     *guard.Guard
	name      string
	stopGrace time.Duration
	killGrace time.Duration

	stdin  *os.File
	stdout *pipeReader
	stderr *pipeReader
	tail   *tail

	stopOnce sync.Once
	done     chan struct{} // closed by finish
}

// PID is the agent's process id.
func (p *Process) PID() int { return p.guard.PID() }

// Memory is the memory that the agent itself uses, in bytes, or zero if unknown.
func (p *Process) Memory() int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID()))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// Stdin is the agent's standard input. Closing it twice is not an error.
func (p *Process) Stdin() io.WriteCloser { return stdin{p.stdin} }

// Stdout is the agent's standard output: the pipe itself, nothing in between.
// See the package comment for its end and its release.
func (p *Process) Stdout() io.ReadCloser { return p.stdout }

// StderrTail is the end of what the agent wrote to its standard error: at most
// 64 KB, each line cut at 500 bytes, an unfinished line included. It is complete
// once Done is closed.
func (p *Process) StderrTail() string { return p.tail.String() }

// Done is closed when the agent has ended and, unless its Spec has
// KeepDescendants, when no descendant of it is left.
func (p *Process) Done() <-chan struct{} { return p.done }

// result is how the agent ended. The error is not about the agent's exit code: it is
// guard.ErrLost or guard.ErrLeft, wrapped.
func (p *Process) result() (Exit, error) {
	exit := p.guard.Status()
	select {
	case <-p.guard.Gone():
		if err := p.guard.Err(); err != nil {
			return exit, fmt.Errorf("agent %s (pid %d): %w", p.name, p.PID(), err)
		}
	default: // descendants were kept
	}
	return exit, nil
}

// signal sends a signal to the agent alone, not to its descendants. It does not
// wait for the effect. Once the agent has ended it returns os.ErrProcessDone.
func (p *Process) signal(sig os.Signal) error {
	s, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("signal agent %s: %v is not a signal of this system", p.name, sig)
	}
	if err := p.guard.Signal(s); err != nil {
		return fmt.Errorf("signal agent %s (pid %d) with %v: %w", p.name, p.PID(), sig, err)
	}
	return nil
}

// Interrupt sends SIGINT to the agent alone: most agents stop the turn and live on.
func (p *Process) Interrupt() error { return p.signal(syscall.SIGINT) }

// Stop ends the agent politely and its tree certainly: it closes stdin, waits
// for Spec.StopGrace, sends TERM to the tree, waits for as long again, sends
// KILL to the tree, and waits. It returns early when the tree is gone.
//
// The end of ctx does not abandon the tree: it shortens the ladder to KILL.
// Stop may be called many times, at the same time too, and after the end; all
// calls return the same. An error means that something may be left.
func (p *Process) Stop(ctx context.Context) (Exit, error) {
	p.stopOnce.Do(func() { go p.climb() })
	select {
	case <-p.guard.Gone():
		return p.ended()
	case <-ctx.Done():
	}
	_ = p.guard.End(0)
	return p.settled()
}

// climb is the ladder of Stop. It ends with the tree.
func (p *Process) climb() {
	_ = p.stdin.Close()
	timer := time.NewTimer(p.stopGrace)
	defer timer.Stop()
	select {
	case <-p.guard.Exited():
	case <-timer.C:
	}
	_ = p.guard.End(p.stopGrace)
}

// Kill sends TERM to the tree, KILL after at most Spec.KillGrace, and waits. It
// may be called like Stop, and during Stop.
func (p *Process) Kill() (Exit, error) {
	_ = p.guard.End(p.killGrace)
	timer := time.NewTimer(p.killGrace)
	defer timer.Stop()
	select {
	case <-p.guard.Gone():
		return p.ended()
	case <-timer.C:
		return p.settled()
	}
}

// ended waits for the end of stderr as well, and returns the result.
func (p *Process) ended() (Exit, error) {
	<-p.done
	return p.result()
}

// settled waits for a tree that KILL has been sent to.
func (p *Process) settled() (Exit, error) {
	timer := time.NewTimer(settle)
	defer timer.Stop()
	select {
	case <-p.guard.Gone():
		return p.ended()
	case <-timer.C:
		return Exit{Code: -1}, fmt.Errorf("agent %s (pid %d): some of its processes are still there %v after KILL; look for them in state D", p.name, p.PID(), settle)
	}
}

// finish waits for the end and releases what the Process holds. collected is
// closed when stderr has been read to its end.
func (p *Process) finish(keep bool, collected <-chan struct{}) {
	over := p.guard.Gone()
	if keep {
		over = p.guard.Exited()
	}
	<-over
	_ = p.stdin.Close()
	p.stdout.release()
	p.stderr.release()
	<-collected
	close(p.done)
}

// stdin is a pipe whose second Close is not an error.
type stdin struct{ *os.File }

func (s stdin) Close() error {
	if err := s.File.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

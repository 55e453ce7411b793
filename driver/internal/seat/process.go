package seat

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/redact"
)

var (
	// ErrClosed is the error of an agent that was closed.
	ErrClosed = terret.Errorf(terret.CodeSessionClosed, "the agent is closed")
	// ErrEnded is why the life of a process is over.
	ErrEnded = errors.New("the agent's process has ended")
	// ErrWithdrawn is why a request of the agent needs no decision any more.
	ErrWithdrawn = errors.New("the agent no longer waits for an answer")
)

// Spec is how a program is started.
type Spec struct {
	Argv  []string
	Dir   string
	Env   []string
	Owner string // see proc.Spec
	Log   *slog.Logger
}

// Process is a program that was started. The driver reads its output and writes its
// input; see the package comment for how it ends.
type Process struct {
	*proc.Process
	Argv   []string // without secrets
	Redact *redact.Redactor
	Log    *slog.Logger
	// Life ends when End is called. Work is what goes on beside the reader; it must end
	// with Life, or with the process.
	Life context.Context
	Work sync.WaitGroup

	began  time.Time
	stderr *stderr
	end    context.CancelCauseFunc
	once   sync.Once // of End
	told   chan struct{}
}

// Start starts the program. The context bounds the start only. Lines of its standard
// error are kept until StderrTo.
func (p Program) Start(ctx context.Context, s Spec) (*Process, error) {
	out := &Process{Redact: redact.New(redact.FromEnv(s.Env)), Log: s.Log, began: time.Now(), told: make(chan struct{})}
	out.Argv = out.Redact.Args(s.Argv)
	out.stderr = &stderr{own: s.Log, redact: out.Redact}
	var err error
	out.Process, err = proc.Start(ctx, proc.Spec{Argv: s.Argv, Dir: s.Dir, Env: s.Env, Owner: s.Owner, OnStderr: out.stderr.line})
	if err != nil {
		return nil, p.startError(err, s.Argv[0])
	}
	out.Life, out.end = context.WithCancelCause(context.Background())
	return out, nil
}

// startError says why the program was not started, and what to do.
func (p Program) startError(err error, program string) error {
	if !errors.Is(err, exec.ErrNotFound) {
		return terret.Errorf(terret.CodeStartupRefused, "%w", err)
	}
	install := "install it"
	if p.Install != "" {
		install = "run `" + p.Install + "`"
	}
	return terret.Errorf(terret.CodeAgentNotFound, "%s is not installed: %s was not found; %s, or set agents.%s.path", p.Title, program, install, p.Name)
}

// StderrTo names the host of the session, which gets the lines of the standard error. It
// is called once.
func (p *Process) StderrTo(host terret.Host) { p.stderr.to(host) }

// Alive reports whether the process runs.
func (p *Process) Alive() bool {
	select {
	case <-p.Done():
		return false
	default:
		return true
	}
}

// Leave ends the process politely and its tree certainly. See proc.Process.Stop.
func (p *Process) Leave(ctx context.Context) error {
	_, err := p.Stop(ctx)
	return err
}

// Force ends the process at once. See proc.Process.Kill.
func (p *Process) Force() error {
	_, err := p.Kill()
	return err
}

// End ends the process if it runs, waits for its Work, and calls last, which tells what
// the process leaves behind. Whoever reads the process calls it. Further calls only wait.
func (p *Process) End(last func()) {
	p.once.Do(func() {
		defer close(p.told)
		p.end(ErrEnded)
		if err := p.Leave(context.Background()); err != nil { // it may live on with its output closed
			p.Log.Error("could not end the agent's processes", "error", err)
		}
		p.Work.Wait()
		last()
	})
}

// Told is closed when the process is gone and all is told.
func (p *Process) Told() <-chan struct{} { return p.told }

// Discard ends a process that nobody reads.
func (p *Process) Discard(ctx context.Context) {
	_ = p.Leave(ctx)
	p.End(func() {})
	_ = p.Stdout().Close()
}

// Spawned tells that the process was started.
func (p *Process) Spawned() terret.Event {
	return terret.Event{Data: terret.ProcessSpawn{Argv: p.Argv, PID: p.PID()}}
}

// Exited tells how the process ended, and unless that was wanted that it ends the agent.
// It waits for the end.
func (p *Process) Exited(wanted bool) []terret.Event {
	exit, _ := p.Stop(context.Background())
	gone := terret.ProcessExit{DurationMS: time.Since(p.began).Milliseconds(), Signal: terret.NullString(exit.Signal)}
	if exit.Signal == "" {
		gone.Code = &exit.Code
	}
	events := []terret.Event{{Data: gone}}
	if !wanted {
		events = append(events, terret.Event{Data: terret.SessionEnd{Reason: "agent_exit", NativeReason: exit.String()}})
	}
	return events
}

// lastWords is how many lines of its standard error a failed process is remembered by.
const lastWords = 10

// ExitError says that the process ended when it should not have, and what to do. It
// waits for the end.
func (p *Process) ExitError(what, next string) *terret.Error {
	exit, _ := p.Stop(context.Background())
	out := &terret.Error{Code: terret.CodeProcessFailed, Retryable: true, Signal: exit.Signal, Message: what + " (" + exit.String() + ")"}
	if exit.Signal == "" {
		out.ExitCode = &exit.Code
	}
	for line := range strings.Lines(p.Redact.String(p.StderrTail())) {
		if line = strings.TrimSpace(line); line != "" {
			out.Stderr = append(out.Stderr, line)
		}
	}
	if n := len(out.Stderr); n > 0 {
		out.Stderr = out.Stderr[max(0, n-lastWords):]
		out.Message += ": " + out.Stderr[len(out.Stderr)-1]
	}
	out.Message += "; " + next
	return out
}

// NeverReady says why a process ended before it was ready, and ends it if it lives on
// with its output closed. The context is that of the start.
func (p *Process) NeverReady(ctx context.Context, what, next string) error {
	_ = p.Leave(ctx)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	why := p.ExitError(what, next)
	why.Retryable = false
	return why
}

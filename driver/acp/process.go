package acp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/complaint"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/redact"
	"github.com/terret-dev/terret/internal/rpc"
)

// process is a running agent, with one session.
type process struct {
	id     string // unique, for the keys of its requests
	proc   *proc.Process
	conn   *rpc.Conn
	argv   []string // redacted
	began  time.Time
	about  about
	launch launch
	redact *redact.Redactor
	log    *slog.Logger
	title  string

	gone  chan struct{} // closed when the process has ended, and exit is set
	exit  proc.Exit
	ended chan struct{} // closed when its end was told
}

var errClosed = terret.Errorf(terret.CodeSessionClosed, "the agent is closed")

// spawn starts a process and connects to it. Requests, notifications and lines that
// are neither go to the agent.
func (a *agent) spawn(ctx context.Context, l launch) (*process, error) {
	if err := a.checkTrust(); err != nil {
		return nil, err
	}
	p := &process{
		id: terret.NewID(terret.PrefixControl), began: time.Now(), launch: l, redact: redact.New(redact.FromEnv(a.env)),
		log: a.req.Log, title: a.d.p.title(), gone: make(chan struct{}), ended: make(chan struct{}),
	}
	argv := slices.Clone(a.d.p.Argv)
	if flag := a.d.p.quirks.dirs; flag != "" {
		for _, dir := range l.dirs {
			argv = append(argv, flag, dir)
		}
	}
	p.argv = p.redact.Args(argv)
	stderr := complaint.New(p.log, p.redact)
	stderr.To(a.req.Host)
	var err error
	p.proc, err = proc.Start(ctx, proc.Spec{
		Argv: argv, Dir: a.req.Session.Cwd, Env: a.env, Owner: a.req.Owner,
		OnStderr: stderr.Line,
	})
	if err != nil {
		return nil, startError(err, a.d.p)
	}
	p.conn = rpc.New(rpc.Join(p.proc.Stdout(), p.proc.Stdin()), rpc.Options{
		Request:      func(ctx context.Context, m rpc.Message) (any, error) { return a.answer(ctx, p, m) },
		Notification: func(_ context.Context, m rpc.Message) error { return a.hear(m) },
		Stray:        func(line []byte, why error) { a.stray(line, why) },
		Cancel:       methodWithdraw,
	})
	a.work.Go(p.wait)
	return p, nil
}

// wait waits for the end of the process, and of its tree.
func (p *process) wait() {
	defer close(p.gone)
	if err := p.conn.Wait(); err != nil && !errors.Is(err, rpc.ErrClosed) {
		p.log.Debug("the connection to the agent ended", "error", err)
	}
	exit, err := p.proc.Stop(context.Background()) // it may live on with its output closed
	if err != nil {
		p.log.Error("the agent's processes", "error", err)
	}
	p.exit = exit
}

// greet introduces us.
func (p *process) greet(ctx context.Context) error {
	err := p.call(ctx, methodInitialize, object{
		"protocolVersion": protocolVersion, "clientInfo": object{"name": "terret", "title": "Terret", "version": "1"},
		// It works on the same disk as we do, so it needs neither from us.
		"clientCapabilities": object{
			"fs": object{"readTextFile": false, "writeTextFile": false}, "terminal": false, "elicitation": object{"form": object{}},
		},
	}, &p.about)
	if err == nil && p.about.ProtocolVersion != protocolVersion {
		return terret.Errorf(terret.CodeStartupRefused, "%s speaks version %d of ACP; Terret speaks version %d", p.title, p.about.ProtocolVersion, protocolVersion)
	}
	return err
}

// call calls a method while no turn runs. If the process ends, the error says how.
func (p *process) call(ctx context.Context, method string, params, result any) error {
	err := p.conn.Call(ctx, method, params, result)
	if errors.Is(err, rpc.ErrClosed) {
		<-p.gone
		why := p.exitError("did not start", "run `"+strings.Join(p.argv, " ")+"` in the folder to see what it lacks")
		why.Retryable = false
		return &why
	}
	return err
}

// stop ends the process politely, and waits until nothing of it is left.
func (p *process) stop(ctx context.Context) error {
	_, err := p.proc.Stop(ctx)
	_ = p.conn.Close()
	<-p.gone
	return err
}

// kill ends the process by force.
func (p *process) kill() error {
	_, err := p.proc.Kill()
	_ = p.conn.Close()
	<-p.gone
	return err
}

// dead reports whether the program has ended, though what it has started may live on
// for a moment.
func (p *process) dead() bool {
	own, err := os.FindProcess(p.proc.PID())
	return err == nil && errors.Is(own.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// lastWords is how many lines of its standard error a process that failed is
// remembered by.
const lastWords = 10

// exitError says that the process ended when it should not have, and what to do. The
// process must be gone.
func (p *process) exitError(what, next string) terret.Error {
	out := terret.Error{Code: terret.CodeProcessFailed, Retryable: true, Signal: p.exit.Signal, Message: p.title + " " + what + " (" + p.exit.String() + ")"}
	if p.exit.Signal == "" {
		out.ExitCode = &p.exit.Code
	}
	for line := range strings.Lines(p.redact.String(p.proc.StderrTail())) {
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

// startError says why a program was not started.
func startError(err error, p Profile) error {
	if errors.Is(err, exec.ErrNotFound) {
		return terret.Errorf(terret.CodeAgentNotFound, "%s was not found%s: %w", p.Argv[0], installHint(p), err)
	}
	return terret.Errorf(terret.CodeProcessFailed, "%s did not start: %w", p.title(), err)
}

func installHint(p Profile) string {
	if p.Install == "" {
		return ""
	}
	return "; install " + p.title() + " with `" + p.Install + "`"
}

// exitEvent is how the process ended.
func (p *process) exitEvent() terret.ProcessExit {
	out := terret.ProcessExit{DurationMS: time.Since(p.began).Milliseconds()}
	if p.exit.Signal != "" {
		out.Signal = terret.NullString(p.exit.Signal)
	} else {
		out.Code = &p.exit.Code
	}
	return out
}

// notify tells the agent something, and does not wait for long.
func (p *process) notify(method string, params any) error {
	ctx, cancel := context.WithTimeout(context.Background(), notifyPatience)
	defer cancel()
	return p.conn.Notify(ctx, method, params)
}

// notifyPatience is how long an agent may take to read a line.
const notifyPatience = 5 * time.Second

// ignores reports whether what has that name tells nothing of interest.
func (q quirks) ignores(name string) bool {
	return slices.ContainsFunc(q.ignore, func(i string) bool {
		prefix, is := strings.CutSuffix(i, "*")
		return i == name || is && strings.HasPrefix(name, prefix)
	})
}

// startFailed is why a process did not get as far as a session.
func (a *agent) startFailed(p *process, err error) error {
	if cause := context.Cause(a.life); cause != nil {
		return errClosed
	}
	if refused, ok := errors.AsType[*rpc.Error](err); ok {
		return terret.Errorf(terret.CodeStartupRefused, "%s refused to start: %s", p.title, p.redact.String(refusalText(refused)))
	}
	if known, ok := errors.AsType[*terret.Error](err); ok {
		return known
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return terret.Errorf(terret.CodeMalformedOutput, "%s does not answer as ACP requires: %w", p.title, err)
	}
	return err
}

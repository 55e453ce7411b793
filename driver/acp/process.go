package acp

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/rpc"
)

// process is a running agent, with one session.
type process struct {
	*seat.Process        // its Work is the reader
	id            string // unique, for the keys of its requests
	conn          *rpc.Conn
	about         about
	launch        launch
	title         string
}

// spawn starts a process and connects to it. Requests, notifications and lines that
// are neither go to the agent.
func (a *agent) spawn(ctx context.Context, l launch) (*process, error) {
	if err := a.checkTrust(); err != nil {
		return nil, err
	}
	argv := slices.Clone(a.d.p.Argv)
	if flag := a.d.p.quirks.dirs; flag != "" {
		for _, dir := range l.dirs {
			argv = append(argv, flag, dir)
		}
	}
	started, err := a.d.program().Start(ctx, seat.Spec{Argv: argv, Dir: a.Req.Session.Cwd, Env: a.env, Owner: a.Req.Owner, Log: a.Req.Log})
	if err != nil {
		return nil, err
	}
	p := &process{Process: started, id: terret.NewID(terret.PrefixControl), launch: l, title: a.d.p.title()}
	p.StderrTo(a.Req.Host)
	p.connect(rpc.Options{
		Request:      func(ctx context.Context, m rpc.Message) (any, error) { return a.answer(ctx, p, m) },
		Notification: func(_ context.Context, m rpc.Message) error { return a.hear(m) },
		Stray:        func(line []byte, why error) { a.stray(line, why) },
		Cancel:       methodWithdraw,
	})
	return p, nil
}

// connect begins to listen to the process, which ends when its output does.
func (p *process) connect(o rpc.Options) {
	p.conn = rpc.New(rpc.Join(p.Stdout(), p.Stdin()), o)
	p.Work.Go(func() {
		if err := p.conn.Wait(); err != nil && !errors.Is(err, rpc.ErrClosed) {
			p.Log.Debug("the connection to the agent ended", "error", err)
		}
		_ = p.Leave(context.Background()) // End says what goes wrong
	})
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
		why := p.ExitError(p.title+" did not start", "run `"+strings.Join(p.Argv, " ")+"` in the folder to see what it lacks")
		why.Retryable = false
		return why
	}
	return err
}

// dead reports whether the program has ended, though what it has started may live on
// for a moment.
func (p *process) dead() bool {
	own, err := os.FindProcess(p.PID())
	return err == nil && errors.Is(own.Signal(syscall.Signal(0)), os.ErrProcessDone)
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
	if a.Closed() {
		return seat.ErrClosed
	}
	if refused, ok := errors.AsType[*rpc.Error](err); ok {
		return terret.Errorf(terret.CodeStartupRefused, "%s refused to start: %s", p.title, p.Redact.String(refusalText(refused)))
	}
	if known, ok := errors.AsType[*terret.Error](err); ok {
		return known
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return terret.Errorf(terret.CodeMalformedOutput, "%s does not answer as ACP requires: %w", p.title, err)
	}
	return err
}

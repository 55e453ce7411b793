package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/rpc"
)

const (
	startPatience = 10 * time.Second
	hookPatience  = 30 * time.Second
	toolPatience  = 10 * time.Minute
	stopGrace     = 2 * time.Second

	maxLine  = 4 << 20 // bytes
	maxStray = 100     // lines that are not messages, in a plugin's life
	maxNews  = 10_000  // notifications, in a plugin's life
	maxTold  = 2000    // bytes of what a plugin says about itself
)

// Options say how plugins are run.
type Options struct {
	Dir     string   // the session's folder, in which they start
	Session string   // its id
	Environ []string // what they may see
	Owner   string   // marks their processes
	Log     *slog.Logger
	// Wrap, if set, turns the arguments of a program into those that run it in a sandbox.
	Wrap func(argv []string) ([]string, error)
}

// Plugins are those of one session. They are safe for concurrent use.
type Plugins struct {
	o        Options
	watching sync.WaitGroup

	mu     sync.Mutex
	closed bool
	calls  int
	all    []*running
}

// running is one plugin. It is guarded by the mutex of Plugins, but for what never changes.
type running struct {
	Found
	conn    *rpc.Conn // nil while it does not run
	process *proc.Process
	known   bool  // it has said what it offers
	offer   offer // of its last life
	problem string
	news    map[string]func(string) // who wants the progress of a call, by its id
}

// hasHook reports whether a plugin is asked at a hook. One that never said which hooks it
// has may be a guard.
func (r *running) hasHook(hook string) bool {
	if !r.known {
		return hook == PreTool
	}
	return slices.Contains(r.offer.Hooks, hook)
}

// New makes plugins of programs. Of two with the same name the last one counts. Nothing
// is started before Refresh.
func New(found []Found, o Options) *Plugins {
	p := &Plugins{o: o}
	for _, f := range found {
		p.all = slices.DeleteFunc(p.all, func(r *running) bool { return r.Name == f.Name })
		p.all = append(p.all, &running{Found: f, news: map[string]func(string){}})
	}
	return p
}

// Refresh starts the plugins that do not run, all at once, and waits for them. It returns
// what there is to say about those that do not work.
func (p *Plugins) Refresh(ctx context.Context) (problems []string) {
	var group sync.WaitGroup
	for _, r := range p.all {
		group.Go(func() { p.start(ctx, r) })
	}
	group.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.all {
		if r.conn == nil && r.problem != "" {
			problem := fmt.Sprintf("the plugin %s does not work: %s", r.Name, r.problem)
			if !r.known {
				problem += "; it may be there to forbid tools, so none are used until it works or is removed"
			}
			problems = append(problems, problem)
		}
	}
	return problems
}

// start starts a plugin and asks what it offers.
func (p *Plugins) start(ctx context.Context, r *running) {
	p.mu.Lock()
	runs := r.conn != nil || p.closed
	p.mu.Unlock()
	if runs {
		return
	}
	ctx, cancelWait := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("it did not answer %s within %s", initialize, startPatience))
	defer cancelWait()
	conn, process, err := p.launch(ctx, r)
	var o offer
	if err == nil {
		err = conn.Call(ctx, initialize, greeting{Version, p.o.Dir, p.o.Session}, &o)
		switch {
		case err == nil:
			err = o.check()
		case errors.Is(err, rpc.ErrClosed):
			err = errors.New("it ended before it said what it offers")
		}
		if err != nil {
			err = errors.Join(err, p.end(conn, process))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		r.problem = reason(err, process)
		p.o.Log.Warn("a plugin does not work", "plugin", r.Name, "error", r.problem)
		return
	}
	r.conn, r.process, r.known, r.offer, r.problem = conn, process, true, o, ""
	p.watching.Go(func() { p.watch(r, conn, process) })
}

// launch starts the program. Whoever gets a connection ends it.
func (p *Plugins) launch(ctx context.Context, r *running) (*rpc.Conn, *proc.Process, error) {
	argv := []string{r.Path}
	if p.o.Wrap != nil {
		var err error
		if argv, err = p.o.Wrap(argv); err != nil {
			return nil, nil, err
		}
	}
	process, err := proc.Start(ctx, proc.Spec{
		Argv: argv, Dir: p.o.Dir, Env: p.o.Environ, Owner: p.o.Owner,
		OnStderr: func(line string) { p.o.Log.Debug("a plugin says", "plugin", r.Name, "line", line) },
	})
	if err != nil {
		return nil, nil, err
	}
	stray, news := 0, 0
	var conn *rpc.Conn
	ready := make(chan struct{})
	conn = rpc.New(rpc.Join(process.Stdout(), process.Stdin()), rpc.Options{
		Cancel: cancel, MaxLine: maxLine,
		Notification: func(_ context.Context, m rpc.Message) error {
			if news++; news > maxNews {
				return fmt.Errorf("it sent more than %d notifications", maxNews)
			}
			p.hear(r, m)
			return nil
		},
		Stray: func([]byte, error) {
			if stray++; stray == maxStray {
				<-ready
				p.watching.Go(func() { _ = conn.Close() }) // not from here: it waits for us
			}
		},
	})
	close(ready)
	return conn, process, nil
}

// hear passes on what a plugin tells about a call.
func (p *Plugins) hear(r *running, m rpc.Message) {
	var in struct{ Call, Text string }
	if m.Method != progress || m.Decode(&in) != nil {
		return // unknown ones are for later versions
	}
	p.mu.Lock()
	tell := r.news[in.Call]
	p.mu.Unlock()
	if tell != nil {
		tell(brief.Cut(in.Text, maxTold))
	}
}

// watch notes the end of a plugin. It ends with it.
func (p *Plugins) watch(r *running, conn *rpc.Conn, process *proc.Process) {
	why := conn.Wait()
	err := p.end(conn, process)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.conn == conn {
		r.conn, r.process = nil, nil
		r.problem = reason(errors.Join(fmt.Errorf("it ended: %w", why), err), process)
	}
}

// end ends a plugin and all that it started.
func (p *Plugins) end(conn *rpc.Conn, process *proc.Process) error {
	_, err := process.Kill()
	_ = conn.Close() // the process is gone
	return err
}

// reason says why a plugin does not work, in its own words if there are any.
func reason(err error, process *proc.Process) string {
	text := err.Error()
	if process != nil && process.StderrTail() != "" {
		text += ": " + process.StderrTail()
	}
	return brief.Cut(text, maxTold)
}

// Close ends all plugins, and waits until their processes are gone.
func (p *Plugins) Close() error {
	p.mu.Lock()
	p.closed = true
	var ended []*running
	for _, r := range p.all {
		if r.conn != nil {
			ended = append(ended, &running{conn: r.conn, process: r.process})
			r.conn, r.problem = nil, "it was closed"
		}
	}
	p.mu.Unlock()
	errs := make([]error, len(ended))
	var group sync.WaitGroup
	for i, r := range ended {
		group.Go(func() {
			ctx, done := context.WithTimeout(context.Background(), stopGrace)
			defer done()
			_, errs[i] = r.process.Stop(ctx)
			_ = r.conn.Close() // the process is gone
		})
	}
	group.Wait()
	p.watching.Wait()
	return errors.Join(errs...)
}

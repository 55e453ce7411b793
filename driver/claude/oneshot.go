package claude

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/ndjson"
	"github.com/terret-dev/terret/internal/redact"
)

// argLimit is the longest prompt that is passed as an argument. The system allows 128
// KB for one.
const argLimit = 64 << 10

// oneShot is Claude Code with a process for each turn, which accepts only a prompt.
// What it would have to ask about is denied.
type oneShot struct {
	d      *Driver
	req    terret.OpenRequest
	env    []string // of its processes
	redact *redact.Redactor
	work   sync.WaitGroup

	mu     sync.Mutex
	native string
	model  string
	mode   string
	p      *seat.Process // the turn's
	told   *seat.Process // the one that was told to stop
	idle   chan struct{} // closed when the process of the last turn is gone
	closed bool
}

var (
	_ terret.Agent       = (*oneShot)(nil)
	_ terret.Killer      = (*oneShot)(nil)
	_ terret.ModelSetter = (*oneShot)(nil)
	_ terret.ModeSetter  = (*oneShot)(nil)
)

func newOneShot(d *Driver, r terret.OpenRequest) *oneShot {
	idle := make(chan struct{})
	close(idle)
	env := d.sessionEnv(r)
	return &oneShot{
		d: d, req: r, env: env, redact: redact.New(redact.FromEnv(env)), idle: idle,
		native: string(r.Session.NativeID), model: r.Session.Model, mode: r.Session.PermissionMode,
	}
}

// shot is one process and its prompt.
type shot struct {
	l        launch
	prompt   terret.Prompt
	settings terret.Settings
	files    []string // to remove after it
}

// Prompt implements terret.Agent. It waits for the process of the last turn.
func (a *oneShot) Prompt(ctx context.Context, _ string, prompt terret.Prompt, in terret.Settings) error {
	if err := checkSettings(in, a.req.Session); err != nil {
		return err
	}
	a.mu.Lock()
	idle := a.idle
	a.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	a.mu.Lock()
	current, closed := a.native, a.closed
	if !closed {
		a.work.Add(1) // Close waits for what is started here
	}
	a.mu.Unlock()
	if closed {
		return seat.ErrClosed
	}
	defer a.work.Done()
	n, err := nativeOf(current)
	if err != nil {
		return err
	}
	s := &shot{l: a.d.launchOf(a.req, a.env, in), prompt: prompt, settings: in}
	args, o := n.args()
	p, err := a.start(ctx, s, args, o.source)
	if err != nil {
		return err
	}
	done := make(chan struct{})
	a.mu.Lock()
	a.idle = done
	a.mu.Unlock()
	a.work.Go(func() {
		defer close(done)
		a.run(s, p, n, o)
	})
	return nil
}

// start starts the process of a turn and gives it the prompt.
func (a *oneShot) start(ctx context.Context, s *shot, session []string, source string) (p *seat.Process, err error) {
	defer func() {
		if err != nil {
			s.cleanUp()
		}
	}()
	argv, input, err := a.argv(s, session, source)
	if err != nil {
		return nil, err
	}
	p, err = a.d.program().Start(ctx, seat.Spec{Argv: argv, Dir: s.l.dir, Env: s.l.env, Owner: a.req.Owner, Log: a.req.Log})
	if err != nil {
		return nil, err
	}
	p.StderrTo(a.req.Host)
	a.mu.Lock()
	a.p = p
	closed := a.closed
	a.mu.Unlock()
	if closed {
		err = seat.ErrClosed
	} else {
		err = a.req.Host.Emit(ctx, append([]terret.Event{p.Spawned()}, droppedSettings(s.l)...), nil)
	}
	if err != nil {
		_ = p.Force()
		p.Discard(ctx)
		return nil, err
	}
	p.Work.Go(func() { // it reads when it likes
		_, _ = p.Stdin().Write(input)
		_ = p.Stdin().Close()
	})
	return p, nil
}

// argv is the command line of a turn, and the process's input.
func (a *oneShot) argv(s *shot, session []string, source string) (argv []string, input []byte, err error) {
	a.mu.Lock()
	model, mode := cmp.Or(s.settings.Model, a.model), cmp.Or(s.settings.PermissionMode, a.mode)
	a.mu.Unlock()
	argv = []string{a.d.cfg.Path, "-p", "--output-format", "stream-json", "--verbose"}
	if !s.settings.WholeMessages {
		argv = append(argv, "--include-partial-messages")
	}
	argv = append(argv, s.l.args...)
	argv = append(argv, session...)
	argv = append(argv, modelArgs(model, mode, budget(a.req, source))...)
	if s.l.append != "" {
		name, err := s.file("terret-prompt-*.txt", []byte(s.l.append))
		if err != nil {
			return nil, nil, err
		}
		argv = append(argv, "--append-system-prompt-file="+name)
	}
	if agents := string(s.l.agents); agents != "" {
		if a.redact.String(agents) != agents { // there is no other way to pass them
			return nil, nil, terret.Invalid("agents", "they contain a secret, which others could see in the arguments; leave it out, or do not use one-shot")
		}
		argv = append(argv, "--agents="+agents)
	}
	if servers := mcpConfig(s.l.servers); len(servers) > 0 {
		name, err := s.file("terret-mcp-*.json", seat.Encode(map[string]any{"mcpServers": servers}))
		if err != nil {
			return nil, nil, err
		}
		argv = append(argv, "--mcp-config="+name)
	}
	text := terret.TextOf(s.prompt.Blocks)
	for _, b := range s.prompt.Blocks {
		if b.Type != terret.BlockText {
			argv = append(argv, "--input-format", "stream-json")
			return argv, append(promptLine(lineID(s.prompt.MessageID), s.prompt.Blocks), '\n'), nil
		}
	}
	if len(text) > argLimit || strings.ContainsRune(text, 0) || a.redact.String(text) != text {
		return argv, []byte(text), nil // others can see the arguments
	}
	return append(argv, "--", text), nil, nil
}

// file writes a file that lives as long as the process.
func (s *shot) file(pattern string, content []byte) (string, error) {
	f, err := os.CreateTemp("", pattern) // readable only by us
	if err != nil {
		return "", terret.Errorf(terret.CodeInternal, "cannot write a file for the agent: %w", err)
	}
	s.files = append(s.files, f.Name())
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", terret.Errorf(terret.CodeInternal, "cannot write a file for the agent: %w", err)
	}
	return f.Name(), nil
}

func (s *shot) cleanUp() {
	for _, name := range s.files {
		_ = os.Remove(name)
	}
	s.files = nil
}

// run reads the process of a turn to its end. If the agent has lost the session, it
// starts a new one with the same prompt, once, unless OnStale forbids that.
func (a *oneShot) run(s *shot, p *seat.Process, n native, o options) {
	stale := a.read(s, p, o, o.source != "new" && a.req.Settings.OnStale != terret.OnStaleError)
	if stale == nil {
		return
	}
	args, o := n.anew(stale.Message)
	p, err := a.start(context.Background(), s, args, o.source)
	if err != nil {
		_ = a.req.Host.Emit(context.Background(), []terret.Event{{Data: terret.TurnError{Error: *terret.AsError(err)}}}, nil)
		return
	}
	_ = a.read(s, p, o, false)
}

// read passes on what a process says, and how it ends. If the session is lost and may
// be restarted, it tells only its caller.
func (a *oneShot) read(s *shot, p *seat.Process, o options, again bool) (stale *terret.Error) {
	o.keepRaw, o.read = a.req.Settings.KeepRaw, fileReader(s.l.dir)
	t := newTranslator(o)
	t.prompted("", terret.TextOf(s.prompt.Blocks))
	lines := ndjson.NewReader(p.Stdout(), 0)
	var err error
	for err == nil {
		line, readErr := lines.Next()
		if tooLong, ok := errors.AsType[*ndjson.LineTooLongError](readErr); ok {
			err = a.emit([]terret.Event{{Data: terret.DiagWarning{Text: tooLong.Error()}}})
			continue
		}
		if readErr != nil {
			break
		}
		events, _ := t.translate(line, time.Now())
		if again {
			if stale = lostSession(events); stale != nil {
				break
			}
		}
		err = a.emit(events)
	}
	if err != nil {
		a.req.Log.Warn("stopping the agent", "error", err)
		_ = p.Force()
	}
	_, _ = io.Copy(io.Discard, p.Stdout())
	p.End(func() {
		a.mu.Lock()
		a.p = nil
		told := a.told == p
		a.mu.Unlock()
		var last []terret.Event
		if stale == nil {
			s.cleanUp()
			why := p.ExitError("Claude Code ended without a result", "prompt the session to try again")
			if told { // it may leave without a result then
				why = terret.Errorf(terret.CodeInterrupted, "the turn was interrupted")
			}
			last = t.abandon(*why, time.Now())
		}
		_ = a.emit(append(last, p.Exited(true)...))
	})
	return stale
}

// lostSession is the error of a failed resume.
func lostSession(events []terret.Event) *terret.Error {
	for _, ev := range events {
		if end, ok := ev.Data.(terret.TurnError); ok && end.Error.Code == terret.CodeResumeFailed {
			return &end.Error
		}
	}
	return nil
}

func (a *oneShot) emit(events []terret.Event) error {
	if len(events) == 0 {
		return nil
	}
	a.mu.Lock()
	for _, ev := range events {
		if d, ok := ev.Data.(terret.SessionNativeID); ok {
			a.native = d.New
		}
	}
	a.mu.Unlock()
	return a.req.Host.Emit(context.Background(), events, nil)
}

// Interrupt implements terret.Agent: the process stops the turn and ends.
func (a *oneShot) Interrupt(context.Context, string) error {
	a.mu.Lock()
	p := a.p
	a.told = p
	a.mu.Unlock()
	if p == nil {
		return nil
	}
	if err := p.Interrupt(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return terret.Errorf(terret.CodeProcessFailed, "%w", err)
	}
	return nil
}

// Kill implements terret.Killer.
func (a *oneShot) Kill(context.Context) error {
	return a.shut((*seat.Process).Force)
}

// Close implements terret.Agent.
func (a *oneShot) Close(ctx context.Context) error {
	return a.shut(func(p *seat.Process) error { return p.Leave(ctx) })
}

func (a *oneShot) shut(end func(*seat.Process) error) error {
	a.mu.Lock()
	a.closed = true
	p := a.p
	a.mu.Unlock()
	var err error
	if p != nil {
		err = end(p)
	}
	a.work.Wait()
	return err
}

// Capabilities implements terret.Agent.
func (a *oneShot) Capabilities() terret.Capabilities { return oneShotCapabilities() }

// SetModel implements terret.ModelSetter. It takes effect from the next turn on.
func (a *oneShot) SetModel(_ context.Context, model string) error {
	if err := terret.CheckWord("model", model); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.model = model
	return nil
}

// SetPermissionMode implements terret.ModeSetter. It takes effect from the next turn
// on.
func (a *oneShot) SetPermissionMode(_ context.Context, mode string) error {
	if err := checkMode(mode, a.req.Session); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mode = mode
	return nil
}

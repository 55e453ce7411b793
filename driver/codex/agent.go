package codex

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/proc"
	"github.com/terret-dev/terret/internal/rpc"
)

// agent is Codex at work on a session, in one process for many turns.
type agent struct {
	d   *Driver
	req terret.OpenRequest

	life context.Context // ends when the agent is closed
	end  context.CancelCauseFunc

	// switching is held while a process is started, stopped or set up for a turn.
	switching sync.Mutex

	mu      sync.Mutex
	p       *process
	retired *process
	closed  bool
	native  string          // the thread, see type native
	model   string          // of the session; empty for Codex's own choice
	mode    string          // of the session
	own     string          // model that Codex chose
	turn    terret.Settings // of the last turn
	undone  []string        // threads that going forward leads back to, the last one first
	hooked  bool
	planned bool // the thread may be in plan mode
}

var errClosed = terret.Errorf(terret.CodeSessionClosed, "the agent is closed")

// cursor is what must be known to open the agent again.
type cursor struct {
	Undone []string `json:"undone,omitempty"`
}

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	a := &agent{
		d: d, req: r, native: string(r.Session.NativeID), model: r.Session.Model, mode: r.Session.PermissionMode,
		turn: r.Settings, hooked: hooksWork,
	}
	a.life, a.end = context.WithCancelCause(context.Background())
	var c cursor
	decode(r.Cursor, &c)
	a.undone = c.Undone
	return a
}

// ready returns a process that can take a turn with those settings. a.switching must be
// held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*process, error) {
	a.mu.Lock()
	p, closed, mode := a.p, a.closed, cmp.Or(in.PermissionMode, a.mode)
	a.mu.Unlock()
	l := a.d.launchOf(a.req, mode, in)
	if closed {
		return nil, errClosed
	}
	if err := a.parted(ctx); err != nil {
		return nil, err
	}
	if p != nil && p.launch.serves(l) {
		return p, nil
	}
	if p != nil {
		a.retire(ctx, p)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.life, func() { cancel(errClosed) })()
	p, err := a.d.start(ctx, l, a.req.Owner, a.req.Log)
	if err != nil {
		return nil, err
	}
	return p, a.take(ctx, p)
}

// take makes a process the session's, and loads the thread in it. a.switching must be
// held.
func (a *agent) take(ctx context.Context, p *process) error {
	a.mu.Lock()
	current, model := a.native, a.model
	a.mu.Unlock()
	start, err := p.load(ctx, current, model, a.req.Settings.OnStale)
	if err != nil {
		p.stop(ctx)
		return err
	}
	a.mu.Lock()
	start.mode = cmp.Or(a.mode, noSandbox) // of the session; a turn may have another
	a.planned = a.planned || start.source != "new"
	a.mu.Unlock()
	events := []terret.Event{{Data: terret.ProcessSpawn{Argv: p.argv, PID: p.proc.PID()}}}
	events = append(append(events, start.events(current)...), p.launch.warnings()...)
	a.mu.Lock()
	a.p, a.native, a.own, a.hooked = p, start.thread, start.model, p.hooked
	a.mu.Unlock()
	p.mu.Lock()
	events = append(events, p.early...)
	p.a, p.early = a, nil
	err = p.pass(events)
	p.mu.Unlock()
	p.stderr.To(a.req.Host)
	if err != nil {
		p.stop(ctx)
	}
	return err
}

// retire ends a process that is to be replaced, and waits until that is told.
func (a *agent) retire(ctx context.Context, p *process) {
	a.mu.Lock()
	a.retired = p
	if a.p == p {
		a.p = nil
	}
	a.mu.Unlock()
	p.stop(ctx)
}

// release ends a process after its turn, in a session in which each turn has its own. It
// does not wait.
func (a *agent) release(p *process) {
	a.mu.Lock()
	a.retired = p
	if a.p == p {
		a.p = nil
	}
	a.mu.Unlock()
	p.work.Go(func() { _, _ = p.proc.Stop(context.Background()) })
}

// parted waits until a process that was let go is gone: Codex lets only one have a thread.
func (a *agent) parted(ctx context.Context) error {
	a.mu.Lock()
	p := a.retired
	a.mu.Unlock()
	if p == nil {
		return nil
	}
	select {
	case <-p.told:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ended tells what a process leaves behind.
func (a *agent) ended(p *process, exit proc.Exit) {
	a.mu.Lock()
	quiet := a.retired == p || a.closed
	if a.p == p {
		a.p = nil
	}
	a.mu.Unlock()
	why := exitError(p.redact, p.proc, exit, "Codex ended in the middle of the turn", "prompt the session to go on")
	p.mu.Lock()
	defer p.mu.Unlock()
	events := p.t.abandon(why, time.Now())
	gone := terret.ProcessExit{DurationMS: time.Since(p.began).Milliseconds(), Signal: terret.NullString(exit.Signal)}
	if exit.Signal == "" {
		gone.Code = &exit.Code
	}
	events = append(events, terret.Event{Data: gone})
	if !quiet {
		events = append(events, terret.Event{Data: terret.SessionEnd{Reason: "agent_exit", NativeReason: exit.String()}})
	}
	if err := p.pass(events); err != nil {
		p.log.Warn("the end of the agent could not be logged", "error", err)
	}
}

// Prompt implements terret.Agent.
func (a *agent) Prompt(ctx context.Context, _ string, prompt terret.Prompt, in terret.Settings) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	input, err := inputOf(prompt.Blocks)
	if err != nil {
		return err
	}
	return a.run(ctx, in, func(p *process, params object) error {
		params["input"], params["clientUserMessageId"] = input, prompt.MessageID
		return p.startTurn(ctx, "turn/start", params)
	})
}

// run begins a turn. From here on there is no way forward to what was undone.
func (a *agent) run(ctx context.Context, in terret.Settings, start func(*process, object) error) error {
	a.switching.Lock()
	defer a.switching.Unlock()
	p, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	a.mu.Lock()
	params := a.turnParams(in)
	forget := len(a.undone) > 0
	a.turn, a.undone = in, nil
	a.mu.Unlock()
	if forget {
		if err := a.req.Host.Emit(ctx, nil, encode(cursor{})); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.t.begin(in, time.Now())
	p.t.turn.planning = planning(params)
	p.mu.Unlock()
	if err := start(p, params); err != nil {
		p.mu.Lock()
		p.t.turn = turn{}
		p.mu.Unlock()
		return refusal(err)
	}
	return nil
}

// turnParams are what a turn is told, since Codex keeps what the last one was told. a.mu
// must be held.
func (a *agent) turnParams(in terret.Settings) object {
	model := cmp.Or(in.Model, a.model, a.own)
	params := object{"threadId": a.native, "model": model}
	if len(in.OutputSchema) > 0 {
		params["outputSchema"] = in.OutputSchema
	}
	word := "default"
	if cmp.Or(in.PermissionMode, a.mode) == planMode {
		word, a.planned = planMode, true
	}
	if a.planned {
		settings := object{"model": model}
		if in.Effort != "" {
			settings["reasoning_effort"] = in.Effort
		}
		params["collaborationMode"] = object{"mode": word, "settings": settings}
	}
	return params
}

// startTurn calls what begins a turn, and learns its id. Codex is told the model only if
// that is another than before: a turn that sets anything takes it milliseconds longer.
func (p *process) startTurn(ctx context.Context, method string, params object) error {
	model, _ := params["model"].(string)
	p.mu.Lock()
	if model != "" && model == p.model && params["collaborationMode"] == nil {
		delete(params, "model")
	} else if model != "" {
		p.model = "" // a call that fails may have set it or not
	}
	p.mu.Unlock()
	var answer turnAnswer
	if err := p.conn.Call(ctx, method, params, &answer); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if model != "" {
		p.model = model
	}
	if p.t.turn.running && p.t.turn.id == "" {
		p.t.turn.id = answer.Turn.ID
	}
	return nil
}

// maxPrompt is how many characters a prompt may have.
const maxPrompt = 1 << 20

// inputOf is a prompt as Codex takes it.
func inputOf(blocks []terret.Block) ([]object, error) {
	var out []object
	length := 0
	for _, b := range blocks {
		if length += utf8.RuneCountInString(b.Text); length > maxPrompt {
			return nil, terret.Invalid("prompt", "Codex takes prompts of at most %d characters; put the text into a file and name it", maxPrompt)
		}
		switch {
		case b.Type == terret.BlockText:
			out = append(out, object{"type": "text", "text": b.Text})
		case b.Type == terret.BlockImage:
			url := b.URL
			if len(b.Bytes) > 0 {
				url = "data:" + cmp.Or(b.MediaType, "image/png") + ";base64," + base64.StdEncoding.EncodeToString(b.Bytes)
			}
			out = append(out, object{"type": "image", "url": url})
		case b.Type == terret.BlockDocument && strings.HasPrefix(b.MediaType, "text/"):
			out = append(out, object{"type": "text", "text": b.Name + "\n" + string(b.Bytes)})
		default:
			return nil, terret.Invalid("blocks", "Codex takes text and images, not %s %s", b.Type, b.MediaType)
		}
	}
	return out, nil
}

// Steer implements terret.Steerer.
func (a *agent) Steer(ctx context.Context, _ string, prompt terret.Prompt) error {
	input, err := inputOf(prompt.Blocks)
	if err != nil {
		return err
	}
	p, err := a.process()
	if err != nil {
		return err
	}
	p.mu.Lock()
	turn, thread := p.t.turn.id, p.t.thread
	if p.t.turn.running {
		p.t.turn.steered[prompt.MessageID] = true
	}
	p.mu.Unlock()
	return refusal(p.conn.Call(ctx, "turn/steer", object{
		"threadId": thread, "expectedTurnId": turn, "input": input, "clientUserMessageId": prompt.MessageID,
	}, nil))
}

// process is the one that runs.
func (a *agent) process() (*process, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.p == nil {
		return nil, terret.Errorf(terret.CodeConflict, "the agent has no process at the moment; prompt the session to start one")
	}
	return a.p, nil
}

// Interrupt implements terret.Agent.
func (a *agent) Interrupt(context.Context, string) error {
	if p, err := a.process(); err == nil { // else no turn runs
		p.interrupt()
	}
	return nil
}

// Close implements terret.Agent.
func (a *agent) Close(ctx context.Context) error {
	return a.shut(func(p *process) error {
		_, err := p.proc.Stop(ctx)
		return err
	})
}

// Kill implements terret.Killer.
func (a *agent) Kill(context.Context) error {
	return a.shut(func(p *process) error {
		_, err := p.proc.Kill()
		return err
	})
}

func (a *agent) shut(end func(*process) error) error {
	a.mu.Lock()
	a.closed = true
	p := a.p
	a.mu.Unlock()
	a.end(errClosed) // of what is being started
	var err error
	if p != nil {
		err = end(p)
		<-p.told
	}
	a.switching.Lock() // a process that was being started has been taken, or given up
	defer a.switching.Unlock()
	a.mu.Lock()
	late := a.p
	a.mu.Unlock()
	if late != nil && late != p {
		err = errors.Join(err, end(late))
		<-late.told
	}
	return errors.Join(err, a.parted(context.Background()))
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return capabilities(a.hooked)
}

// isLost reports whether Codex says that there is no such thread.
func isLost(err error) bool {
	said, ok := errors.AsType[*rpc.Error](err)
	return ok && (strings.Contains(said.Message, "no rollout found") || strings.Contains(said.Message, "not found"))
}

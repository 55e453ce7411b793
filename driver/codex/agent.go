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
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/rpc"
)

// agent is Codex at work on a session, in one process for many turns.
type agent struct {
	*seat.Seat[*process]
	d *Driver

	mu      sync.Mutex
	native  string          // the thread, see type native
	model   string          // of the session; empty for Codex's own choice
	mode    string          // of the session
	own     string          // model that Codex chose
	turn    terret.Settings // of the last turn
	hooked  bool
	planned bool // the thread may be in plan mode
}

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	return &agent{
		Seat: seat.New[*process](r), d: d, native: string(r.Session.NativeID), model: r.Session.Model, mode: r.Session.PermissionMode,
		turn: r.Settings, hooked: hooksWork,
	}
}

// ready returns a process that can take a turn with those settings. a.Switching must be
// held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*process, error) {
	a.mu.Lock()
	mode := cmp.Or(in.PermissionMode, a.mode)
	a.mu.Unlock()
	l := a.d.launchOf(a.Req, mode, in)
	fits := func(p *process) bool { return p.launch.serves(l) }
	return a.Ready(ctx, fits, func(ctx context.Context) (*process, error) {
		p, err := a.d.start(ctx, l, a.Req.Owner, a.Req.Log)
		if err != nil {
			return nil, err
		}
		return p, a.take(ctx, p)
	})
}

// take makes a process the session's, and loads the thread in it. a.Switching must be
// held.
func (a *agent) take(ctx context.Context, p *process) error {
	a.mu.Lock()
	current, model := a.native, a.model
	a.mu.Unlock()
	start, err := p.load(ctx, current, model, a.Req.Settings.OnStale)
	if err != nil {
		p.Discard(ctx)
		return err
	}
	a.mu.Lock()
	start.mode = cmp.Or(a.mode, noSandbox) // of the session; a turn may have another
	a.planned = a.planned || start.source != "new"
	a.mu.Unlock()
	events := append([]terret.Event{p.Spawned()}, start.events(current)...)
	events = append(events, p.launch.warnings()...)
	a.mu.Lock()
	a.native, a.own, a.hooked = start.thread, start.model, p.hooked
	a.mu.Unlock()
	a.Take(p)
	p.mu.Lock()
	events = append(events, p.early...)
	p.a, p.early = a, nil
	err = p.pass(events)
	p.mu.Unlock()
	p.StderrTo(a.Req.Host)
	if err != nil {
		p.Discard(ctx)
	}
	return err
}

// ended tells what a process leaves behind.
func (a *agent) ended(p *process) {
	wanted := a.Ended(p)
	why := p.ExitError("Codex ended in the middle of the turn", "prompt the session to go on")
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pass(append(p.t.abandon(why, time.Now()), p.Exited(wanted)...)); err != nil {
		p.Log.Warn("the end of the agent could not be logged", "error", err)
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
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	a.mu.Lock()
	params := a.turnParams(in)
	a.turn = in
	a.mu.Unlock()
	if err := a.Onward(ctx); err != nil {
		return err
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
	p, err := a.Occupied()
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

// Interrupt implements terret.Agent.
func (a *agent) Interrupt(context.Context, string) error {
	if p, err := a.Occupied(); err == nil { // else no turn runs
		p.interrupt()
	}
	return nil
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

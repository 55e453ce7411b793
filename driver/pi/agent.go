package pi

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
)

// agent is Pi at work on a session, in one process for many turns.
type agent struct {
	*seat.Seat[*process]
	d *Driver

	mu     sync.Mutex
	native string // the session, see type native
	model  string // of the session; empty for Pi's own choice
	last   terret.Settings
}

func newAgent(d *Driver, r terret.OpenRequest) *agent {
	return &agent{Seat: seat.New[*process](r), d: d, native: string(r.Session.NativeID), model: r.Session.Model, last: r.Settings}
}

// ready returns a process that can take a turn with those settings. a.Switching must be
// held.
func (a *agent) ready(ctx context.Context, in terret.Settings) (*process, error) {
	a.mu.Lock()
	model, current := a.model, a.native
	a.mu.Unlock()
	l, err := a.d.launchOf(a.Req, model, in)
	if err != nil {
		return nil, err
	}
	fits := func(p *process) bool { return p.launch.key() == l.key() }
	return a.Ready(ctx, fits, func(ctx context.Context) (*process, error) {
		p, how, err := a.open(ctx, l, current)
		if err != nil {
			return nil, err
		}
		return p, a.take(ctx, p, how)
	})
}

// opened is how the session was opened.
type opened struct {
	source string // new, resume or fork
	lost   string // why the session that was to be gone on with is not
}

// open starts a process with the session. If Pi has lost it, it begins another, unless
// the session is not to.
func (a *agent) open(ctx context.Context, l launch, current string) (*process, opened, error) {
	how := opened{source: "new"}
	var n native
	if current != "" {
		var err error
		if n, err = parseNative(current); err != nil {
			return nil, how, err
		}
		how.source, l.session = "resume", []string{"--session", l.sessionArg(n.id)}
		if n.copy {
			how.source, l.session[0] = "fork", "--fork"
		}
	}
	p, err := a.d.start(ctx, l, a.Req.Owner, a.Req.Log)
	if lost := lostSession(err); current != "" && lost != "" {
		if a.Req.Settings.OnStale == terret.OnStaleError {
			return nil, how, terret.Errorf(terret.CodeResumeFailed, "Pi has lost session %s: %s", n.id, lost)
		}
		how, l.session, n.last = opened{source: "new", lost: lost}, nil, ""
		p, err = a.d.start(ctx, l, a.Req.Owner, a.Req.Log)
	}
	if err == nil && n.last != "" {
		if _, err = p.move(ctx, object{"message": n.last, "through": true}); err != nil {
			p.Discard(ctx)
		}
	}
	return p, how, err
}

// lostSession is what Pi says of a session that it does not find; empty if it says
// something else.
func lostSession(err error) string {
	e, ok := errors.AsType[*terret.Error](err)
	if !ok {
		return ""
	}
	if e.Code == terret.CodeResumeFailed {
		return e.Message
	}
	for _, said := range e.Stderr {
		if strings.Contains(said, "No session found") || strings.Contains(said, "working directory does not exist") {
			return said
		}
	}
	return ""
}

// take makes a process the session's. a.Switching must be held.
func (a *agent) take(ctx context.Context, p *process, how opened) error {
	a.mu.Lock()
	before, now := a.native, p.state.SessionID
	a.native = now
	a.mu.Unlock()
	events := []terret.Event{p.Spawned(), {Source: "get_state", Data: terret.SessionStart{
		Source: how.source, Agent: Name, AgentVersion: p.hello.Version, NativeID: now, Model: p.state.model(), Cwd: p.hello.Cwd, Tools: p.hello.Tools,
	}}}
	if before != now {
		change := terret.SessionNativeID{Old: terret.NullString(before), New: now, Reason: "start"}
		switch {
		case how.lost != "":
			change.Reason, change.Error = "stale", brief.Cut(how.lost, diagLimit)
		case how.source == "fork":
			change.Reason = "fork"
		}
		events = append(events, terret.Event{Source: "get_state", Data: change})
	}
	a.Take(p)
	p.mu.Lock()
	events = append(events, p.early...)
	p.a, p.early = a, nil
	err := p.pass(events)
	p.mu.Unlock()
	p.StderrTo(a.Req.Host)
	if err != nil {
		p.Discard(ctx)
	}
	return err
}

// model is how we call the model.
func (s state) model() string {
	if s.Model.Provider == "" || s.Model.Provider == "unknown" {
		return ""
	}
	return s.Model.Provider + "/" + s.Model.ID
}

// ended tells what a process leaves behind.
func (a *agent) ended(p *process) {
	wanted := a.Ended(p)
	why := p.ExitError("Pi ended in the middle of the turn", "prompt the session to go on")
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.pass(append(p.t.abandon(why, time.Now()), p.Exited(wanted)...)); err != nil {
		p.Log.Warn("the end of the agent could not be logged", "error", err)
	}
}

// Prompt implements terret.Agent.
func (a *agent) Prompt(ctx context.Context, _ string, prompt terret.Prompt, in terret.Settings) error {
	command, err := promptOf("prompt", prompt.Blocks)
	if err != nil {
		return err
	}
	return a.run(ctx, in, prompt.MessageID, func(p *process) { p.prompt(command) })
}

// run begins a turn, and has the rest go on beside it. From here on there is no way
// forward to what was undone.
func (a *agent) run(ctx context.Context, in terret.Settings, message string, start func(*process)) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	if _, err := p.do(ctx, "turn", turnOf(in, message)); err != nil {
		return err
	}
	if err := a.Onward(ctx); err != nil {
		return err
	}
	a.mu.Lock()
	a.last = in
	a.mu.Unlock()
	p.mu.Lock()
	p.t.begin(in, time.Now())
	err = p.pass(unused(in))
	p.mu.Unlock()
	if err != nil {
		return err
	}
	p.Work.Go(func() {
		if p.mayPrompt(message) {
			start(p)
		}
	})
	return nil
}

// turnOf is what the extension is told of a turn.
func turnOf(in terret.Settings, message string) object {
	lower := func(list []string) []string {
		if list == nil {
			return nil
		}
		out := []string{} // Pi's own tools are those of others in small letters
		for _, name := range list {
			if classes[strings.ToLower(name)] != "" {
				name = strings.ToLower(name)
			}
			out = append(out, name)
		}
		return out
	}
	out := object{"message": message, "tools": lower(in.Tools), "removed": lower(in.RemovedTools), "system": in.SystemAppend}
	if len(in.OutputSchema) > 0 {
		out["schema"] = in.OutputSchema
	}
	return out
}

// mayPrompt asks whether the model may hear of the prompt, if somebody wants to decide
// that. If not, the turn is over.
func (p *process) mayPrompt(message string) bool {
	p.mu.Lock()
	wants := p.t.turn.wants(terret.GatePrompt)
	p.mu.Unlock()
	if !wants || message == "" {
		return true
	}
	d, err := p.ask(terret.Ask{Key: message, Gate: terret.GatePrompt, Event: terret.Event{
		Source: "prompt", Data: terret.HookEvent{Hook: "prompt", Data: terret.JSON(seat.Encode(object{"message": message}))},
	}})
	if err != nil || d.Behavior != terret.BehaviorBlock {
		return err == nil
	}
	p.delivered(d)
	p.say("prompt", func(t *translator) {
		t.turn.blocked = cmp.Or(d.Reason, "blocked")
		t.endTurn(t.failure())
	})
	return false
}

// promptOf is a message as Pi takes it.
func promptOf(command string, blocks []terret.Block) (object, error) {
	var text strings.Builder
	var images []object
	for _, b := range blocks {
		switch {
		case b.Type == terret.BlockText:
			text.WriteString(b.Text)
		case b.Type == terret.BlockImage && len(b.Bytes) > 0:
			data := base64.StdEncoding.EncodeToString(b.Bytes)
			images = append(images, object{"type": "image", "data": data, "mimeType": cmp.Or(b.MediaType, "image/png")})
		case b.Type == terret.BlockDocument && strings.HasPrefix(b.MediaType, "text/"):
			text.WriteString("\n" + b.Name + "\n" + string(b.Bytes))
		default:
			return nil, terret.Invalid("blocks", "Pi takes text and images, not %s %s", b.Type, cmp.Or(b.MediaType, b.URL))
		}
	}
	message := text.String()
	if strings.HasPrefix(message, "/"+extensionName) { // which is not for people
		message = " " + message
	}
	out := object{"type": command, "message": message}
	if len(images) > 0 {
		out["images"] = images
	}
	return out, nil
}

// Steer implements terret.Steerer.
func (a *agent) Steer(ctx context.Context, _ string, prompt terret.Prompt) error {
	command, err := promptOf("steer", prompt.Blocks)
	if err != nil {
		return err
	}
	p, err := a.Occupied()
	if err != nil {
		return err
	}
	p.mu.Lock()
	running := p.t.turn.begun
	if running {
		p.t.turn.steered = append(p.t.turn.steered, steered{prompt.MessageID, terret.TextOf(prompt.Blocks)})
	}
	p.mu.Unlock()
	if !running { // Pi would keep it for the next prompt
		return terret.Errorf(terret.CodeConflict, "Pi does not work on the turn; prompt the session instead")
	}
	return p.call(ctx, command, nil)
}

// Interrupt implements terret.Agent.
func (a *agent) Interrupt(context.Context, string) error {
	if p, err := a.Occupied(); err == nil { // else no turn runs
		p.interrupt()
	}
	return nil
}

// Capabilities implements terret.Agent.
func (a *agent) Capabilities() terret.Capabilities { return capabilities() }

package pi

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/brief"
	"github.com/terret-dev/terret/internal/ndjson"
)

// process is a running Pi with one session.
type process struct {
	*seat.Process // its Work is turns, and answers to the extension
	out           *ndjson.Writer
	launch        launch
	ext           extension

	hello said // of the extension
	state state

	// mu is held while events are made and handed out, so that their order is the one in
	// which things happened.
	mu      sync.Mutex
	t       *translator
	a       *agent         // nil until one takes the process
	early   []terret.Event // said before
	next    int            // number of the next command
	waiting map[string]chan line
	results map[string]said // of operations of the extension
}

// startPatience is how long a process may take to answer the greeting.
const startPatience = 2 * time.Minute

// start starts a process and waits until its session is loaded.
func (d *Driver) start(ctx context.Context, l launch, owner string, log *slog.Logger) (*process, error) {
	ext, err := newExtension()
	if err != nil {
		return nil, terret.Errorf(terret.CodeStartupRefused, "write Pi's extension: %w", err)
	}
	p := &process{launch: l, ext: ext, t: newTranslator(l.dir), waiting: map[string]chan line{}, results: map[string]said{}}
	// The last extension sees what the others have made of a call.
	argv := slices.Concat([]string{d.cfg.Path}, l.args, l.session, []string{"-e", ext.path()})
	if p.Process, err = d.program().Start(ctx, seat.Spec{Argv: argv, Dir: l.dir, Env: l.env, Owner: owner, Log: log}); err != nil {
		ext.remove()
		return nil, err
	}
	p.out = ndjson.NewWriter(p.Stdin())
	go p.read() // ends with the process, which Discard and its agent wait for
	if err := p.greet(ctx, d.patience); err != nil {
		p.Discard(ctx)
		return nil, err
	}
	return p, nil
}

// greet waits until Pi answers. By then the extension has said that it is there.
func (p *process) greet(ctx context.Context, patience time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		terret.Errorf(terret.CodeStartupRefused, "Pi did not answer within %s; see whether `pi --mode rpc` works", patience))
	defer cancel()
	if err := p.call(ctx, object{"type": "get_state"}, &p.state); err != nil {
		if errors.Is(err, seat.ErrEnded) {
			return p.NeverReady(ctx, "Pi ended before it was ready", "see whether `pi --mode rpc` works")
		}
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.hello.Hello == 0:
		return terret.Errorf(terret.CodeStartupRefused, "Pi has not loaded Terret's extension, without which nobody is asked; "+
			"see whether agents.pi.args keeps it from loading extensions")
	case p.hello.Cwd != p.launch.dir:
		return terret.Errorf(terret.CodeResumeFailed, "the session of Pi belongs to another folder, %s", p.hello.Cwd)
	}
	return nil
}

// send writes a command. It blocks while Pi does not read.
func (p *process) send(v any) error { return p.out.Encode(v) }

// call sends a command and waits for its answer. The error is ErrEnded if the process
// ends before.
func (p *process) call(ctx context.Context, command object, out any) error {
	p.mu.Lock()
	p.next++
	id := strconv.Itoa(p.next)
	answered := make(chan line, 1)
	p.waiting[id] = answered
	p.mu.Unlock()
	command["id"] = id
	sent := make(chan error, 1)
	p.Work.Go(func() { sent <- p.send(command) })
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.Life.Done():
			return context.Cause(p.Life)
		case err := <-sent:
			if sent = nil; err != nil {
				<-p.Life.Done() // it no longer reads, so it has ended or will
				return context.Cause(p.Life)
			}
		case l := <-answered:
			if !l.Success {
				return refusal(l.Error)
			}
			if out != nil && !seat.Decode(l.Data, out) {
				return terret.Errorf(terret.CodeMalformedOutput, "Pi answered %s with something else", l.Command)
			}
			return nil
		}
	}
}

// do has the extension do something.
func (p *process) do(ctx context.Context, op string, args object) (said, error) {
	p.mu.Lock()
	p.next++
	re := strconv.Itoa(p.next)
	p.mu.Unlock()
	err := p.call(ctx, object{"type": "prompt", "message": operation(re, op, args)}, nil)
	p.mu.Lock()
	result, ok := p.results[re]
	delete(p.results, re)
	p.mu.Unlock()
	switch {
	case err != nil:
		return said{}, err
	case !ok:
		return said{}, terret.Errorf(terret.CodeMalformedOutput, "Pi's extension did not answer")
	case result.Error != "":
		return said{}, terret.Errorf(terret.CodeConflict, "Pi refused: %s", brief.Cut(result.Error, diagLimit))
	}
	return result, nil
}

// read reads until the process ends, and tells what it leaves behind.
func (p *process) read() {
	r := ndjson.NewReader(p.Stdout(), 0)
	for {
		raw, err := r.Next()
		if tooLong, ok := errors.AsType[*ndjson.LineTooLongError](err); ok {
			err = p.stray([]byte(tooLong.Error()))
			raw = nil
		}
		if err == nil && raw != nil {
			err = p.hear(raw)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.Log.Warn("the agent is stopped", "error", err)
			break
		}
	}
	p.End(func() {
		p.ext.remove()
		p.mu.Lock()
		a := p.a
		p.mu.Unlock()
		if a != nil {
			a.ended(p)
		}
	})
}

// hear takes in a line. The error says that the log takes nothing more.
func (p *process) hear(raw []byte) error {
	l, err := parse(raw)
	switch {
	case err != nil && l.Type == "", l.Type == "" && raw[0] != '{':
		return p.stray(raw)
	case l.Type == "response":
		p.answered(l)
		return nil
	case l.Type == "extension_ui_request" && p.extensionSays(l):
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t.hear(l, raw, time.Now())
	if err != nil { // a field has another shape than it had
		p.t.emit(terret.Unknown{NativeType: l.Type})
	}
	if l.Type == "agent_start" && p.t.turn.stopping {
		p.abort() // it had not begun when it was told
	}
	if p.t.turn.settle {
		p.t.turn.settle = false
		moment, promised := p.t.moment, p.t.turn.promised
		p.Work.Go(func() { p.settle(moment, promised) })
	}
	return p.tell(p.t.take())
}

// stray keeps a line that is no message.
func (p *process) stray(raw []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pass([]terret.Event{{Data: terret.DiagParseError{Text: brief.Cut(string(raw), diagLimit)}}})
}

func (p *process) answered(l line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.waiting[l.ID]; c != nil {
		delete(p.waiting, l.ID)
		c <- l
	}
}

// say makes events and hands them out.
func (p *process) say(source string, make func(*translator)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t.set(source, nil, time.Now())
	make(p.t)
	if err := p.tell(p.t.take()); err != nil {
		p.Log.Warn("the log takes nothing more from the agent", "error", err)
	}
}

// tell is pass for what Pi did. In a session in which each turn has its own process, the
// end of a turn is the end of the process. p.mu must be held.
func (p *process) tell(events []terret.Event) error {
	if p.a != nil && p.a.Req.Session.OneShot && slices.ContainsFunc(events, func(ev terret.Event) bool { return ev.Kind().EndsTurn() }) {
		p.a.Release(p) // before the end is told: the next turn may begin with that
	}
	return p.pass(events)
}

// pass hands out events, or keeps them until somebody listens. p.mu must be held.
func (p *process) pass(events []terret.Event) error {
	if len(events) == 0 {
		return nil
	}
	if p.a == nil {
		p.early = append(p.early, events...)
		return nil
	}
	return p.a.Req.Host.Emit(context.Background(), events, nil)
}

// interrupt stops the turn, if one runs.
func (p *process) interrupt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.t.turn.running {
		p.t.turn.stopping = true
		p.abort()
	}
}

// abort tells Pi to stop what it does. Nobody waits for that.
func (p *process) abort() {
	p.Work.Go(func() {
		if err := p.call(p.Life, object{"type": "abort"}, nil); err != nil {
			p.Log.Debug("the turn was not interrupted", "error", err)
		}
	})
}

// promisePatience is how long Pi may take to begin what it has promised. It forgets that
// if the reply that did not fit was a good one.
const promisePatience = 2 * time.Second

// settle ends the turn, after Pi has said that it is done, unless it has begun something
// else since.
func (p *process) settle(moment int, promised bool) {
	if promised {
		select {
		case <-time.After(promisePatience):
		case <-p.Life.Done():
			return
		}
	}
	var now stats
	if err := p.call(p.Life, object{"type": "get_session_stats"}, &now); err != nil {
		return // the process has ended, which ends the turn
	}
	p.mu.Lock()
	u := &p.t.turn
	over := p.t.moment == moment && (promised || !u.busy())
	last, again, wants := u.text, u.again, u.wants(terret.GateStop) && p.t.failure() == nil
	if over {
		p.t.context = now
	}
	p.mu.Unlock()
	if !over {
		return
	}
	if wants {
		d, err := p.ask(terret.Ask{Key: terret.NewID(terret.PrefixControl), Gate: terret.GateStop, Event: terret.Event{
			Source: "agent_end", Data: terret.StopRequest{LastMessage: last, Again: again},
		}})
		if err == nil && d.Behavior == terret.BehaviorBlock {
			p.mu.Lock()
			p.t.turn.again, p.t.turn.prompted, p.t.turn.begun = true, true, false
			p.mu.Unlock()
			p.delivered(d)
			p.prompt(object{"type": "prompt", "message": cmp.Or(strings.TrimLeft(d.Reason, "/"), "Go on.")})
			return
		}
	}
	p.say("agent_end", func(t *translator) {
		if t.moment == moment {
			t.endTurn(t.failure())
		}
	})
}

// prompt sends what begins a run of the agent. If Pi begins none, the turn is over.
func (p *process) prompt(command object) {
	p.mu.Lock()
	moment := p.t.moment
	p.mu.Unlock()
	err := p.call(p.Life, command, nil)
	var now state
	if err == nil {
		err = p.call(p.Life, object{"type": "get_state"}, &now)
	}
	if errors.Is(err, seat.ErrEnded) {
		return // which ends the turn
	}
	p.say("prompt", func(t *translator) {
		switch {
		case t.moment != moment: // it has begun
		case err != nil:
			t.endTurn(terret.AsError(err))
		case !now.IsStreaming: // an extension has done what there was to do
			t.endTurn(t.failure())
		}
	})
}

// Discard implements seat.Prepared: it ends the process, and waits until nothing of it is
// left.
func (p *process) Discard(ctx context.Context) {
	_ = p.Leave(ctx)
	<-p.Told()
}

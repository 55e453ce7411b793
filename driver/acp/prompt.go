package acp

import (
	"context"
	"encoding/base64"
	"errors"
	"sync"
	"time"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/driver/internal/seat"
	"github.com/terret-dev/terret/internal/rpc"
)

// Prompt implements terret.Agent. The agent takes the prompt with its answer, which
// ends the turn; so Prompt returns when the prompt is on its way.
func (a *agent) Prompt(ctx context.Context, _ string, prompt terret.Prompt, in terret.Settings) error {
	return a.begin(ctx, blocks(prompt.Blocks), in)
}

// Command implements terret.Commander.
func (a *agent) Command(ctx context.Context, _, name, args string, s terret.Settings) error {
	text := "/" + name
	if args != "" {
		text += " " + args
	}
	return a.begin(ctx, []object{{"type": "text", "text": text}}, s)
}

// Compact implements terret.Compacter.
func (a *agent) Compact(ctx context.Context, id, instructions string, s terret.Settings) error {
	if can := a.d.p.Can; can == nil || can.Compact == "" {
		return a.Capabilities().Need(terret.CanCompact)
	}
	return a.Command(ctx, id, a.d.p.Can.Compact, instructions, s)
}

// begin begins a turn.
func (a *agent) begin(ctx context.Context, prompt []object, in terret.Settings) error {
	if err := checkSettings(in); err != nil {
		return err
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.ready(ctx, in)
	if err != nil {
		return err
	}
	if err := a.setUp(ctx, p, in); err != nil {
		return err
	}
	t := newTurn(a.d.p, p, in, a.Req.Session.Cwd)
	a.telling.Lock()
	t.servers, t.before = a.state.servers, a.state.usage
	t.spent = a.state.cost
	a.turn = t
	a.telling.Unlock()
	a.Work.Go(func() { a.run(t, prompt) })
	return nil
}

// blocks are a prompt in the words of the protocol.
func blocks(in []terret.Block) []object {
	out := []object{}
	for _, b := range in {
		switch {
		case b.Type == terret.BlockText:
			out = append(out, object{"type": "text", "text": b.Text})
		case b.Type == terret.BlockImage && b.URL == "":
			out = append(out, object{"type": "image", "mimeType": b.MediaType, "data": base64.StdEncoding.EncodeToString(b.Bytes)})
		case b.URL != "":
			out = append(out, object{"type": "resource_link", "uri": b.URL, "name": b.Name})
		case b.Type == terret.BlockDocument:
			out = append(out, object{"type": "resource", "resource": object{
				"uri": "file:///" + b.Name, "mimeType": b.MediaType, "blob": base64.StdEncoding.EncodeToString(b.Bytes),
			}})
		}
	}
	return out
}

// run waits for the end of a turn, and tells it.
func (a *agent) run(t *turn, prompt []object) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	watch := a.watch(t, func() { _ = a.cancel(t) }, func() { cancel(errSilent) })
	var answer prompted
	err := t.p.conn.Call(ctx, methodPrompt, object{"sessionId": a.native, "prompt": prompt}, &answer)
	watch.stop()
	t.withdraw(errOver) // nobody waits for an answer any more
	t.asks.Wait()
	if t.p.dead() { // what it started may have answered for it, while it was ended as well
		err = rpc.ErrClosed
	}
	switch {
	case errors.Is(err, rpc.ErrClosed):
		_ = t.p.Leave(context.Background()) // its end says why
	case errors.Is(err, errSilent): // it was told to stop, and did not
		_ = t.p.Force()
	}
	if a.Req.Session.OneShot { // before its end is told: the next turn may begin with that
		a.Release(t.p)
	}
	a.telling.Lock()
	events := t.end(a, answer, err)
	cost := a.state.cost
	a.turn = nil
	err = a.emit(nil, events)
	a.telling.Unlock()
	close(t.told)
	if err != nil {
		a.Req.Log.Warn("the end of the turn could not be logged", "error", err)
	} else if cost > 0 {
		_ = a.Req.Host.Emit(context.Background(), nil, seat.Cursor{Cost: cost}.Encode())
	}
}

// Interrupt implements terret.Agent.
func (a *agent) Interrupt(context.Context, string) error {
	a.telling.Lock()
	t := a.turn
	done := t == nil || t.cancelled
	if !done {
		t.stop()
	}
	a.telling.Unlock()
	if done {
		return nil
	}
	return a.cancel(t)
}

// cancel tells the agent to end the turn, unless that is over: the agent would take it
// for the next one. What it asks from now on is refused.
func (a *agent) cancel(t *turn) error {
	a.telling.Lock()
	defer a.telling.Unlock()
	if a.turn != t {
		return nil
	}
	err := t.p.notify(methodCancel, object{"sessionId": a.native})
	if errors.Is(err, rpc.ErrClosed) {
		return nil // then the turn ends by itself
	}
	return err
}

var (
	errOver   = errors.New("the turn is over")
	errSilent = errors.New("the agent has said nothing for too long")
)

// watchdog ends a turn in which the agent says nothing: agents ask a model that fails
// again and again, and do not say so.
type watchdog struct {
	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// watch sets a dog on the turn. If the agent says nothing for too long, it is told to
// stop, and given up if it does not. The dog's stop must be called.
func (a *agent) watch(t *turn, tell, giveUp func()) *watchdog {
	w := &watchdog{}
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := false
	w.timer = time.AfterFunc(a.d.idle, func() {
		a.telling.Lock()
		quiet := time.Since(t.heard)
		busy := t.busy()
		silent := !busy && quiet >= a.d.idle
		if silent {
			t.silent = true
			t.stop()
		}
		a.telling.Unlock()
		switch {
		case asked:
			giveUp()
		case silent:
			asked = true
			tell()
			w.again(a.d.grace)
		case busy:
			w.again(a.d.idle)
		default:
			w.again(a.d.idle - quiet)
		}
	})
	return w
}

func (w *watchdog) again(after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.timer.Reset(after)
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	w.timer.Stop()
}

// Commands implements terret.CommandLister. Agents list them a moment after they have
// opened a session.
func (a *agent) Commands(ctx context.Context) ([]terret.Command, error) {
	timer := time.NewTimer(listPatience)
	defer timer.Stop()
	select {
	case <-a.now().listed:
	case <-timer.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return a.now().commands, nil
}

// listPatience is how long an agent may take to list its commands.
const listPatience = 3 * time.Second

// Fork implements terret.Forker.
func (a *agent) Fork(ctx context.Context, messageID string) (string, error) {
	if messageID != "" {
		return "", terret.Errorf(terret.CodeUnsupported, "%s can copy a session only as a whole", a.d.p.title())
	}
	a.Switching.Lock()
	defer a.Switching.Unlock()
	p, err := a.ready(ctx, a.Req.Settings)
	if err != nil {
		return "", err
	}
	var s opened
	if err := p.call(ctx, methodFork, a.sessionParams(p, a.native), &s); err != nil {
		return "", a.refused(p, terret.CodeExecutionError, "did not copy the session", err)
	}
	return s.SessionID, nil
}

package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/tui/draft"
)

// ahead is what a person types while a turn runs. What is sent steers the turn, or waits behind
// it; what is not sent stays in the draft. It is nil where a turn is only watched.
type ahead struct {
	c     *conversation
	keys  *keyboard
	draft *draft.Draft // the keyboard's, while it runs
	past  []string
	queue bool // the draft is to wait, not to steer: Tab instead of Enter

	mu      sync.Mutex // guards what is below
	waits   []waiting  // in order
	stop    func()     // ends the typing, and waits for that; nil if there is none
	halt    func()     // stops the turn
	leaving bool       // the person wants to leave
}

// waiting is a text that was sent from here and waits behind the turn.
type waiting struct{ turn, text string }

func newAhead(c *conversation, keys *keyboard, past []string) *ahead {
	return &ahead{c: c, keys: keys, past: past, draft: draft.New(past)}
}

// sent begins a new draft after one that was sent.
func (h *ahead) sent(text string) {
	h.past = draft.Remember(h.past, text)
	h.draft = draft.New(h.past)
}

// begin lets the person type while a turn runs, until end. Halt stops the turn.
func (h *ahead) begin(ctx context.Context, halt func()) {
	if h == nil {
		return
	}
	h.halt = halt
	h.c.render.screen.beginTurn()
	h.resume(ctx)
}

func (h *ahead) end() {
	if h != nil {
		h.pause()
	}
}

// resume lets the person type.
func (h *ahead) resume(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	h.mu.Lock()
	h.stop = func() { cancel(); wait.Wait() }
	h.mu.Unlock()
	wait.Go(func() { h.read(ctx) })
}

// pause ends the typing. The draft stays.
func (h *ahead) pause() {
	h.mu.Lock()
	stop := h.stop
	h.stop = nil
	h.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// aside leaves the keyboard to a question, once the person has stopped typing. The returned
// function takes it back.
func (h *ahead) aside(ctx context.Context) (back func()) {
	if h == nil {
		return func() {}
	}
	h.keys.quiet(ctx)
	h.pause()
	return func() {
		h.keys.again()
		h.resume(context.WithoutCancel(ctx))
	}
}

// read reads what is typed, and sends it. It ends with the context, or with the input.
func (h *ahead) read(ctx context.Context) {
	sc := h.c.render.screen
	for {
		h.queue = false
		text, err := h.keys.ask(ctx, sc, wanted{
			prompt: sc.paint(cyan, "+ "), draft: h.draft, live: true,
			escape: h.halt, tab: func(e *editor) bool {
				if h.c.complete(ctx, e) {
					return false
				}
				h.queue = strings.TrimSpace(e.Text) != ""
				return h.queue
			},
		})
		if err != nil {
			return
		}
		text = strings.TrimSpace(text)
		h.sent(text)
		if err := h.send(context.WithoutCancel(ctx), text); err != nil {
			sc.line("%s %s", sc.paint(red, "✗"), oneLine(err.Error()))
			h.draft.Insert(text)
		}
	}
}

// send sends a text to the agent while it works, or runs a command.
func (h *ahead) send(ctx context.Context, text string) error {
	c := h.c
	start := c.prompting(terret.Prompt{Blocks: []terret.Block{terret.Text(text)}}, engine.WhenQueue)
	if name, arg, ok := slash(text); ok {
		var quit bool
		if start, quit = c.command(ctx, name, arg, engine.WhenQueue); quit {
			h.mu.Lock()
			h.leaving = true
			h.mu.Unlock()
			h.halt()
		}
		if start == nil {
			return nil
		}
	} else if !h.queue && !h.waiting() {
		done, err := h.steer(ctx, text)
		if done || err != nil {
			return err
		}
	}
	t, err := start(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.waits = append(h.waits, waiting{t.ID, nonEmpty(terret.TextOf(t.Prompt), text)})
	h.mu.Unlock()
	h.show()
	return nil
}

// steer adds a text to the turn, and reports whether it is in. It is not if the agent cannot
// take it now: then the text waits.
func (h *ahead) steer(ctx context.Context, text string) (done bool, err error) {
	t, err := h.c.prompting(terret.Prompt{Blocks: []terret.Block{terret.Text(text)}}, engine.WhenSteer)(ctx)
	switch {
	case errors.Is(err, terret.ErrUnsupported), errors.Is(err, terret.ErrConflict):
		return false, nil
	case err != nil:
		return false, err
	case t.Origin != terret.OriginSteer: // the turn was over, and this is the next one
		h.mu.Lock()
		h.waits = append(h.waits, waiting{t.ID, text})
		h.mu.Unlock()
	default:
		sc := h.c.render.screen
		sc.line("%s%s", sc.paint(cyan, "+ "), printable(text))
	}
	return true, nil
}

func (h *ahead) waiting() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.waits) > 0
}

// show shows what waits.
func (h *ahead) show() {
	h.mu.Lock()
	texts := make([]string, 0, len(h.waits))
	for _, w := range h.waits {
		texts = append(texts, w.text)
	}
	h.mu.Unlock()
	h.c.render.screen.enqueue(texts)
}

// next begins to show the turn that runs now, of what waited; nil if there is none. What
// somebody has dropped elsewhere waits no more, nor does what they have held: that needs
// /send.
func (h *ahead) next(ctx context.Context) (starter, error) {
	if h == nil {
		return nil, nil
	}
	defer h.show()
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.waits) > 0 {
		w := h.waits[0]
		h.waits = h.waits[1:]
		t, err := h.c.engine.FindTurn(ctx, h.c.session.ID, w.turn)
		switch {
		case err != nil:
			return nil, err
		case t != nil && t.Held:
			sc := h.c.render.screen
			sc.line("held: %s  %s", oneLine(w.text), sc.paint(dim, "/send sends it on, /drop drops it"))
		case t != nil:
			return func(context.Context) (terret.Turn, error) {
				sc := h.c.render.screen
				sc.line("\n%s%s", sc.paint(cyan, "› "), printable(w.text))
				return *t, nil
			}, nil
		}
	}
	return nil, nil
}

// takeBack puts what a stop from here has held back into the draft, before what is there.
func (h *ahead) takeBack(ctx context.Context) error {
	if h == nil || !h.c.stopped {
		return nil
	}
	queue, err := h.c.engine.Queue(ctx, h.c.session.ID)
	if err != nil {
		return err
	}
	var texts []string
	h.waits = slices.DeleteFunc(h.waits, func(w waiting) bool {
		held := slices.ContainsFunc(queue, func(t terret.Turn) bool { return t.ID == w.turn && t.Held })
		if !held || h.c.engine.DropQueued(ctx, h.c.session.ID, w.turn, h.c.app.user()) != nil { // it has begun
			return false
		}
		texts = append(texts, w.text)
		return true
	})
	h.show()
	if len(texts) == 0 {
		return nil
	}
	if h.draft.Text != "" {
		texts = append(texts, h.draft.Text)
	}
	h.draft.Change(0, len(h.draft.Text), strings.Join(texts, "\n"))
	return nil
}

// held lists what is held in the session's queue.
func (c *conversation) held(ctx context.Context) ([]terret.Turn, error) {
	queue, err := c.engine.Queue(ctx, c.session.ID)
	return slices.DeleteFunc(queue, func(t terret.Turn) bool { return !t.Held }), err
}

// sendHeld sends on the first prompt that a stop has held.
func (c *conversation) sendHeld(ctx context.Context, when engine.When) (starter, error) {
	held, err := c.held(ctx)
	if err != nil || len(held) == 0 {
		return nil, noneHeld(err)
	}
	return func(ctx context.Context) (terret.Turn, error) {
		if sc := c.render.screen; when != engine.WhenQueue {
			sc.line("%s%s", sc.paint(cyan, "› "), printable(terret.TextOf(held[0].Prompt)))
		}
		return held[0], c.engine.SendQueued(ctx, c.session.ID, held[0].ID, c.app.user())
	}, nil
}

// dropHeld drops the prompts that a stop has held.
func (c *conversation) dropHeld(ctx context.Context) error {
	held, err := c.held(ctx)
	if err != nil || len(held) == 0 {
		return noneHeld(err)
	}
	for _, t := range held {
		if err := c.engine.DropQueued(ctx, c.session.ID, t.ID, c.app.user()); err != nil {
			return err
		}
		c.render.screen.line("dropped: %s", oneLine(terret.TextOf(t.Prompt)))
	}
	return nil
}

func noneHeld(err error) error {
	if err == nil {
		err = terret.Errorf(terret.CodeConflict, "no prompt is held")
	}
	return err
}

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/tui"
	"github.com/terret-dev/terret/tui/draft"
)

func newChat(a *app) *cobra.Command {
	var f sessionFlags
	cmd := &cobra.Command{
		Use:   "chat [flags] [SESSION]",
		Short: "Chat with an agent in the terminal",
		Args:  maxOneArg,
		// What other programs call it.
		SuggestFor: []string{"resume", "continue"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				f.resume = args[0]
			}
			return runChat(cmd.Context(), a, f)
		},
	}
	f.add(cmd)
	return cmd
}

func runChat(ctx context.Context, a *app, f sessionFlags) error {
	if err := f.into(a, a.interactive()); err != nil {
		return err
	}
	e, closeEngine, err := a.start(ctx, !a.interactive())
	if err != nil {
		return err
	}
	defer closeEngine()
	s, err := f.session(ctx, a, e, true)
	if err != nil {
		return err
	}
	c := &conversation{app: a, engine: e, session: s, after: s.LastSeq, raw: f.raw, timeout: f.timeout, fresh: f.resume == "" && !f.continued}
	sc := &screen{words: a.out, talk: a.err, colour: a.colour(a.err)}
	c.render = newRenderer(sc)
	keys := a.keyboard()
	past, err := c.prompts(ctx)
	if err != nil {
		return err
	}
	if keys.hold() {
		defer keys.release()
		sc.types, sc.apart = true, !isTerminal(a.out.w)
		c.ahead = newAhead(c, keys, past)
	}
	c.asker = &asker{screen: sc, keys: keys, by: a.user(), ahead: c.ahead}
	sc.line("%s  %s · %s · %s · %s", sc.paint(bold, "terret"), printable(s.Agent), nonEmpty(printable(s.Model), "default model"), s.Policy.Title(), oneLine(s.Cwd))
	sc.line("%s", sc.paint(dim, "/help lists the commands, Ctrl-D leaves"))
	if a.interactive() && s.LastSeq > 0 {
		if err := c.recall(ctx); err != nil {
			return err
		}
	}
	c.sayHeld(ctx)
	err = c.talk(ctx, keys, past)
	if c.ahead != nil && strings.TrimSpace(c.ahead.draft.Text) != "" {
		a.note("not sent: %s", c.ahead.draft.Text)
	}
	if c.empty(ctx) {
		c.forget(ctx)
	}
	return err
}

// talk reads messages and runs their turns until the person leaves.
func (c *conversation) talk(ctx context.Context, keys *keyboard, past []string) error {
	sc, s := c.render.screen, c.session
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, endings()...)
	defer signal.Stop(ending)
	for {
		text, err := c.readMessage(ctx, keys, past)
		if err != nil {
			sc.line("")
			if !c.empty(ctx) {
				c.app.note("session %s; continue with `terret chat %s`", s.ID[:13], s.ID[:13])
			}
			if errors.Is(err, errNoInput) {
				err = nil // Ctrl-D is how to leave
			}
			return err
		}
		if text == "" {
			continue
		}
		past = draft.Remember(past, text)
		start := c.prompting(terret.Prompt{Blocks: []terret.Block{terret.Text(text)}}, engine.WhenReject)
		if name, arg, ok := slash(text); ok {
			var quit bool
			if start, quit = c.command(ctx, name, arg, engine.WhenReject); quit {
				return nil
			}
		}
		if start == nil {
			if len(ending) > 0 { // while a command waited for the agent
				return errLeft
			}
			continue
		}
		for start != nil {
			if start, err = c.runNext(ctx, start, ending); err != nil || len(ending) > 0 {
				return err
			}
		}
		if c.ahead != nil {
			past = c.ahead.past
			if c.ahead.leaving {
				return nil
			}
		}
	}
}

// runNext runs a turn, and returns what begins the one that waits behind it, if there is
// one. An error ends the conversation.
func (c *conversation) runNext(ctx context.Context, start starter, ending <-chan os.Signal) (starter, error) {
	sc := c.render.screen
	done, err := c.run(ctx, start)
	sc.idle()
	switch {
	case errors.Is(err, errSecondInterrupt), len(ending) > 0: // Ctrl-C alone stops only the turn
		return nil, err
	case errors.Is(err, terret.ErrInterrupted):
		sc.line("Stopped.")
	case err != nil:
		sc.line("%s %s", sc.paint(red, "✗"), oneLine(err.Error()))
	default:
		c.app.footer(done, c.session, nil)
	}
	if err := c.ahead.takeBack(ctx); err != nil {
		return nil, err
	}
	return c.ahead.next(ctx)
}

// sayHeld says what a stop has held in the session, so that nobody forgets it.
func (c *conversation) sayHeld(ctx context.Context) {
	held, err := c.held(ctx)
	if err != nil {
		return
	}
	sc := c.render.screen
	for _, t := range held {
		sc.line("held: %s  %s", oneLine(terret.TextOf(t.Prompt)), sc.paint(dim, "/send sends it on, /drop drops it"))
	}
}

// recalled is how much of a conversation is shown when it goes on: rows, and how much of
// the log is read for that.
const (
	recalled     = 24
	recalledPast = 5000
)

// recall shows the last part of the conversation.
func (c *conversation) recall(ctx context.Context) error {
	said := tui.NewTranscript(c.session, c.app.theme(c.app.err))
	after := max(0, c.session.LastSeq-recalledPast)
	for entry, err := range c.engine.Events(ctx, engine.EventQuery{Session: c.session.ID, After: after}) {
		if err != nil {
			return err
		}
		if ev, err := entry.Decode(); err == nil {
			said.Add(ev)
			c.learn(ev)
		}
	}
	var b strings.Builder
	columns, _ := size(c.app.err)
	left, err := said.WriteLast(&b, columns, recalled)
	if err != nil || b.Len() == 0 {
		return err
	}
	sc := c.render.screen
	sc.line("")
	if left || after > 0 {
		sc.line("%s", sc.paint(dim, "… `terret sessions show "+c.session.ID[:13]+"` shows what was before"))
	}
	sc.line("%s", strings.TrimRight(b.String(), "\n"))
	return nil
}

// empty reports whether the session is a new one in which nothing was said.
func (c *conversation) empty(ctx context.Context) bool {
	ctx = context.WithoutCancel(ctx)
	if !c.fresh {
		return false
	}
	s, err := c.app.harness.Store.Session(ctx, c.session.ID)
	if err != nil || s.Title != "" {
		return false
	}
	turns, err := c.app.harness.Store.Turns(ctx, s.ID)
	return err == nil && len(turns) == 0
}

// forget deletes a session in which nothing was said: it is of use to nobody.
func (c *conversation) forget(ctx context.Context) {
	if _, err := c.app.sessions(false).Delete(context.WithoutCancel(ctx), c.session.ID, false); err != nil {
		c.app.note("the empty session %s was kept: %s", c.session.ID[:13], oneLine(err.Error()))
	}
}

func nonEmpty(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// prompts are what was said in the session so far.
func (c *conversation) prompts(ctx context.Context) ([]string, error) {
	turns, err := c.app.harness.Store.Turns(ctx, c.session.ID)
	if err != nil {
		return nil, err
	}
	var past []string
	for _, t := range turns {
		past = draft.Remember(past, terret.TextOf(t.Prompt))
	}
	return past, nil
}

// readMessage reads a message; a line that ends with a backslash continues on the next.
func (c *conversation) readMessage(ctx context.Context, keys *keyboard, past []string) (string, error) {
	sc := c.render.screen
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := func() { cancel(errLeft) }
	defer interrupts(leave, leave)()
	var lines []string
	for prompt := "\n" + sc.paint(cyan, "› "); ; prompt = sc.paint(dim, "… ") {
		l := wanted{prompt: prompt, past: past, leaves: true, tab: func(e *editor) bool {
			if !c.complete(ctx, e) {
				sc.change(e, func() { e.Insert("\t") })
			}
			return false
		}}
		if c.ahead != nil {
			l.draft = c.ahead.draft
		}
		text, err := keys.ask(ctx, sc, l)
		if c.ahead != nil && err == nil {
			c.ahead.sent(text)
		}
		if err != nil {
			return "", err
		}
		more := strings.HasSuffix(text, `\`)
		lines = append(lines, strings.TrimSuffix(text, `\`))
		if !more {
			return strings.TrimSpace(strings.Join(lines, "\n")), nil
		}
	}
}

func mapped(in []string, f func(string) string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = f(s)
	}
	return out
}

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
)

func newChat(a *app) *cobra.Command {
	var f sessionFlags
	cmd := &cobra.Command{
		Use:   "chat [flags] [SESSION]",
		Short: "Chat with an agent in the terminal",
		Args:  maxOneArg,
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

const chatHelp = `  /help             this
  /undo, /redo      undo or redo what the last turn changed
  /model NAME       use another model
  /policy NAME      ask, auto-edit, plan or full-auto
  /title TEXT       rename the session
  /status           what the session is and has used
  /quit             leave (Ctrl-D too)
  Ctrl-C stops a turn; twice kills it. The arrows up and down bring back what you said.
  Alt-Enter begins a new line, as does a \ at the end of one. Ctrl-_ undoes typing.`

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
	c := &conversation{app: a, engine: e, session: s, after: s.LastSeq, raw: f.raw, timeout: f.timeout}
	sc := &screen{words: a.out, talk: a.err, colour: a.colour(a.err)}
	c.render = newRenderer(sc)
	keys := a.keyboard()
	past, err := c.prompts(ctx)
	if err != nil {
		return err
	}
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, endings()...)
	defer signal.Stop(ending)
	c.asker = &asker{screen: sc, keys: keys, by: a.user()}
	sc.line("%s  %s · %s · %s · %s", sc.paint(bold, "terret"), printable(s.Agent), nonEmpty(printable(s.Model), "default model"), s.Policy.Title(), oneLine(s.Cwd))
	sc.line("%s", sc.paint(dim, "/help lists the commands, Ctrl-D leaves"))
	for {
		text, err := readMessage(ctx, sc, keys, past)
		if err != nil {
			sc.line("")
			a.note("session %s; continue with `terret chat %s`", s.ID[:13], s.ID[:13])
			if errors.Is(err, errNoInput) {
				err = nil // Ctrl-D is how to leave
			}
			return err
		}
		if text == "" {
			continue
		}
		past = remember(past, text)
		if strings.HasPrefix(text, "/") {
			if quit := c.command(ctx, text); quit {
				return nil
			}
			continue
		}
		done, err := c.turn(ctx, text)
		sc.idle()
		switch {
		case errors.Is(err, errSecondInterrupt), len(ending) > 0: // Ctrl-C alone stops only the turn
			return err
		case err != nil:
			sc.line("%s %s", sc.paint(red, "✗"), oneLine(err.Error()))
		default:
			a.footer(done, s, nil)
		}
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
		past = remember(past, terret.TextOf(t.Prompt))
	}
	return past, nil
}

// readMessage reads a message; a line that ends with a backslash continues on the next.
func readMessage(ctx context.Context, sc *screen, keys *keyboard, past []string) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	leave := func() { cancel(errLeft) }
	defer interrupts(leave, leave)()
	var lines []string
	for prompt := "\n" + sc.paint(cyan, "› "); ; prompt = sc.paint(dim, "… ") {
		text, err := keys.ask(ctx, sc, wanted{prompt: prompt, past: past, leaves: true})
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

// command runs a line that begins with a slash, and reports whether to quit.
func (c *conversation) command(ctx context.Context, line string) (quit bool) {
	sc := c.render.screen
	name, arg, _ := strings.Cut(strings.TrimPrefix(line, "/"), " ")
	arg = strings.TrimSpace(arg)
	var err error
	switch name {
	case "help", "?":
		sc.line("%s", chatHelp)
	case "quit", "exit", "q":
		return true
	case "undo":
		err = c.rewind(ctx, c.engine.Undo, "undone")
	case "redo":
		err = c.rewind(ctx, c.engine.Redo, "brought back")
	case "model":
		err = c.update(ctx, arg, func(u *terret.SessionUpdated) { u.Model = &arg })
	case "title":
		err = c.update(ctx, arg, func(u *terret.SessionUpdated) { u.Title = &arg })
	case "policy":
		p := terret.PolicyNamed(arg)
		err = c.update(ctx, arg, func(u *terret.SessionUpdated) { u.Policy = &p })
	case "status":
		err = c.status(ctx)
	default:
		err = terret.Invalid("command", "there is no /%s; /help lists the commands", printable(name))
	}
	if err != nil {
		sc.line("%s %s", sc.paint(red, "✗"), oneLine(err.Error()))
	}
	return false
}

func (c *conversation) update(ctx context.Context, arg string, set func(*terret.SessionUpdated)) error {
	if arg == "" {
		return terret.Invalid("command", "say what to change it to; /help shows how")
	}
	var u terret.SessionUpdated
	set(&u)
	return c.engine.Update(ctx, c.session.ID, u, c.app.user())
}

func (c *conversation) rewind(ctx context.Context, how func(context.Context, string, string, bool) (engine.Rewound, error), what string) error {
	r, err := how(ctx, c.session.ID, c.app.user(), false)
	if err != nil {
		return err
	}
	c.render.screen.line("%s", rewoundText(r, what))
	return nil
}

func mapped(in []string, f func(string) string) []string {
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = f(s)
	}
	return out
}

func (c *conversation) status(ctx context.Context) error {
	s, err := c.app.harness.Store.Session(ctx, c.session.ID)
	if err != nil {
		return err
	}
	c.render.screen.line("session %s · %s · %s · %s · %s", s.ID, printable(s.Agent), nonEmpty(printable(s.Model), "-"), s.State, s.Policy.Title())
	c.render.screen.line("%d events · %d tokens in, %d out · cost %s", s.LastSeq, s.Usage.Input+s.Usage.CacheRead+s.Usage.CacheWrite, s.Usage.Output, dollars(s.CostUSD))
	return nil
}

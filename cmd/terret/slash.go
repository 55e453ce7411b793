package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

const chatHelp = `  /help             this
  /undo, /redo      undo or redo what the last turn changed
  /model NAME       use another model; without a name, list them
  /mode NAME        ask, auto-edit, plan or full-auto
  /rename TITLE     give the session another title
  /status           what the session is and has used
  /commands         list the agent's own, which work here, too
  /send, /drop      send on or drop what a stop has held
  /quit             leave (Ctrl-D too)
  Ctrl-C stops a turn; twice kills it, or leaves where nothing runs. The arrows up and down bring back what you said.
  Alt-Enter begins a new line, as does a \ at the end of one. Ctrl-_ undoes typing.
  While a turn runs you can type on: Enter tells the agent at once if it listens, Tab lets it
  wait for the end of the turn. Esc stops the turn. Tab completes / commands and @ files.`

// starter begins a turn.
type starter func(ctx context.Context) (terret.Turn, error)

// slash splits a command into its name and its argument. A path is none.
func slash(line string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(line, "/")
	name, arg, _ = strings.Cut(rest, " ")
	return name, strings.TrimSpace(arg), ok && !strings.ContainsAny(name, "/\n")
}

// command runs a command of ours, and reports whether to quit. For another one it returns
// what has the agent run it; when says what to do if a turn runs.
func (c *conversation) command(ctx context.Context, name, arg string, when engine.When) (start starter, quit bool) {
	sc := c.render.screen
	var err error
	switch name {
	case "help", "?":
		sc.line("%s", chatHelp)
	case "quit", "exit", "q":
		return nil, true
	case "undo":
		err = c.rewind(ctx, c.engine.Undo, "undone")
	case "redo":
		err = c.rewind(ctx, c.engine.Redo, "brought back")
	case "model":
		if arg == "" {
			err = c.listModels(ctx)
			break
		}
		err = c.update(ctx, arg, func(u *terret.SessionUpdated) { u.Model = &arg })
	case "rename", "title":
		err = c.update(ctx, arg, func(u *terret.SessionUpdated) { u.Title = &arg })
	case "mode", "policy":
		p := terret.PolicyNamed(arg)
		if arg != "" && p.Validate() != nil {
			err = terret.Invalid("mode", "there is no mode %q; use ask, auto-edit, plan or full-auto", arg)
			break
		}
		err = c.update(ctx, arg, func(u *terret.SessionUpdated) { u.Policy = &p })
	case "status":
		err = c.status(ctx)
	case "commands":
		err = c.listCommands(ctx)
	case "send":
		start, err = c.sendHeld(ctx, when)
	case "drop":
		err = c.dropHeld(ctx)
	default:
		return c.agentCommand(name, arg, when), false
	}
	if err != nil {
		sc.line("%s %s", sc.paint(red, "✗"), oneLine(err.Error()))
	}
	return start, false
}

// agentCommand has the agent run a command that it knows.
func (c *conversation) agentCommand(name, arg string, when engine.When) starter {
	return func(ctx context.Context) (terret.Turn, error) {
		c.render.screen.busy("asking the agent for its commands")
		known, err := c.engine.Commands(ctx, c.session.ID)
		if err != nil && !errors.Is(err, terret.ErrUnsupported) {
			return terret.Turn{}, err
		}
		if !slices.ContainsFunc(known, func(k terret.Command) bool { return k.Name == name }) {
			return terret.Turn{}, terret.Invalid("command", "there is no /%s; /help lists the commands, and /commands those of the agent", printable(name))
		}
		return c.engine.RunCommand(ctx, engine.CommandRequest{Session: c.session.ID, Name: name, Args: arg, By: c.app.user(), When: when})
	}
}

// ask asks the agent, which may have to be started for that. Ctrl-C ends the wait.
func (c *conversation) ask(ctx context.Context, about string, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := func() { cancel(terret.ErrInterrupted) }
	defer interrupts(stop, stop)()
	c.render.screen.busy("asking the agent for its " + about)
	defer c.render.screen.idle()
	return ask(ctx)
}

func (c *conversation) listCommands(ctx context.Context) error {
	var known []terret.Command
	err := c.ask(ctx, "commands", func(ctx context.Context) (err error) {
		known, err = c.engine.Commands(ctx, c.session.ID)
		return err
	})
	for _, k := range known {
		c.render.screen.line("  %-22s %s", oneLine(strings.TrimSpace("/"+k.Name+" "+k.Hint)), fit(oneLine(k.Description), 100))
	}
	if err == nil && len(known) == 0 {
		c.render.screen.line("the agent has no commands")
	}
	return err
}

func (c *conversation) listModels(ctx context.Context) error {
	var models []terret.Model
	err := c.ask(ctx, "models", func(ctx context.Context) (err error) {
		models, err = c.engine.Models(ctx, c.session.ID)
		return err
	})
	for _, m := range models {
		c.render.screen.line("  %-30s %s", oneLine(m.ID), oneLine(m.Name))
	}
	return err
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

func (c *conversation) status(ctx context.Context) error {
	s, err := c.app.harness.Store.Session(ctx, c.session.ID)
	if err != nil {
		return err
	}
	c.render.screen.line("session %s · %s · %s · %s · %s", s.ID, printable(s.Agent), nonEmpty(printable(s.Model), "-"), s.State, s.Policy.Title())
	c.render.screen.line("%d events · %d tokens in, %d out · cost %s", s.LastSeq, s.Usage.Input+s.Usage.CacheRead+s.Usage.CacheWrite, s.Usage.Output, dollars(s.CostUSD))
	return nil
}

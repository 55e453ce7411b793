package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/assemble"
)

// handoffOptions are the options of `terret handoff`.
type handoffOptions struct {
	assemble.HandOver
	json, unenforced bool
	node             string
	idle             bool
}

func newHandoff(a *app) *cobra.Command {
	var o handoffOptions
	cmd := &cobra.Command{
		Use: "handoff SESSION --to AGENT|--node NODE [PROMPT]", Short: "Hand a session over to another agent, or another machine",
		Long: "Hand a session over to another agent, which continues the work in the same folder.\n\n" +
			"It gets a new session under the same restrictions, and a bounded account of the old\n" +
			"one: messages, decisions, plan and changed files. The old session stays as it is;\n" +
			"what waits for a decision there can still be answered.\n\n" +
			"In a fleet, --node has the same agent, or that of --to, continue on another node. That\n" +
			"works for sessions that were begun from a git repository, while nothing happens in\n" +
			"them: what was not pushed goes along, what git ignores stays behind.",
		Args: minOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Session, o.Prompt = args[0], strings.Join(args[1:], " ")
			return runHandoff(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Agent, "to", "", "agent that takes over; 'terret agents' lists them")
	fl.StringVar(&o.Model, "model", "", "model, by the agent's name for it")
	fl.StringVar(&o.node, "node", "", "in a fleet: node that takes over, or any")
	fl.BoolVar(&o.idle, "idle", false, "with --node: begin no turn; the account comes with the next prompt")
	fl.BoolVar(&o.json, "json", false, "print events as JSON, one per line")
	fl.BoolVar(&o.unenforced, "unenforced", false, "start even if tool limits cannot be enforced")
	return cmd
}

func runHandoff(ctx context.Context, a *app, o handoffOptions) error {
	if access.Inside(a.environ) {
		return access.ErrInside("only a person can hand a session over")
	}
	switch {
	case o.node != "" && o.unenforced:
		return terret.Invalid("unenforced", "it does not go with --node: a session moves only to where its limits can be enforced")
	case o.node != "":
		return runMove(ctx, a, o)
	}
	if o.idle {
		return terret.Invalid("idle", "it goes with --node")
	}
	if o.Agent == "" {
		return terret.Invalid("to", "say which agent takes over; `terret agents` lists them")
	}
	interactive := a.interactive() && !o.json
	if err := (&sessionFlags{}).into(a, interactive); err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	old, err := a.resolve(ctx, o.Session)
	if err != nil {
		return err
	}
	o.Session, o.By = old.ID, a.user()
	e, closeEngine, err := a.start(ctx, !interactive && old.Policy != terret.PolicyAsk)
	if err != nil {
		return err
	}
	defer closeEngine()
	s, prompt, err := a.sessions(interactive).HandOver(ctx, o.HandOver, assemble.CreateOptions{
		Unenforced: o.unenforced, Tell: func(note string) { a.note("%s", oneLine(note)) },
	})
	if errors.Is(err, terret.ErrUnsupported) && terret.AsError(err).Field == assemble.UnenforcedField {
		err = terret.Errorf(terret.CodeUnsupported, "%w; --unenforced starts it anyway", err)
	}
	if err != nil {
		return err
	}
	c := &conversation{app: a, engine: e, session: s, after: s.LastSeq, json: o.json}
	c.render = newRenderer(&screen{words: a.out, talk: a.err, colour: a.colour(a.err) && !o.json})
	if interactive {
		c.asker = &asker{screen: c.render.screen, keys: a.keyboard(), by: a.user()}
	}
	done, err := c.prompt(ctx, prompt)
	c.render.screen.idle()
	if !o.json {
		a.footer(done, s, err)
	}
	return err
}

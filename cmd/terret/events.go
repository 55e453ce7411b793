package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
)

func newEvents(a *app) *cobra.Command {
	q := engine.EventQuery{}
	cmd := &cobra.Command{
		Use: "events [SESSION]", Short: "Print a session's events as JSON, one per line", Args: maxOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, first(args), func(ctx context.Context, e *engine.Engine, s terret.Session) error {
				q.Session = s.ID
				ctx, cancel := context.WithCancel(ctx)
				defer cancel()
				defer interrupts(cancel, cancel)()
				return a.printEvents(ctx, e, q)
			})(cmd.Context())
		},
	}
	cmd.Flags().BoolVarP(&q.Follow, "follow", "f", false, "keep printing new events")
	cmd.Flags().Int64Var(&q.After, "after", 0, "only events with a greater number")
	cmd.Flags().BoolVar(&q.Raw, "raw", false, "include the agent's own messages, if they were kept")
	return cmd
}

func (a *app) printEvents(ctx context.Context, e *engine.Engine, q engine.EventQuery) error {
	var buf []byte
	for entry, err := range e.Events(ctx, q) {
		if err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C is the normal way to stop following
			}
			return err
		}
		buf = append(entry.AppendJSON(buf[:0]), '\n')
		if _, err := a.out.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

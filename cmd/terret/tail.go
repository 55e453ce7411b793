package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/tui"
)

// tailQuery says what the feed shows.
type tailQuery struct {
	kinds, tools []string
	session      string
	all, json    bool
}

func newTail(a *app) *cobra.Command {
	var q tailQuery
	cmd := &cobra.Command{
		Use: "tail", Short: "Follow what happens in all sessions, one line an event", Args: exactArgs(),
		Long: "Follow what happens in all sessions, also those of other processes, one line an event.\n" +
			"Pieces of streamed text are left out: the whole message comes when it is complete.\n" +
			"--kinds takes names of kinds or their beginnings, such as tool or permission.request.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runTail(cmd.Context(), a, q) },
	}
	fl := cmd.Flags()
	fl.StringSliceVar(&q.kinds, "kinds", nil, "only these kinds of events, separated by commas")
	fl.StringSliceVar(&q.tools, "tool", nil, "only uses of these tools, separated by commas")
	fl.StringVar(&q.session, "session", "", "only this session")
	fl.BoolVar(&q.all, "all", false, "begin with the oldest event (default: with the next one)")
	fl.BoolVar(&q.json, "json", false, "print events as JSON, one per line")
	return cmd
}

func runTail(ctx context.Context, a *app, q tailQuery) error {
	for _, k := range q.kinds {
		if !slices.ContainsFunc(terret.Kinds(), func(known terret.Kind) bool { return ofKind(known, k) }) {
			return terret.Invalid("kinds", "there is no kind of events %q; `terret events SESSION` shows what kinds there are", k)
		}
	}
	e, done, err := a.start(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer interrupts(cancel, cancel)()
	all := engine.AllQuery{Follow: true}
	if q.session != "" {
		s, err := a.resolve(ctx, q.session)
		if err != nil {
			return err
		}
		all.Sessions = []string{s.ID}
	}
	if !q.all {
		if all.After, err = a.harness.Store.LastPos(ctx); err != nil {
			return err
		}
	}
	for entry, err := range e.AllEvents(ctx, all) {
		if err != nil {
			if ctx.Err() != nil {
				return nil // Ctrl-C is how one stops looking
			}
			return err
		}
		if err := a.printTail(entry, q); err != nil {
			return err
		}
	}
	return nil
}

func ofKind(k terret.Kind, name string) bool {
	return string(k) == name || strings.HasPrefix(string(k), name+".")
}

// printTail prints an event, if it was asked for.
func (a *app) printTail(entry terret.Entry, q tailQuery) error {
	if entry.Kind.Delta() || len(q.kinds) > 0 && !slices.ContainsFunc(q.kinds, func(k string) bool { return ofKind(entry.Kind, k) }) {
		return nil
	}
	ev, err := entry.Decode()
	if err != nil {
		return nil //nolint:nilerr // what nobody can read is in `terret events`
	}
	if len(q.tools) > 0 && !slices.Contains(q.tools, toolOf(ev.Data)) {
		return nil
	}
	if q.json {
		_, err := a.out.Write(append(entry.AppendJSON(nil), '\n'))
		return err
	}
	sign := " "
	switch {
	case ev.Expects != nil && !ev.Expects.Decided:
		sign = "?"
	case ev.Kind() == terret.KindTurnError || ev.Kind() == terret.KindToolFailure:
		sign = "✗"
	}
	_, err = fmt.Fprintf(a.out, "%s  %s  %s %-20s %s\n", ev.Time.Local().Format("15:04:05"), shortID(ev.Session), sign, ev.Kind(), tui.Gist(ev))
	return err
}

// toolOf is the tool that an event is about.
func toolOf(data terret.Data) string {
	switch d := data.(type) {
	case terret.ToolStart:
		return d.Name
	case terret.ToolPre:
		return d.Name
	case terret.ToolPost:
		return d.Name
	case terret.ToolFailure:
		return d.Name
	case terret.PermissionRequest:
		return d.Tool
	case terret.PermissionDenied:
		return d.Tool
	}
	return ""
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/config"
	"github.com/terret-dev/terret/internal/server/installation"
)

type pruneOptions struct {
	older             string
	node              string
	dryRun, yes, json bool
}

func newSessionsPrune(a *app) *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use: "prune", Short: "Delete sessions in which nothing has happened for a long time", Args: exactArgs(),
		Long: "Delete sessions in which nothing has happened for a long time, each as\n" +
			"`terret sessions rm` does. Sessions are kept if they are pinned, at work, waiting for a\n" +
			"decision or in use by another process, or if they have queued prompts; so are those of\n" +
			"the team, and of races, reviews and workflows that have not ended. In a fleet each node\n" +
			"deletes its own.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runPrune(cmd.Context(), a, o) },
	}
	fl := cmd.Flags()
	fl.StringVar(&o.older, "older-than", "", "how long ago something last happened, such as 90d or 2160h (default: keep_sessions in the configuration)")
	fl.BoolVar(&o.dryRun, "dry-run", false, "only list what would be deleted")
	fl.BoolVar(&o.yes, "yes", false, "delete without asking")
	fl.BoolVar(&o.json, "json", false, "print JSON")
	fl.StringVar(&o.node, "node", "", "in a fleet: delete the sessions of this node, which is gone for good")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "yes")
	return cmd
}

// age is how old a session must be to go.
func (o pruneOptions) age(a *app) (time.Duration, error) {
	keep := a.cfg.KeepSessions
	if o.older != "" {
		if err := keep.UnmarshalText([]byte(o.older)); err != nil || keep == config.Never {
			return 0, terret.Invalid("older-than", "%q is not a length of time; write it like 90d or 2160h", o.older)
		}
	}
	if keep <= 0 {
		return 0, terret.Invalid("older-than", "say how old: --older-than 90d, or set keep_sessions in the configuration")
	}
	return time.Duration(keep), nil
}

func runPrune(ctx context.Context, a *app, o pruneOptions) error {
	if err := a.prepare(); err != nil {
		return err
	}
	age, err := o.age(a)
	if err != nil {
		return err
	}
	if !o.dryRun && !o.yes && !a.interactive() {
		return terret.Invalid("yes", "nobody can be asked here; use --yes to delete, or --dry-run to see what would go")
	}
	_, done, err := a.start(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	m, which := a.sessions(false), installation.Prune{Before: time.Now().Add(-age), Node: o.node}
	stale, err := m.Stale(ctx, which)
	if err != nil {
		return err
	}
	if o.dryRun {
		return a.showStale(stale, o.json)
	}
	if !o.yes && len(stale.Sessions) > 0 {
		if yes, err := a.askPrune(ctx, stale); err != nil || !yes {
			return err
		}
	}
	gone, err := m.Prune(ctx, which, stale)
	for _, s := range gone.Sessions {
		if s.Worktree != "" {
			a.note("the worktree %s of session %s was kept: %s", printable(s.Worktree), s.ID[:13], oneLine(s.Kept))
		}
	}
	if err == nil && o.json {
		return a.printJSON(gone)
	}
	a.note("deleted %s%s", counted(gone), kept(gone))
	return err
}

// askPrune asks the person at the terminal.
func (a *app) askPrune(ctx context.Context, stale installation.Pruned) (bool, error) {
	a.note("%s would be deleted%s; --dry-run lists them", counted(stale), kept(stale))
	return a.confirm(ctx, "Delete them? [y/N] > ")
}

// showStale lists what would be deleted.
func (a *app) showStale(stale installation.Pruned, asJSON bool) error {
	if asJSON {
		return a.printJSON(stale)
	}
	if len(stale.Sessions) > 0 {
		err := listing[installation.Stale]{head: "ID\tAGENT\tUSED\tEVENTS\tTITLE", row: func(s installation.Stale) string {
			return fmt.Sprintf("%s\t%s\t%s\t%d\t%s", s.ID[:13], s.Agent, ago(s.UpdatedAt), s.Events, fit(oneLine(nonEmpty(s.Title, "(no title)")), 60))
		}}.print(a.out, stale.Sessions)
		if err != nil {
			return err
		}
	}
	a.note("%s would be deleted%s", counted(stale), kept(stale))
	return nil
}

// counted says how much it is.
func counted(p installation.Pruned) string {
	if n := len(p.Sessions); n != 1 {
		return fmt.Sprintf("%d sessions with %d events", n, p.Events)
	}
	return fmt.Sprintf("1 session with %d events", p.Events)
}

// kept says how many old sessions stay, and why.
func kept(p installation.Pruned) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(p.Kept)) {
		parts = append(parts, fmt.Sprintf("%d %s", p.Kept[why], why))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; kept: " + strings.Join(parts, ", ")
}

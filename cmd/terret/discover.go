package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
)

type discoverOptions struct {
	agent, cwd string
	json       bool
	limit      int
}

func newSessionsDiscover(a *app) *cobra.Command {
	var o discoverOptions
	cmd := &cobra.Command{
		Use: "discover", Short: "List the sessions that you had with agents without Terret", Args: exactArgs(),
		Long: "List the sessions that you had with Claude Code, OpenCode and Codex themselves, the last used first.\n" +
			"Nothing of theirs is changed. `terret sessions import --from AGENT ID` brings one here,\n" +
			"with all that was said; it continues with what the agent remembers.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runDiscover(cmd.Context(), a, o) },
	}
	cmd.Flags().StringVar(&o.agent, "agent", "", "only sessions of this agent")
	cmd.Flags().StringVar(&o.cwd, "cwd", "", "only sessions in this folder")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().IntVar(&o.limit, "limit", usualSessions, "maximum number of sessions")
	return cmd
}

func runDiscover(ctx context.Context, a *app, o discoverOptions) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	found, err := a.sessions(false).Discover(ctx, a.harness.Agents.Name(o.agent))
	if err != nil {
		if len(found) == 0 {
			return err
		}
		a.note("left out: %s", printable(err.Error()))
	}
	shown := []terret.Discovered{}
	left := 0
	for _, d := range found {
		switch {
		case o.cwd != "" && d.Cwd != o.cwd:
		case o.limit > 0 && len(shown) == o.limit:
			left++
		default:
			shown = append(shown, d)
		}
	}
	l := listing[terret.Discovered]{
		none: "no sessions of other tools were found",
		head: "AGENT\tID\tUSED\tSIZE\tFOLDER\tTITLE",
		row: func(d terret.Discovered) string {
			title := fit(oneLine(nonEmpty(d.Title, "(no title)")), 60)
			if d.Session != "" {
				title += " (here: " + shortID(d.Session) + ")"
			}
			return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", d.Agent, printable(d.NativeID), ago(d.UpdatedAt), kilobytes(d.Size), printable(d.Cwd), title)
		},
	}
	if err := l.show(a, o.json, shown); err != nil {
		return err
	}
	if left > 0 && !o.json {
		a.note("%d more; see --limit", left)
	}
	return nil
}

// kilobytes is a size as people read it.
func kilobytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KB", (n+1023)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

func runAdopt(ctx context.Context, a *app, agent, id, cwd string) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	s, err := a.sessions(false).Adopt(ctx, a.harness.Agents.Name(agent), id, cwd)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, s.ID)
	return err
}

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/internal/server/httpapi"
)

func newFleet(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "fleet", Short: "Show the nodes that share the database", Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runFleet(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// fleetStore opens the store, which must be a fleet's.
func (a *app) fleetStore(ctx context.Context) (terret.Fleet, error) {
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	fleet, ok := a.harness.Store.(terret.Fleet)
	if !ok {
		return nil, terret.Errorf(terret.CodeUnsupported, "the sessions are in a file on this machine, so there is no fleet; name its PostgreSQL database with --store, TERRET_STORE or `store` in the configuration")
	}
	return fleet, nil
}

func runFleet(ctx context.Context, a *app, asJSON bool) error {
	fleet, err := a.fleetStore(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if _, err := a.harness.Store.LastPos(ctx); err != nil {
		return err
	}
	took := time.Since(began)
	nodes, err := fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(httpapi.Fleet{Nodes: nodes, DatabaseMS: float64(took.Microseconds()) / 1000})
	}
	return listing[terret.Node]{
		none: "no node runs; start one with `terret serve` or `terret worker`",
		head: "NODE\tHOST\tVERSION\tSTATE\tWORKING\tOWNED\tSESSIONS\tMAX\tLABELS\tUP",
		row:  nodeRow,
	}.show(a, false, nodes)
}

func nodeRow(n terret.Node) string {
	state := "up"
	if n.Draining {
		state = "draining"
	}
	limit := "-"
	if n.Max > 0 {
		limit = fmt.Sprint(n.Max)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s", n.Name, n.Host, nonEmpty(n.Version, "-"), state, n.Working, n.Owned, n.Sessions, limit,
		nonEmpty(strings.Join(n.Labels, ","), "-"), n.SeenAt.Sub(n.StartedAt.Time).Round(time.Second))
}

func newWorker(a *app) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use: "worker", Short: "Run agents for a fleet", Args: exactArgs(),
		Long: "Run agents for the other nodes of a fleet.\n\n" +
			"It is `terret serve` on a free port of this machine: nobody needs to reach it, since\n" +
			"all that others want of it comes through the database.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := a.fleetStore(cmd.Context()); err != nil {
				return err
			}
			return runServe(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.addr, "addr", "127.0.0.1:0", "address to listen on, for health checks and metrics")
	fl.StringArrayVar(&o.roots, "root", nil, "folder that sessions may work in (repeatable; default: this one)")
	fl.StringSliceVar(&o.labels, "labels", nil, "what this machine is or has, such as gpu,eu")
	fl.IntVar(&o.max, "max", 0, "how many sessions it takes from others (default: any number)")
	fl.DurationVar(&o.drain, "drain", 20*time.Second, "how long to wait for running turns when it is stopped by a signal")
	cmd.AddCommand(newDrain(a))
	return cmd
}

func newDrain(a *app) *cobra.Command {
	var o drainOptions
	cmd := &cobra.Command{
		Use: "drain NODE", Short: "Let a node finish its turns and stop", Args: exactArgs("NODE"),
		Long: "Let a node finish its turns and stop. It takes nothing new.\n\n" +
			"With --move, sessions that were begun from a git repository continue on other nodes:\n" +
			"each gets a successor there, in a clone with the same commits and files, which waits\n" +
			"for its next prompt. The others stay, and can be read everywhere.",
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"to", "since"} {
				if cmd.Flags().Changed(name) && !o.move {
					return terret.Invalid(name, "it goes with --move")
				}
			}
			return runDrain(cmd.Context(), a, args[0], o)
		},
	}
	fl := cmd.Flags()
	fl.DurationVar(&o.wait, "wait", time.Hour, "how long running turns have to end")
	fl.BoolVar(&o.move, "move", false, "move sessions to other nodes first, if they were begun from a git repository")
	fl.StringVar(&o.to, "to", "any", "with --move: the node to move them to, or any: those with the fewest sessions that have this one's labels")
	fl.StringVar(&o.since, "since", "7d", "with --move: only sessions in which something happened since then, or that have queued prompts")
	return cmd
}

// askNode asks a node of the fleet as another node would. It waits that long at most.
func (a *app) askNode(ctx context.Context, node string, patience time.Duration, method, url string, in, out any) error {
	fleet, err := a.fleetStore(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		terret.Errorf(terret.CodeTimeout, "node %s has not answered within %s; it may still do what it was asked, so look before you try again", node, patience))
	defer cancel()
	err = httpapi.Ask(ctx, fleet, node, access.Identity{Name: a.user(), Scope: access.Admin}, method, url, in, out)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// answerPatience is how long a node may take for what it does at once.
const answerPatience = time.Minute

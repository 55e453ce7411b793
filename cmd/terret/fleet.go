package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
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
	nodes, err := fleet.Nodes(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(terret.Page[terret.Node]{Items: nodes})
	}
	if len(nodes) == 0 {
		a.note("no node runs; start one with `terret serve` or `terret worker`")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tHOST\tVERSION\tSTATE\tWORKING\tOWNED\tSESSIONS\tMAX\tLABELS\tUP")
	for _, n := range nodes {
		state := "up"
		if n.Draining {
			state = "draining"
		}
		limit := "-"
		if n.Max > 0 {
			limit = fmt.Sprint(n.Max)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\n", n.Name, n.Host, nonEmpty(n.Version, "-"), state, n.Working, n.Owned, n.Sessions, limit,
			nonEmpty(strings.Join(n.Labels, ","), "-"), n.SeenAt.Sub(n.StartedAt.Time).Round(time.Second))
	}
	return w.Flush()
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
	var wait time.Duration
	drain := &cobra.Command{
		Use: "drain NODE", Short: "Let a node finish its turns and stop", Args: exactArgs("NODE"),
		RunE: func(cmd *cobra.Command, args []string) error { return runDrain(cmd.Context(), a, args[0], wait) },
	}
	drain.Flags().DurationVar(&wait, "wait", time.Hour, "how long running turns have to end")
	cmd.AddCommand(drain)
	return cmd
}

// runDrain asks a node as another node would.
func runDrain(ctx context.Context, a *app, node string, wait time.Duration) error {
	fleet, err := a.fleetStore(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]int{"wait": max(1, int(wait.Seconds()))})
	if err != nil {
		return err
	}
	question, err := json.Marshal(map[string]any{
		"method": "POST", "url": "/v1/fleet/drain", "type": "application/json", "body": body,
		"by": map[string]string{"name": a.user(), "scope": "admin"},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	answer, err := fleet.Call(ctx, node, question)
	if err != nil {
		return err
	}
	var said struct {
		Status int    `json:"status"`
		Body   []byte `json:"body"`
	}
	if err := json.Unmarshal(answer, &said); err != nil || said.Status != 202 {
		return terret.Errorf(terret.CodeInternal, "node %s does not drain: %s", node, said.Body)
	}
	a.note("node %s takes nothing new, and stops when its turns have ended, at most in %s", node, wait)
	return nil
}

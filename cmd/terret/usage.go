package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
)

type usageOptions struct {
	group, since, until string
	json                bool
}

func newUsage(a *app) *cobra.Command {
	var o usageOptions
	cmd := &cobra.Command{
		Use: "usage", Short: "Show turns, tokens and cost", Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runUsage(cmd.Context(), a, o) },
	}
	cmd.Flags().StringVar(&o.group, "group", "day", "group by day, agent, model or cwd")
	cmd.Flags().StringVar(&o.since, "since", "", "first day, such as 2026-11-01 (UTC)")
	cmd.Flags().StringVar(&o.until, "until", "", "last day (UTC)")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func runUsage(ctx context.Context, a *app, o usageOptions) error {
	since, err := dayOf("since", o.since)
	if err != nil {
		return err
	}
	until, err := dayOf("until", o.until)
	if err != nil {
		return err
	}
	if !until.IsZero() {
		until = terret.TimeOf(until.AddDate(0, 0, 1))
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	rows, err := a.harness.Store.UsageBy(ctx, o.group, since, until)
	if err != nil {
		return err
	}
	if o.json {
		return a.printJSON(terret.Page[terret.UsageRow]{Items: rows})
	}
	if len(rows) == 0 {
		a.note("nothing used yet")
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "TURNS\tINPUT\tCACHED\tOUTPUT\tCOST\t  %s\n", strings.ToUpper(o.group))
	line := func(r terret.UsageRow) {
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%s\t  %s\n", r.Turns, r.Usage.Input+r.Usage.CacheWrite, r.Usage.CacheRead, r.Usage.Output, dollars(r.CostUSD), printable(nonEmpty(r.Key, "-")))
	}
	total := terret.UsageRow{Key: "total"}
	for _, r := range rows {
		line(r)
		total.Turns, total.Usage, total.CostUSD = total.Turns+r.Turns, total.Usage.Add(r.Usage), total.CostUSD+r.CostUSD
	}
	if len(rows) > 1 {
		line(total)
	}
	return w.Flush()
}

func dayOf(flag, v string) (terret.Time, error) {
	if v == "" {
		return terret.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, v)
	if err != nil {
		return terret.Time{}, terret.Invalid(flag, "%q is not a day, such as 2026-11-15", v)
	}
	return terret.TimeOf(t), nil
}

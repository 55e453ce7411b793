package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
)

type searchOptions struct {
	json    bool
	session string
	limit   int
}

func newSearch(a *app) *cobra.Command {
	var o searchOptions
	cmd := &cobra.Command{
		Use: "search WORDS...", Short: "Find messages of all sessions by their words, newest first", Args: minOneArg,
		Long: "Find what people and agents said, not what tools read or printed. All words must occur;\n" +
			"each also finds longer words that begin with it, and case does not matter.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSearch(cmd.Context(), a, strings.Join(args, " "), o)
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().StringVar(&o.session, "session", "", "only this session")
	cmd.Flags().IntVar(&o.limit, "limit", 20, "maximum number of messages")
	return cmd
}

func runSearch(ctx context.Context, a *app, words string, o searchOptions) error {
	_, done, err := a.start(ctx, true)
	if err != nil {
		return err
	}
	defer done()
	q := terret.SearchQuery{Words: words}
	if o.session != "" {
		found, err := a.resolve(ctx, o.session)
		if err != nil {
			return err
		}
		q.Session = found.ID
	}
	page, err := upTo(o.limit, func(limit int, cursor string) (terret.Page[terret.Found], error) {
		q.Limit, q.Cursor = limit, cursor
		return a.harness.Store.Search(ctx, q)
	})
	if err != nil {
		return about(err, "q", "words")
	}
	if o.json {
		return a.printJSON(page)
	}
	if len(page.Items) == 0 {
		a.note("no messages match")
		return nil
	}
	session := ""
	for _, f := range page.Items {
		if f.Session != session {
			session = f.Session
			fmt.Fprintf(a.out, "%s  %s  %s  %s\n", f.Session[:13], printable(f.Agent), ago(f.Time), fit(oneLine(nonEmpty(f.Title, "(no title)")), 60))
		}
		who := "you"
		if f.Role == terret.RoleAssistant {
			who = printable(f.Agent)
		}
		fmt.Fprintf(a.out, "  %6d  %s: %s\n", f.Seq, who, oneLine(f.Text))
	}
	return nil
}

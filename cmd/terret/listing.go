package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
)

// listing is how a list is printed for people.
type listing[T any] struct {
	none string         // what is said of an empty list; empty means a heading without rows
	head string         // the names of the columns, with tabs between them; may be empty
	row  func(T) string // the columns of an item, with tabs between them
}

// show prints a list for people or, as a page of JSON, for programs.
func (l listing[T]) show(a *app, asJSON bool, items []T) error {
	if asJSON {
		return a.printJSON(terret.Page[T]{Items: items})
	}
	if len(items) == 0 && l.none != "" {
		a.note("%s", l.none)
		return nil
	}
	return l.print(a.out, items)
}

// print prints the heading and the rows.
func (l listing[T]) print(out io.Writer, items []T) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if l.head != "" {
		fmt.Fprintln(w, l.head)
	}
	for _, item := range items {
		fmt.Fprintln(w, l.row(item))
	}
	return w.Flush()
}

// command makes the command that prints the list. Get calls show with what there is.
func (l listing[T]) command(a *app, short string, get func(ctx context.Context, show func([]T, error) error) error) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: short, Args: exactArgs()}
	asJSON := cmd.Flags().Bool("json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return get(cmd.Context(), func(items []T, err error) error {
			if err != nil {
				return err
			}
			return l.show(a, *asJSON, items)
		})
	}
	return cmd
}

// shortID is the beginning of an id, which names a session as well; "-" stands for none.
func shortID(id string) string {
	if id == "" {
		return "-"
	}
	return id[:13]
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret/work/review"
)

// withReviews runs fn with what runs reviews.
func withReviews(ctx context.Context, a *app, acts bool, fn func(ctx context.Context, r *review.Runner) error) error {
	w := work{acts: acts, alone: true, stops: acts, refused: "only a person can start a review"} // reviewers read, and ask nobody
	return a.withWork(ctx, w, func(ctx context.Context) error { return fn(ctx, a.sessions(false).Reviews()) })
}

func newReviewList(a *app) *cobra.Command {
	reviews := listing[review.Report]{head: "REVIEW\tTEMPLATE\tSTATE\tVERDICT\tFINDINGS\tFOLDER", row: func(x review.Report) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%d\t%s", x.ID[:13], oneLine(x.Template), x.State, nonEmpty(string(x.Verdict), "-"), len(x.Findings), oneLine(x.Cwd))
	}}
	return reviews.command(a, "List reviews, the newest first", func(ctx context.Context, show func([]review.Report, error) error) error {
		return withReviews(ctx, a, false, func(ctx context.Context, r *review.Runner) error { return show(r.All(ctx)) })
	})
}

// newReviewShow makes `show`, which prints a review, and `resume`, which first ends it.
func newReviewShow(a *app, use, short string, acts bool) *cobra.Command {
	var format string
	var asJSON bool
	cmd := &cobra.Command{
		Use: use + " REVIEW", Short: short, Args: exactArgs("REVIEW"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				format = "json"
			}
			if !slices.Contains(review.Formats(), format) {
				return (review.Report{}).Write(a.out, format)
			}
			return withReviews(cmd.Context(), a, acts, func(ctx context.Context, r *review.Runner) error {
				s, err := a.resolveWork(ctx, args[0], "review", "review")
				if err != nil {
					return err
				}
				report, err := r.Get(ctx, s.ID)
				if err == nil && acts {
					report, err = r.Run(ctx, a.user(), s.ID)
				}
				if err != nil {
					return err
				}
				if report.State == "running" || report.State == "interrupted" {
					a.note("the review is %s", report.State)
				}
				return a.printReview(report, format)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", strings.Join(review.Formats(), ", "))
	cmd.Flags().BoolVar(&asJSON, "json", false, "the same as --format json")
	return cmd
}

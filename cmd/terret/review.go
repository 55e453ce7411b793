package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/work/review"
)

// exitFail is the exit code of a review whose verdict is FAIL.
const exitFail = 10

// errVerdict says that a review came to FAIL, which was shown.
var errVerdict = errors.New("the verdict is FAIL")

// reviewOptions are the options of `terret review`.
type reviewOptions struct {
	review.Request
	template, format, inputFile string
}

func newReview(a *app) *cobra.Command {
	var o reviewOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use: "review [TEMPLATE|FILE] [INPUT]", Short: "Have agents review a change",
		Long: "Have agents review a change: what is not committed, or what --diff says. The verdict is\n" +
			"PASS, CONCERNS or FAIL, and the exit code 0, 0 or 10. Agents only read, unless the\n" +
			"template says otherwise. Several agents make an ensemble, whose findings are merged.\n\n" +
			"Templates: " + strings.Join(review.Names(), ", ") + ", or a YAML file.",
		Example: "  terret review\n" +
			"  terret review security --diff main --agent claude --agent codex\n" +
			"  terret review tasks --input issue.md --format sarif",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && o.template == "" {
				o.template, args = args[0], args[1:]
			}
			o.Input = strings.Join(args, " ")
			if asJSON {
				o.format = "json"
			}
			return runReview(cmd.Context(), a, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.template, "template", "", "the template, instead of the first argument (default code)")
	fl.StringVar(&o.Base, "diff", "", "commit to compare with, or a range such as main..HEAD (default: what is not committed)")
	fl.StringVar(&o.Base, "base", "", "the same as --diff")
	fl.StringArrayVar(&o.Agents, "agent", nil, "agent that reviews (repeatable)")
	fl.StringVar(&o.Model, "model", "", "model, by the agent's name for it")
	fl.StringVar(&o.inputFile, "input", "", "file with the tasks or the plan, or what else the template asks for")
	fl.StringVar(&o.Cwd, "cwd", "", "folder to review (default: this one)")
	fl.StringVar(&o.format, "format", "text", strings.Join(review.Formats(), ", "))
	fl.BoolVar(&asJSON, "json", false, "the same as --format json")
	cmd.AddCommand(newReviewList(a), newReviewShow(a, "show", "Show a review", false), newReviewShow(a, "resume", "Continue a review that was interrupted", true))
	return cmd
}

func runReview(ctx context.Context, a *app, o reviewOptions) (err error) {
	if access.Inside(a.environ) {
		return access.ErrInside("only a person can start a review")
	}
	if !slices.Contains(review.Formats(), o.format) {
		return (review.Report{}).Write(a.out, o.format)
	}
	if o.Template, err = review.Load(nonEmpty(o.template, "code")); err != nil {
		return err
	}
	if o.inputFile != "" {
		text, err := os.ReadFile(o.inputFile)
		if err != nil {
			return terret.Invalid("input", "%w", err)
		}
		o.Input = strings.TrimSpace(o.Input + "\n\n" + string(text))
	}
	flags := sessionFlags{cwd: o.Cwd}
	if err := flags.into(a, a.interactive()); err != nil {
		return err
	}
	if o.Cwd, err = flags.folder(); err != nil {
		return terret.Invalid("cwd", "%w", err)
	}
	return withReviews(ctx, a, true, func(ctx context.Context, r *review.Runner) error {
		report, err := r.Start(ctx, a.user(), o.Request)
		if err != nil {
			return err
		}
		if !report.Empty {
			for _, one := range report.Agents {
				a.note("%s reviews (%s)", one.Agent, report.Template)
			}
			if report, err = r.Run(ctx, a.user(), report.ID); err != nil {
				return err
			}
		}
		return a.printReview(report, o.format)
	})
}

// printReview prints a report. A verdict of FAIL, and a review that failed, are errors.
func (a *app) printReview(report review.Report, format string) error {
	if report.State == "failed" {
		var all []string
		for _, one := range report.Agents {
			all = append(all, one.Agent+": "+one.Error)
		}
		if a.demo.Load() {
			all = append(all, "the demo model cannot review (see `terret agents doctor`)")
		}
		return terret.Errorf(terret.CodeExecutionError, "nobody could review: %s", strings.Join(all, "; "))
	}
	if err := a.writeReview(report, format); err != nil {
		return err
	}
	if report.CostUSD > 0 {
		a.note("%s", fmt.Sprintf("$%.4f", report.CostUSD.Dollars()))
	}
	if report.Verdict == review.Fail {
		return errVerdict
	}
	return nil
}

// writeReview writes a report. Text is for people, and agents wrote it; JSON is for
// programs, which get it as it is.
func (a *app) writeReview(report review.Report, format string) error {
	if format == "json" || format == "sarif" {
		return report.Write(a.out, format)
	}
	var text strings.Builder
	if err := report.Write(&text, format); err != nil {
		return err
	}
	_, err := fmt.Fprint(a.out, printable(text.String()))
	return err
}

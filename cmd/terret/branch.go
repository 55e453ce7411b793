package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/engine"
	"github.com/terret-dev/terret/internal/forge"
	"github.com/terret-dev/terret/internal/server/assemble"
)

// newBranch is `terret sessions branch` and what is done with a session's branch.
func newBranch(a *app) []*cobra.Command {
	sub := func(use, short string, do func(ctx context.Context, s terret.Session) error) *cobra.Command {
		return &cobra.Command{Use: use + " [SESSION]", Short: short, Args: maxOneArg, RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, first(args), func(ctx context.Context, _ *engine.Engine, s terret.Session) error { return do(ctx, s) })(cmd.Context())
		}}
	}
	var asJSON, replace, draft, asPullJSON, show bool
	var title, text, base string
	branch := sub("branch", "Show where the branch of a session's folder stands", func(ctx context.Context, s terret.Session) error { return a.showBranch(ctx, s, asJSON) })
	branch.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	push := sub("push", "Push the branch of a session's folder, with your own git", func(ctx context.Context, s terret.Session) error { return a.push(ctx, s, replace) })
	push.Flags().BoolVar(&replace, "replace", false, "replace what was pushed before, as after a rebase, unless somebody else has pushed since")
	pr := sub("pr", "Push a session's branch and open a pull request, or show the one that there is", func(ctx context.Context, s terret.Session) error {
		if show {
			return a.showPull(ctx, s, asPullJSON)
		}
		return a.openPull(ctx, s, forge.Draft{Title: title, Text: text, Base: base, Draft: draft}, asPullJSON)
	})
	pr.Long = "Push a session's branch and open a pull request, through the program of the forge (gh, glab or tea) if it is installed and signed in.\nTitle and text tell what was asked and done, unless you give them."
	pr.Flags().BoolVar(&show, "show", false, "only show the pull request, with its checks and comments")
	pr.Flags().StringVar(&title, "title", "", "its title (default: that of the session)")
	pr.Flags().StringVar(&text, "text", "", "its text (default: what was asked and done)")
	pr.Flags().StringVar(&base, "base", "", "the branch to merge into (default: the one that the worktree began at)")
	pr.Flags().BoolVar(&draft, "draft", false, "it is not ready to be merged")
	pr.Flags().BoolVar(&asPullJSON, "json", false, "print JSON")
	return []*cobra.Command{
		branch, push, pr,
		sub("merge", "Merge a session's worktree into the branch that it began at", func(ctx context.Context, s terret.Session) error {
			if err := a.sessions(false).MergeBack(ctx, s); err != nil {
				return err
			}
			a.note("merged")
			return nil
		}),
		sub("rebase", "Put the commits of a session's worktree on top of the branch that it began at", func(ctx context.Context, s terret.Session) error {
			if err := a.sessions(false).Rebase(ctx, s); err != nil {
				return err
			}
			a.note("rebased")
			return nil
		}),
		newDiscard(a),
	}
}

// newDiscard is `terret sessions discard`, which must name the session.
func newDiscard(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "discard SESSION", Short: "Remove a session's worktree and its branch, with everything in them", Args: exactArgs("SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSession(a, args[0], func(ctx context.Context, _ *engine.Engine, s terret.Session) error {
				if err := a.sessions(false).Discard(ctx, s, a.user(), func() {}); err != nil {
					return err
				}
				a.note("the worktree %s and its branch are gone; the conversation stays", printable(s.Cwd))
				return nil
			})(cmd.Context())
		},
	}
}

func (a *app) showBranch(ctx context.Context, s terret.Session, asJSON bool) error {
	at, err := a.sessions(false).Folder(s).Status(ctx)
	switch {
	case err != nil:
		return err
	case asJSON:
		return a.printJSON(at)
	case at.Problem != "":
		return terret.Errorf(terret.CodeConflict, "%s", at.Problem)
	}
	name := nonEmpty(at.Branch, "(no branch)")
	if at.Head == "" {
		name += ", no commit yet"
	}
	fmt.Fprintf(a.out, "%s in %s\n", printable(name), printable(s.Cwd))
	if at.Operation != "" {
		fmt.Fprintf(a.out, "a %s is in progress\n", at.Operation)
	}
	for _, d := range []*forge.Distance{at.Upstream, at.Base} {
		if d != nil {
			fmt.Fprintf(a.out, "%d ahead, %d behind %s\n", d.Ahead, d.Behind, printable(d.Branch))
		}
	}
	return nil
}

func (a *app) push(ctx context.Context, s terret.Session, replace bool) error {
	folder, err := a.sessions(false).Own(s)
	if err != nil {
		return err
	}
	done, err := folder.Push(ctx, replace)
	if err != nil {
		return assemble.Conflict(err)
	}
	a.note("pushed %s to %s", printable(done.Branch), printable(done.Remote))
	if done.Link != "" {
		fmt.Fprintln(a.out, printable(done.Link))
	}
	return nil
}

func (a *app) showPull(ctx context.Context, s terret.Session, asJSON bool) error {
	folder, err := a.sessions(false).Own(s)
	if err != nil {
		return err
	}
	p, found, err := folder.PullRequest(ctx)
	switch {
	case err != nil:
		return assemble.Conflict(err)
	case !found:
		return terret.Errorf(terret.CodeNotFound, "there is no pull request for the branch of session %s; `terret sessions pr %s` opens one", s.ID[:13], s.ID[:13])
	case asJSON:
		return a.printJSON(p)
	}
	fmt.Fprintf(a.out, "#%d %s (%s)\n%s\n", p.Number, printable(p.Title), printable(strings.TrimSpace(p.State+" "+strings.ReplaceAll(p.Review, "_", " "))), printable(p.URL))
	for _, c := range p.Checks {
		fmt.Fprintf(a.out, "  %s %s  %s\n", c.State, printable(c.Name), printable(c.URL))
	}
	for _, c := range p.Comments {
		where := ""
		if c.Path != "" {
			where = fmt.Sprintf(" on %s:%d", c.Path, c.Line)
		}
		fmt.Fprintf(a.out, "\n%s%s:\n%s\n", printable(c.Author), printable(where), printable(c.Text))
	}
	return nil
}

func (a *app) openPull(ctx context.Context, s terret.Session, d forge.Draft, asJSON bool) error {
	m := a.sessions(false)
	folder, err := m.Own(s)
	if err != nil {
		return err
	}
	drafted, err := m.Draft(ctx, s)
	if err != nil {
		return err
	}
	d.Title, d.Text = nonEmpty(d.Title, drafted.Title), nonEmpty(d.Text, drafted.Text)
	if strings.TrimSpace(d.Title) == "" {
		return terret.Invalid("title", "the session has no title; give one with --title")
	}
	pushed, err := folder.Push(ctx, false)
	if err != nil {
		return assemble.Conflict(err)
	}
	a.note("pushed %s to %s", printable(pushed.Branch), printable(pushed.Remote))
	p, err := folder.OpenPullRequest(ctx, d)
	switch {
	case err != nil:
		return assemble.Conflict(err)
	case asJSON:
		return a.printJSON(p)
	case p.Existed:
		a.note("there was a pull request already, which has the new commits now")
	}
	fmt.Fprintln(a.out, printable(p.URL))
	return nil
}

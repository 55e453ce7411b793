package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/trust"
)

type trustOptions struct {
	yes, no, json, list, forget bool
	dir                         string
}

func newTrust(a *app) *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use: "trust [DIR]", Short: "Show what could take effect in a folder, and trust it or not", Args: maxOneArg,
		Long: "Some files in a project can run programs, start servers, allow tools or set\n" +
			"variables. None of them has any effect before you trust the folder.\n\n" +
			"This shows them and asks. Your answer holds until one of them changes.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dir = "."; len(args) > 0 {
				o.dir = args[0]
			}
			return runTrust(cmd.Context(), a, o)
		},
	}
	cmd.Flags().BoolVar(&o.yes, "yes", false, "trust the folder as it is now, without asking")
	cmd.Flags().BoolVar(&o.no, "no", false, "do not trust it, and do not ask again")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the folders that somebody has decided about")
	cmd.Flags().BoolVar(&o.forget, "forget", false, "forget what was decided about the folder, which need not exist any more")
	cmd.MarkFlagsMutuallyExclusive("list", "forget")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

// listTrust prints the latest decision about each folder.
func listTrust(a *app, asJSON bool) error {
	list, err := a.trust.List()
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	return listing[trust.Decided]{
		none: "nobody has decided about any folder yet; `terret trust DIR` asks you about one",
		head: "FOLDER\tDECISION\tBY\tDECIDED",
		row: func(d trust.Decided) string {
			return fmt.Sprintf("%s\t%s\t%s\t%s", oneLine(d.Folder), d.Decision, oneLine(d.By), ago(terret.TimeOf(d.At)))
		},
	}.show(a, asJSON, list)
}

// forgetTrust removes the decisions about a folder.
func forgetTrust(a *app, dir string) error {
	folder, err := filepath.Abs(dir)
	if err != nil {
		return terret.Invalid("dir", "%w", err)
	}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folder = real
	}
	known, err := a.trust.Forget(folder)
	if err == nil && !known {
		err = terret.Errorf(terret.CodeNotFound, "nobody has decided about %s; `terret trust --list` lists the folders", oneLine(folder))
	}
	return err
}

// trustReport is what `terret trust --json` prints.
type trustReport struct {
	trust.State
	Decision trust.Decision `json:"decision"`
}

func runTrust(ctx context.Context, a *app, o trustOptions) error {
	if o.yes && o.no {
		return terret.Invalid("yes", "use --yes or --no, not both")
	}
	if o.list || o.forget {
		a.quiet = true
		if err := a.prepare(); err != nil {
			return err
		}
		if o.list {
			return listTrust(a, o.json)
		}
		return forgetTrust(a, o.dir)
	}
	if info, err := os.Stat(o.dir); err != nil {
		return terret.Invalid("dir", "%w", err)
	} else if !info.IsDir() {
		return terret.Invalid("dir", "%s is not a folder", o.dir)
	}
	a.quiet = true
	if err := a.prepare(); err != nil {
		return err
	}
	decision, state, err := a.trust.Check(o.dir)
	if err != nil {
		return terret.Errorf(terret.CodeInvalidRequest, "%w", err)
	}
	switch {
	case decision == trust.Nothing:
	case o.yes || o.no:
		if err := a.decideTrust(o.dir, state, o.yes); err != nil {
			return err
		}
		if decision = trust.Refused; o.yes {
			decision = trust.Trusted
		}
	case a.interactive() && !o.json && state.Problem == "":
		a.showActing(state, len(state.Files))
		yes, err := a.askTrust(ctx, o.dir, state)
		if err != nil {
			return err
		}
		if decision = trust.Refused; yes {
			decision = trust.Trusted
		}
	}
	if o.json {
		return a.printJSON(trustReport{State: state, Decision: decision})
	}
	return a.printTrust(decision, state)
}

// actingFiles are files that take effect in a folder that is trusted.
var actingFiles = listing[trust.File]{row: func(f trust.File) string { return fmt.Sprintf("  %s\t%s", oneLine(f.Path), oneLine(f.Why)) }}

// printTrust prints the decision and the files it is about.
func (a *app) printTrust(decision trust.Decision, state trust.State) error {
	if decision == trust.Nothing && state.Problem == "" {
		fmt.Fprintln(a.out, "nothing here needs trust")
		return nil
	}
	fmt.Fprintf(a.out, "%s: %s\n", decision, oneLine(state.Folder))
	if err := actingFiles.print(a.out, state.Files); err != nil {
		return err
	}
	switch {
	case state.Problem != "":
		a.note("it cannot be trusted: %s", oneLine(state.Problem))
	case decision == trust.Unknown:
		a.note("none of this takes effect; `terret trust --yes` allows it, `terret trust --no` rules it out")
	}
	return nil
}

// decideTrust records the person's decision. Agents cannot decide.
func (a *app) decideTrust(dir string, state trust.State, trusted bool) error {
	if a.getenv("TERRET_OWNER") != "" && trusted {
		return terret.Errorf(terret.CodeForbidden, "an agent cannot trust a folder; do it in your own terminal")
	}
	if err := a.trust.Decide(dir, state.Hash, trusted, a.user()); err != nil {
		return terret.Errorf(terret.CodeForbidden, "%w", err)
	}
	return nil
}

// showActing lists at most so many of the files that would take effect.
func (a *app) showActing(state trust.State, most int) {
	fmt.Fprintf(a.err, "In %s, these would take effect if you trust them:\n", oneLine(state.Folder))
	_ = actingFiles.print(a.err, state.Files[:min(most, len(state.Files))]) // what cannot be shown cannot be answered either
	if n := len(state.Files) - most; n > 0 {
		fmt.Fprintf(a.err, "  and %d more; see `terret trust`\n", n)
	}
}

// askTrust asks the person at the terminal and records the answer. No answer records
// nothing.
func (a *app) askTrust(ctx context.Context, dir string, state trust.State) (bool, error) {
	yes, err := a.confirm(ctx, "Trust them until one changes? [y/N] > ")
	if err != nil {
		return false, err
	}
	return yes, a.decideTrust(dir, state, yes)
}

// maxShown is how many files are shown before a command runs.
const maxShown = 10

// consider finds out whether the folder is trusted. If the command works in it and
// nobody has decided yet, it asks the person, or says what is ignored; ignored lists
// settings already known to be ignored. It fails if the person leaves instead.
func (a *app) consider(dir string, ignored []string) (bool, error) {
	if len(ignored) == 0 && !a.works {
		return false, nil // it makes no difference
	}
	decision, state, err := a.trust.Check(dir)
	switch {
	case a.quiet:
	case err != nil:
		if _, gone := os.Stat(dir); gone == nil {
			a.note("warning: this folder is not trusted: %s", oneLine(err.Error()))
		}
		return false, nil
	case decision != trust.Unknown:
	case a.asks && state.Problem == "":
		a.showActing(state, maxShown)
		yes, err := a.askTrust(context.Background(), dir, state)
		switch {
		case errors.Is(err, errLeft):
			return false, err
		case err != nil:
			a.note("they are ignored: %s", oneLine(err.Error()))
		case !yes:
			a.note("they are ignored; `terret trust` changes that")
		}
		return yes && err == nil, nil
	case len(ignored) > 0:
		a.note("ignored settings of this untrusted project: %v; %s", ignored, howToTrust(state))
	case a.works:
		a.note("%s in this folder %s ignored; %s", fileCount(state), map[bool]string{true: "is", false: "are"}[len(state.Files) == 1], howToTrust(state))
	}
	return err == nil && decision == trust.Trusted, nil
}

func howToTrust(state trust.State) string {
	if state.Problem != "" {
		return "it cannot be trusted: " + oneLine(state.Problem)
	}
	return "`terret trust` shows what is not trusted and lets you trust it"
}

// fileCount names the files, if they are few.
func fileCount(state trust.State) string {
	switch n := len(state.Files); {
	case n == 0:
		return "everything untrusted"
	case n <= 3:
		var names []string
		for _, f := range state.Files {
			names = append(names, oneLine(f.Path))
		}
		return strings.Join(names, ", ")
	default:
		return fmt.Sprintf("%s and %d more files", oneLine(state.Files[0].Path), n-1)
	}
}

// trusts reports whether the person trusts the folder as it is now.
func (a *app) trusts(dir string) bool {
	decision, _, err := a.trust.Check(dir)
	return err == nil && decision == trust.Trusted
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
	"github.com/terret-dev/terret/policy"
)

func newRules(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "List, add, remove and test rules", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		return runRulesLs(cmd.Context(), a, false)
	}}
	var asJSON bool
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List rules", Args: exactArgs(), RunE: func(cmd *cobra.Command, _ []string) error {
		return runRulesLs(cmd.Context(), a, asJSON)
	}}
	ls.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	rm := &cobra.Command{Use: "rm RULE", Short: "Remove a rule by its id or pattern", Args: exactArgs("RULE"), RunE: func(cmd *cobra.Command, args []string) error {
		return runRulesRm(cmd.Context(), a, args[0])
	}}
	cmd.AddCommand(ls, newRulesAdd(a), rm, newRulesTest(a), newRulesExplain(a))
	return cmd
}

func runRulesLs(ctx context.Context, a *app, asJSON bool) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	rules, err := a.harness.Store.ListRules(ctx, "")
	if err != nil {
		return err
	}
	return listing[terret.Rule]{
		none: "no rules yet; `terret rules add allow 'Bash(git status *)'` adds one",
		head: "ID\tEFFECT\tRULE\tHITS\tMADE BY\tMADE",
		row: func(r terret.Rule) string {
			return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%s", r.ID, r.Effect, printable(r.Pattern), r.Hits, printable(r.MadeBy), ago(r.MadeAt))
		},
	}.show(a, asJSON, rules)
}

func newRulesAdd(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "add allow|deny|ask PATTERN", Short: "Add a permanent rule", Args: exactArgs("EFFECT", "PATTERN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if access.Inside(a.environ) {
				return access.ErrInside("only a person can add rules")
			}
			if _, err := policy.Parse(args[1]); err != nil {
				return err
			}
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			rules, err := a.harness.Store.ListRules(ctx, "")
			if err != nil {
				return err
			}
			r := terret.Rule{ID: terret.NewID(terret.PrefixRule), Effect: terret.Effect(args[0]), Pattern: args[1], Scope: terret.ScopeAlways, MadeBy: a.user()}
			if i := slices.IndexFunc(rules, func(old terret.Rule) bool { return old.Effect == r.Effect && old.Pattern == r.Pattern }); i >= 0 {
				a.note("there already is such a rule")
				r = rules[i]
			} else if err := a.harness.Store.PutRule(ctx, r); err != nil {
				return err
			}
			a.noteBroad(r)
			_, err = fmt.Fprintln(a.out, r.ID)
			return err
		},
	}
}

// noteBroad says if an allow rule allows more than it seems to.
func (a *app) noteBroad(r terret.Rule) {
	if why := policy.Broad(r.Pattern); why != "" && r.Effect == terret.EffectAllow {
		a.note("%s is a broad rule: %s", printable(r.Pattern), why)
	}
}

func runRulesRm(ctx context.Context, a *app, which string) error {
	if access.Inside(a.environ) {
		return access.ErrInside("only a person can remove rules")
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	rules, err := a.harness.Store.ListRules(ctx, "")
	if err != nil {
		return err
	}
	var found []terret.Rule
	var names []string
	for _, r := range rules {
		if r.ID == which || r.Pattern == which {
			found, names = append(found, r), append(names, fmt.Sprintf("%s (%s)", r.ID, r.Effect))
		}
	}
	switch len(found) {
	case 0:
		return terret.Errorf(terret.CodeNotFound, "there is no rule %q; `terret rules ls` lists them", which)
	case 1:
		if err := a.harness.Store.DeleteRule(ctx, found[0].ID); err != nil {
			return err
		}
		a.note("removed the rule %s %s", found[0].Effect, printable(found[0].Pattern))
		return nil
	}
	return terret.Invalid("rule", "several rules have the pattern %s: %s; name one by its id", which, strings.Join(names, ", "))
}

func newRulesTest(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "test allow|deny|ask PATTERN", Short: "Show which past requests a rule would have decided", Args: exactArgs("EFFECT", "PATTERN"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRulesTest(cmd.Context(), a, args[0], args[1]) },
	}
}

func runRulesTest(ctx context.Context, a *app, effect, pattern string) error {
	if _, err := policy.Parse(pattern); err != nil {
		return err
	}
	if err := terret.Effect(effect).Validate(); err != nil {
		return err
	}
	e, stop, err := a.start(ctx, false)
	if err != nil {
		return err
	}
	defer stop()
	matched, total := 0, 0
	for past, err := range e.DryRun(ctx, a.harness.Store, terret.Rule{Effect: terret.Effect(effect), Pattern: pattern}) {
		if err != nil {
			return err
		}
		total++
		if past.Rule == "" || past.Behavior == terret.BehaviorAsk {
			continue
		}
		matched++
		was := "open"
		if past.Request.Decision != nil {
			was = string(past.Request.Decision.Behavior)
		}
		fmt.Fprintf(a.out, "%s  was %s  %s\n", past.Behavior, was, fit(oneLine(past.Use.Tool+" "+inputSummary(past.Use.Input)), 120))
	}
	a.noteBroad(terret.Rule{Effect: terret.Effect(effect), Pattern: pattern})
	a.note("%d of %d past requests", matched, total)
	return nil
}

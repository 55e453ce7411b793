package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
)

// completer says how the shell may complete what is typed so far.
type completer func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// complete teaches a command and those below it to complete ids, agents and policies: by
// the name of the flag, and by what the usage calls the first argument.
func (a *app) complete(cmd *cobra.Command) {
	words := strings.Fields(strings.ReplaceAll(cmd.Use, "[flags] ", ""))
	if len(words) > 1 && strings.Trim(words[1], "[]") == "SESSION" {
		cmd.ValidArgsFunction = firstOnly(a.listed(a.sessionIDs))
	}
	if words[0] == "decide" {
		cmd.ValidArgsFunction = firstOnly(a.listed(a.requestIDs))
	}
	for name, f := range map[string]completer{
		"resume": a.listed(a.sessionIDs), "session": a.listed(a.sessionIDs), "agent": a.agentNames, "policy": policyNames,
	} {
		if cmd.Flags().Lookup(name) != nil {
			_ = cmd.RegisterFlagCompletionFunc(name, f) // it fails only for a flag that there is not
		}
	}
	for _, sub := range cmd.Commands() {
		a.complete(sub)
	}
}

// firstOnly completes the first argument only.
func firstOnly(f completer) completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f(cmd, args, typed)
	}
}

// listed completes what the store lists. It makes no store where there is none.
func (a *app) listed(list func(context.Context) ([]string, error)) completer {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		if err := a.prepare(); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		if _, err := os.Stat(a.data); err != nil && a.cfg.Store == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if err := a.open(cmd.Context()); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		all, err := list(cmd.Context())
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return begin(all, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// begin are those that begin with what is typed.
func begin(all []string, typed string) []string {
	var out []string
	for _, one := range all {
		if strings.HasPrefix(one, typed) {
			out = append(out, one)
		}
	}
	return out
}

func (a *app) sessionIDs(ctx context.Context) ([]string, error) {
	page, err := a.harness.Store.ListSessions(ctx, terret.SessionFilter{Limit: usualSessions})
	var out []string
	for _, s := range page.Items {
		out = append(out, s.ID[:13]+"\t"+fit(oneLine(nonEmpty(s.Title, "(no title)")), 60))
	}
	return out, err
}

func (a *app) requestIDs(ctx context.Context) ([]string, error) {
	page, err := a.harness.Store.ListRequests(ctx, terret.RequestFilter{State: terret.RequestOpen, Limit: usualSessions})
	var out []string
	for _, r := range page.Items {
		what, _ := a.describeRequest(r)
		out = append(out, r.RequestID+"\t"+fit(oneLine(what), 60))
	}
	return out, err
}

func (a *app) agentNames(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	if err := a.prepare(); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var all []string
	for _, d := range a.harness.Agents.Drivers() {
		all = append(all, d.Name())
	}
	return begin(all, typed), cobra.ShellCompDirectiveNoFileComp
}

func policyNames(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var all []string
	for _, p := range terret.Policies() {
		all = append(all, string(p)+"\t"+p.Title())
	}
	return begin(all, typed), cobra.ShellCompDirectiveNoFileComp
}

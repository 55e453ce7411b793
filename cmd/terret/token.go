package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/access"
)

func newToken(a *app) *cobra.Command {
	var asJSON bool
	list := func(*cobra.Command, []string) error { return runTokenLs(a, asJSON) }
	cmd := &cobra.Command{
		Use: "token", Aliases: []string{"tokens"}, Short: "List, create and revoke API tokens", Args: exactArgs(),
		Long: "List, create and revoke the tokens that programs and devices use for the server.\n\n" +
			"A token has a scope: view (see everything), prompt (also send prompts), decide (also\n" +
			"answer requests) or admin (also manage rules, trust and tokens). Each includes the\nones before it.",
		RunE: list,
	}
	ls := &cobra.Command{Use: "ls", Aliases: []string{"list"}, Short: "List tokens", Args: exactArgs(), RunE: list}
	for _, c := range []*cobra.Command{cmd, ls} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}
	rm := &cobra.Command{
		Use: "rm NAME", Aliases: []string{"revoke"}, Short: "Revoke a token at once", Args: exactArgs("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return runTokenRm(cmd.Context(), a, args[0]) },
	}
	cmd.AddCommand(ls, newTokenNew(a), rm, newTokenShow(a))
	return cmd
}

// tokens opens the tokens. Agents may not use them: they could answer their own
// requests.
func (a *app) tokens(sensitive bool) (*access.Tokens, error) {
	if sensitive && access.Inside(a.environ) {
		return nil, access.ErrInside("tokens are for people")
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	if a.cfg.Store == "" {
		return access.Open(a.data)
	}
	if err := a.open(context.Background()); err != nil {
		return nil, err
	}
	return a.openTokens()
}

func runTokenLs(a *app, asJSON bool) error {
	tokens, err := a.tokens(false)
	if err != nil {
		return err
	}
	list, err := tokens.List()
	if err != nil {
		return err
	}
	return listing[access.Token]{
		none: fmt.Sprintf("no tokens except the one in %s; `terret token new NAME --scope view` creates one", tokens.AdminPath()),
		head: "NAME\tSCOPE\tSESSION\tKIND\tMADE\tLAST USED\tEXPIRES",
		row:  tokenRow,
	}.show(a, asJSON, list)
}

func tokenRow(t access.Token) string {
	session, kind, used, expires := "all", "token", "never", "never"
	if t.Session != "" {
		session = t.Session
	}
	if t.Device {
		kind = "device"
	}
	if !t.LastUsedAt.IsZero() {
		used = ago(t.LastUsedAt)
	}
	if !t.ExpiresAt.IsZero() {
		expires = t.ExpiresAt.Local().Format(time.DateTime)
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s\t%s", printable(t.Name), t.Scope, session, kind, ago(t.CreatedAt), used, expires)
}

type tokenOptions struct {
	name, scope, session string
	life                 time.Duration
}

func newTokenNew(a *app) *cobra.Command {
	var o tokenOptions
	cmd := &cobra.Command{
		Use: "new NAME --scope SCOPE", Aliases: []string{"add"}, Short: "Create a token and print it once", Args: exactArgs("NAME"),
		Example: "  terret token new ci --scope prompt\n  terret token new for-ann --scope view --session 0190… --for 24h",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if cmd.Flags().Changed("for") && o.life <= 0 {
				return terret.Invalid("for", "%s must be positive; leave it out for a token that does not expire", o.life)
			}
			return runTokenNew(cmd.Context(), a, o)
		},
	}
	cmd.Flags().StringVar(&o.scope, "scope", "", "view, prompt, decide or admin")
	cmd.Flags().StringVar(&o.session, "session", "", "the only session it is valid for (default: all)")
	cmd.Flags().DurationVar(&o.life, "for", 0, "how long it is valid, such as 24h (default: until revoked)")
	return cmd
}

func runTokenNew(ctx context.Context, a *app, o tokenOptions) error {
	scope, err := access.ParseScope(o.scope)
	if err != nil {
		return err
	}
	tokens, err := a.tokens(true)
	if err != nil {
		return err
	}
	if o.session != "" {
		if err := a.open(ctx); err != nil {
			return err
		}
		s, err := a.resolve(ctx, o.session)
		if err != nil {
			return err
		}
		o.session = s.ID
	}
	secret, _, err := tokens.Create(ctx, access.Spec{Name: o.name, Scope: scope, Session: o.session, Life: o.life})
	if err != nil {
		return err
	}
	a.note("this token is shown only once; `terret token rm` revokes it")
	_, err = fmt.Fprintln(a.out, secret)
	return err
}

func runTokenRm(ctx context.Context, a *app, name string) error {
	tokens, err := a.tokens(true)
	if err != nil {
		return err
	}
	return tokens.Revoke(ctx, name)
}

func newTokenShow(a *app) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show where the admin token is", Args: exactArgs(),
		RunE: func(*cobra.Command, []string) error { return runTokenShow(a, show) },
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the token itself")
	return cmd
}

func runTokenShow(a *app, show bool) error {
	tokens, err := a.tokens(show)
	if err != nil {
		return err
	}
	text := tokens.AdminPath()
	if show {
		if text, err = tokens.AdminToken(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(a.out, text)
	return err
}

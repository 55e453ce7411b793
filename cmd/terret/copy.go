package main

import (
	"context"
	"errors"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/terret-dev/terret"
	"github.com/terret-dev/terret/internal/server/assemble"
	"github.com/terret-dev/terret/internal/server/installation"
	"github.com/terret-dev/terret/store"
	"github.com/terret-dev/terret/store/postgres"
)

func newDBCopy(a *app) *cobra.Command {
	var restart bool
	var node string
	cmd := &cobra.Command{
		Use: "copy FROM TO", Short: "Copy everything between a file and PostgreSQL", Args: exactArgs("FROM", "TO"),
		Long: "Copy everything between a database file and PostgreSQL, either way, with the same\n" +
			"ids and numbers, and compare the copy with the original.\n\n" +
			"FROM and TO are a path and an address such as postgres://user@host/database.\n" +
			"Stop terret everywhere first. TO must be empty.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDBCopy(cmd.Context(), a, args[0], args[1], node, restart)
		},
	}
	cmd.Flags().BoolVar(&restart, "restart", false, "empty what an interrupted copy left, and begin again")
	cmd.Flags().StringVar(&node, "node", "", "node that has the folders of the sessions (default: this machine)")
	return cmd
}

func runDBCopy(ctx context.Context, a *app, from, to, node string, restart bool) (err error) {
	if err := a.prepare(); err != nil {
		return err
	}
	if postgres.IsURL(from) == postgres.IsURL(to) {
		return terret.Invalid("to", "one of FROM and TO must be a file and the other a PostgreSQL address; copy a file with `terret db backup`, and PostgreSQL with pg_dump")
	}
	for _, address := range []string{from, to} {
		if !postgres.IsURL(address) {
			continue
		}
		if u, err := url.Parse(address); err == nil {
			if _, has := u.User.Password(); has || u.Query().Has("password") {
				return terret.Invalid("address", "an address in a command must not hold a password, since others on this machine can see it; put it into PGPASSWORD or ~/.pgpass")
			}
		}
	}
	if _, err := os.Stat(from); !postgres.IsURL(from) && err != nil {
		return terret.Invalid("from", "there is no database to copy: %w", err)
	}
	source, err := installation.OpenStore(ctx, from, a.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := installation.OpenStore(ctx, to, a.logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	return copyStore(ctx, a, source, target, nonEmpty(node, assemble.NodeName(a.cfg)), restart)
}

func copyStore(ctx context.Context, a *app, source, target assemble.Store, node string, restart bool) error {
	from, ok := source.(store.Copyable)
	to, can := target.(store.Copyable)
	if !ok || !can {
		return terret.Errorf(terret.CodeUnsupported, "these stores cannot be copied")
	}
	busy, err := source.CountSessions(ctx, terret.SessionStarting, terret.SessionBusy, terret.SessionWaiting, terret.SessionCompacting, terret.SessionRetrying, terret.SessionInterrupting)
	if err != nil {
		return err
	}
	if busy > 0 {
		return terret.Errorf(terret.CodeConflict, "%d sessions are working; stop terret everywhere first (if it was killed, `terret sessions ls` cleans up)", busy)
	}
	last, err := source.LastPos(ctx)
	if err != nil {
		return err
	}
	began, said := time.Now(), time.Now()
	err = store.Copy(ctx, from, to, last, node, restart, func(table string, rows int64) {
		if time.Since(said) > time.Second {
			a.note("%s: %d rows", table, rows)
			said = time.Now()
		}
	})
	if err != nil {
		if ctx.Err() != nil {
			return terret.Errorf(terret.CodeInterrupted, "the copy was interrupted; run the command again with --restart, which empties the copy and begins again")
		}
		return err
	}
	n, err := target.CountSessions(ctx)
	if err == nil {
		a.note("copied %d sessions in %s; the copy is the same", n, time.Since(began).Round(time.Millisecond))
	}
	return err
}
